import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isOrderly, kilnErrorOf, thrownBy } from '../testing/kiln-error.ts';
import { byteLength, canonicalJson, digest, JSON_MAX_DEPTH, parseJson, PAYLOAD_MAX_BYTES, pointer, setOwn } from './json.ts';

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) {
    value = level % 2 === 0 ? [value] : { a: value };
  }
  return value;
}

test('keys are sorted by UTF-16 code unit, as in the example of RFC 8785', () => {
  const value = {
    '\u20ac': 'Euro',
    '\r': 'CR',
    '\ufb33': 'Dalet',
    '1': 'One',
    '\ud83d\ude00': 'Emoji',
    '\u0080': 'Control',
    '\u00f6': 'o',
  };
  expect(canonicalJson(value)).toBe(
    '{"\\r":"CR","1":"One","\u0080":"Control","\u00f6":"o","\u20ac":"Euro","\ud83d\ude00":"Emoji","\ufb33":"Dalet"}',
  );
});

test.each([
  [1 / 3, '0.3333333333333333'],
  [1e30, '1e+30'],
  [4.5, '4.5'],
  [2e-3, '0.002'],
  [1e-27, '1e-27'],
  [-0, '0'],
  [2 ** 53, '9007199254740992'],
])('the number %s is written as RFC 8785 says', (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

test('V2 lists in lists and empty keys round-trip exactly', () => {
  const value = { '': [[1, 2], [3], []], a: { '': { '': null } } };
  expect(parseJson(canonicalJson(value))).toEqual(value);
});

test('V2 an undefined property is left out, undefined at the top is null', () => {
  expect(canonicalJson({ a: undefined, b: 1, c: { d: undefined } })).toBe('{"b":1,"c":{}}');
  expect(canonicalJson(undefined)).toBe('null');
});

test.each([
  ['undefined', [undefined], '/0'],
  // eslint-disable-next-line no-sparse-arrays
  ['a hole', { list: [1, , 3] }, '/list/1'],
  ['a huge hole', Object.assign([], { length: 4_000_000_000 }), '/0'],
])('V2 %s in a list fails with its place', (_name, value, path) => {
  const error = kilnErrorOf(() => canonicalJson(value));
  expect(error.code).toBe('payload.unsupported');
  expect(error.data).toEqual({ path });
  expect(error.message).toContain('undefined in a list');
});

class Money {
  amount = 1;
}
class Rows extends Array<unknown> {}
const cycle: Record<string, unknown> = { name: 'x' };
cycle['self'] = { back: [cycle] };

test.each<[string, unknown, string]>([
  ['BigInt', { a: [1n] }, '/a/0'],
  ['NaN', { a: Number.NaN }, '/a'],
  ['Infinity', [[Number.NEGATIVE_INFINITY]], '/0/0'],
  ['Date', { when: new Date(0) }, '/when'],
  ['Map', { 'a/b': { '~': new Map() } }, '/a~1b/~0'],
  ['Set', new Set([1]), ''],
  ['Buffer', { body: Buffer.from('x') }, '/body'],
  ['typed array', [new Float32Array(2)], '/0'],
  ['ArrayBuffer', [new ArrayBuffer(2)], '/0'],
  ['class instance', { price: new Money() }, '/price'],
  ['list subclass', { rows: Rows.from([1]) }, '/rows'],
  ['boxed number', [Object(1)], '/0'],
  ['error', { e: new Error('x') }, '/e'],
  ['regular expression', [/x/], '/0'],
  ['promise', { later: Promise.resolve(1) }, '/later'],
  ['function', { run: () => 1 }, '/run'],
  ['toJSON method', { toJSON: () => 1 }, '/toJSON'],
  ['symbol', [Symbol('x')], '/0'],
  ['symbol key', { a: { [Symbol('x')]: 1 } }, '/a'],
  ['match result', ['x'.match(/x/)], '/0'],
  ['cycle', cycle, '/self/back/0'],
  ['lone surrogate', { text: 'a\ud800' }, '/text'],
  ['lone surrogate in a key', { 'k\udc00': 1 }, '/k\ufffd'],
])('V3 %s fails at once with the path', (_name, value, path) => {
  const error = kilnErrorOf(() => canonicalJson(value));
  expect(error.code).toBe('payload.unsupported');
  expect(error.class).toBe('not_retryable');
  expect(error.data).toEqual({ path });
});

test('V3 a value that is shared, not cyclic, is written twice', () => {
  const shared = { a: 1 };
  expect(canonicalJson([shared, { shared }])).toBe('[{"a":1},{"shared":{"a":1}}]');
});

test.each<[string, unknown, string]>([
  ['a class that has a name', { price: new Money() }, 'a Money, found at /price.'],
  ['a class that has none', [new (class extends Object {})()], 'a class instance, found at /0.'],
  ['the top', new Money(), 'a Money, found at the top.'],
  ['a long path', { ['k'.repeat(600)]: 1n }, `a BigInt, found at /${'k'.repeat(499)}….`],
])('of %s the message says what and where', (_name, value, message) => {
  expect(kilnErrorOf(() => canonicalJson(value)).message).toBe(`JSON cannot carry ${message}`);
});

test('plain lists and objects of another realm are plain, its classes are not', () => {
  const there = (source: string): unknown => runInNewContext(source);
  expect(canonicalJson(there('({ b: [1, { a: null }], a: Object.create(null) })'))).toBe('{"a":{},"b":[1,{"a":null}]}');
  for (const source of ['[new (class A {})]', '[new (class Rows extends Array {})]', '[new Date(0)]'])
    expect(kilnErrorOf(() => canonicalJson(there(source))).data).toEqual({ path: '/0' });
});

test('a property is set as the value’s own, whatever it is called', () => {
  const target: Record<string, unknown> = {};
  for (const key of ['a', '__proto__', 'constructor']) setOwn(target, key, { of: key });
  expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
  expect(canonicalJson(target)).toBe('{"__proto__":{"of":"__proto__"},"a":{"of":"a"},"constructor":{"of":"constructor"}}');
  setOwn(target, '__proto__', 2);
  expect(Object.getOwnPropertyDescriptor(target, '__proto__')).toEqual({ value: 2, enumerable: true, configurable: true, writable: true });
});

test('a value without a prototype is a plain object', () => {
  const value = Object.assign(Object.create(null) as Record<string, unknown>, { b: 1, a: 2 });
  expect(canonicalJson(value)).toBe('{"a":2,"b":1}');
});

const oddKeys = [
  'a.b',
  'a/b',
  'a[0]',
  '0',
  '1a',
  '__x__',
  '',
  '🙂',
  '__proto__',
  'constructor',
  'toString',
  'e\u0301',
  '\u00e9',
  'k'.repeat(1_500),
];

test.each(oddKeys)('V5 the key %j round-trips', (key) => {
  const value = parseJson(`{${JSON.stringify(key)}:{"inner":[1]}}`) as Record<string, unknown>;
  const again = parseJson(canonicalJson(value)) as Record<string, unknown>;
  expect(Object.keys(again)).toEqual([key]);
  expect(Object.getOwnPropertyDescriptor(again, key)?.value).toEqual({ inner: [1] });
  expect(Object.getPrototypeOf(again)).toBe(Object.prototype);
});

test('depth: 100 levels are written and read, 101 are not', () => {
  const text = canonicalJson(nested(JSON_MAX_DEPTH));
  expect(canonicalJson(parseJson(text))).toBe(text);
  const error = kilnErrorOf(() => canonicalJson(nested(JSON_MAX_DEPTH + 1)));
  expect(error.code).toBe('payload.too_deep');
});

test('F6 a body nested 1,000,000 deep is refused, without a stack overflow', () => {
  expect(kilnErrorOf(() => parseJson('['.repeat(1_000_000))).code).toBe('payload.too_deep');
  expect(kilnErrorOf(() => canonicalJson(nested(100_000))).code).toBe('payload.too_deep');
});

test('brackets inside strings do not count as depth', () => {
  const value = { text: `${'['.repeat(500)}\\"{{` };
  expect(parseJson(JSON.stringify(value))).toEqual(value);
});

test('V1 a value over 8 MiB fails, naming size, limit and how it begins', () => {
  const fits = 'x'.repeat(PAYLOAD_MAX_BYTES - 2);
  expect(byteLength(canonicalJson(fits))).toBe(PAYLOAD_MAX_BYTES);
  const error = kilnErrorOf(() => canonicalJson(`${fits}y`));
  expect(error.code).toBe('payload.too_large');
  expect(error.message).toContain(String(PAYLOAD_MAX_BYTES + 1));
  expect(error.message).toContain(String(PAYLOAD_MAX_BYTES));
  expect(error.data).toEqual({ size: PAYLOAD_MAX_BYTES + 1, limit: PAYLOAD_MAX_BYTES, preview: `"${'x'.repeat(199)}` });
});

test('V1 the size is exact also far above the limit', () => {
  const error = kilnErrorOf(() => canonicalJson({ body: 'x'.repeat(50_000_000), rest: [1, 2] }));
  expect(error.data).toMatchObject({ size: 50_000_024 });
});

test('V1 the limit counts bytes, not characters', () => {
  const text = '€'.repeat(Math.ceil(PAYLOAD_MAX_BYTES / 3));
  expect(kilnErrorOf(() => canonicalJson(text)).code).toBe('payload.too_large');
  expect(kilnErrorOf(() => parseJson(JSON.stringify(text))).code).toBe('payload.too_large');
});

test('text that is not JSON is refused, a byte order mark is ignored', () => {
  for (const text of ['', '{', '{a:1}', "{'a':1}", 'undefined', '[1,]', '1 2', 'NaN']) {
    expect(kilnErrorOf(() => parseJson(text)).code).toBe('payload.invalid_json');
  }
  expect(parseJson('\ufeff{"a":1}')).toEqual({ a: 1 });
});

test('a number too large for JSON’s readers is found when the value is written', () => {
  expect(kilnErrorOf(() => canonicalJson(parseJson('{"n":1e999}'))).data).toEqual({ path: '/n' });
});

test('digest and size are those of the UTF-8 text', () => {
  expect(digest('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(digest('é')).toBe('4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
  expect(byteLength('é🙂')).toBe(6);
  expect(pointer(['a/b', 0, '~'])).toBe('/a~1b/0/~0');
});

const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' });

test('property: canonical text parses back to the same value, and is the same however the keys were ordered', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value);
      expect(canonicalJson(parseJson(text))).toBe(text);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(reversed(value))).toBe(text);
    }),
    { numRuns: 300 },
  );
});

test('property: anything at all is either written or refused with a code; Object.prototype stays as it is', () => {
  const before = Object.getOwnPropertyNames(Object.prototype);
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withObjectString: true,
    withNullPrototype: true,
    withBoxedValues: true,
  });
  fc.assert(
    fc.property(anything, (value) => {
      let text = 'null';
      const orderly = isOrderly(() => {
        text = canonicalJson(value);
      });
      expect(orderly).toBe(true);
      expect(canonicalJson(parseJson(text))).toBe(text);
    }),
    { numRuns: 500 },
  );
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
});

test('property: any text is parsed as JSON.parse does, or refused with a code', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.json(), fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', ':', '1', '\ufeff') })),
      (text) => {
        const plain = text.startsWith('\ufeff') ? text.slice(1) : text;
        const valid = thrownBy(() => JSON.parse(plain)) === undefined;
        const result = valid ? parseJson(text) : kilnErrorOf(() => parseJson(text)).code;
        expect(result).toEqual(valid ? JSON.parse(plain) : 'payload.invalid_json');
      },
    ),
    { numRuns: 500 },
  );
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(reversed);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

// The slowest one.
test('V1 lists that share parts cannot be expanded without end', () => {
  let value: unknown = [1];
  for (let level = 0; level < 90; level += 1) {
    value = [value, value];
  }
  const error = kilnErrorOf(() => canonicalJson(value));
  expect(error.code).toBe('payload.too_large');
  expect(error.message).toContain('more than');
});
