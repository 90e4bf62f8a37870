import { validate as cfworkerValidate } from '@cfworker/json-schema';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseJson } from './json.ts';
import type { Json } from './json.ts';
import { checkSchema, validateAgainst } from './schema-check.ts';

function issues(schema: Json, value: Json): string[] {
  return validateAgainst(schema, value).map((problem) => `${problem.path}: ${problem.message}`);
}

function nested(levels: number): Json {
  let value: Json = 1;
  for (let level = 0; level < levels; level += 1) {
    value = { a: value };
  }
  return value;
}

const issueSchema: Json = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['id', 'title'],
  properties: {
    id: { type: 'integer', minimum: 1 },
    title: { type: 'string', minLength: 1, maxLength: 10, pattern: '^[A-Z]' },
    labels: { type: 'array', items: { $ref: '#/$defs/label' }, uniqueItems: true, maxItems: 3 },
    state: { enum: ['open', 'closed'] },
    at: { type: 'string', format: 'date-time' },
    owner: { type: ['object', 'null'], required: ['mail'], properties: { mail: { format: 'email' } }, additionalProperties: false },
  },
  $defs: { label: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } },
};

test('a value that matches has no problems', () => {
  const value = {
    id: 1,
    title: 'Ätna'.replace('Ä', 'A'),
    labels: [{ name: 'a' }, { name: 'b' }],
    state: 'open',
    at: '2026-11-01T12:00:00Z',
    owner: null,
    more: 1,
  };
  expect(checkSchema(issueSchema)).toEqual([]);
  expect(validateAgainst(issueSchema, value)).toEqual([]);
});

test('all problems come at once, each with its place', () => {
  const value = {
    id: 1.5,
    title: 'lower case, and too long',
    labels: [{ name: 1 }, {}, { name: 'x' }, { name: 'x' }],
    state: 'ajar',
    at: 'yesterday',
    owner: { mail: 'x', 'a/b': 1 },
  };
  expect(issues(issueSchema, value)).toEqual([
    '/id: must be of type integer, not number',
    '/title: has 24 characters, at most 10 are allowed',
    '/title: must match the pattern "^[A-Z]"',
    '/labels: has 4 items, at most 3 are allowed',
    '/labels/0/name: must be of type string, not number',
    '/labels/1: needs the property "name"',
    '/labels: has an item at 3 that it already has before',
    '/state: must be one of ["open","closed"]',
    '/at: must be a valid date-time',
    '/owner/mail: must be a valid email',
    '/owner/a~1b: is not a known property',
  ]);
  expect(issues(issueSchema, {})).toEqual([': needs the property "id"', ': needs the property "title"']);
  expect(validateAgainst(issueSchema, null)).toEqual([{ path: '', code: 'schema.mismatch', message: 'must be of type object, not null' }]);
});

test('the problems of the alternative that comes nearest are given', () => {
  const schema: Json = {
    oneOf: [
      { type: 'string' },
      { type: 'object', required: ['kind', 'x'], properties: { kind: { const: 'a' }, x: { type: 'integer' } } },
      { type: 'object', required: ['kind', 'y'], properties: { kind: { const: 'b' }, y: { type: 'integer' } } },
    ],
  };
  expect(issues(schema, { kind: 'a', x: 's' })).toEqual([
    '/x: must be of type integer, not string',
    ': matches none of the 3 alternatives',
  ]);
  expect(issues({ oneOf: [true, { type: 'string' }] }, 'x')).toEqual([': matches 2 alternatives, but must match one']);
});

test('at most 50 problems are given', () => {
  expect(
    validateAgainst(
      { items: { type: 'string' } },
      Array.from({ length: 1_000 }, (_, index) => index),
    ),
  ).toHaveLength(50);
});

test.each<[string, Json, string]>([
  ['not a schema', 'string', ''],
  ['a list', [], ''],
  ['an unknown type', { properties: { a: { type: 'strin' } } }, '/properties/a/type'],
  ['an empty list of types', { type: [] }, '/type'],
  ['a remote reference', { properties: { a: { $ref: 'https://example.com/schema' } } }, '/properties/a/$ref'],
  ['a file reference', { $ref: 'other.json#/a' }, '/$ref'],
  ['a reference to nothing', { $ref: '#/$defs/nope' }, '/$ref'],
  ['a reference into no schema', { $ref: '#/required', required: ['a'] }, '/$ref'],
  ['a reference to itself', { $ref: '#' }, ''],
  [
    'references in a circle',
    { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ not: { $ref: '#/$defs/b' } }] }, b: { allOf: [{ $ref: '#/$defs/a' }] } } },
    '',
  ],
  ['a dynamic reference', { $dynamicRef: '#a' }, '/$dynamicRef'],
  ['a nested $id', { properties: { a: { $id: 'x' } } }, '/properties/a/$id'],
  ['items of an older draft', { items: [{ type: 'string' }] }, '/items'],
  ['additionalItems', { additionalItems: false }, '/additionalItems'],
  ['dependencies', { dependencies: { a: ['b'] } }, '/dependencies'],
  ['an invalid pattern', { pattern: '[' }, '/pattern'],
  ['a look-ahead', { pattern: '^(?=.*x)' }, '/pattern'],
  ['a back-reference', { patternProperties: { '(a)\\1': true } }, '/patternProperties/(a)\\1'],
  ['a giant pattern', { pattern: '(?:[ab]{1,900}){1,900}' }, '/pattern'],
  ['a negative length', { minLength: -1 }, '/minLength'],
  ['a text as limit', { maximum: '5' }, '/maximum'],
  ['exclusiveMinimum of draft 4', { exclusiveMinimum: true }, '/exclusiveMinimum'],
  ['multipleOf 0', { multipleOf: 0 }, '/multipleOf'],
  ['required as text', { required: 'a' }, '/required'],
  ['required: true of draft 3', { properties: { a: { required: true } } }, '/properties/a/required'],
  ['no alternatives', { anyOf: [] }, '/anyOf'],
  ['properties as list', { properties: [] }, '/properties'],
  ['enum as text', { enum: 'a' }, '/enum'],
  ['a schema that is null', { items: null }, '/items'],
])('the schema with %s is refused, with the place', (_name, schema, path) => {
  const problems = checkSchema(schema);
  expect(problems.map((problem) => problem.code)).toContain('schema.invalid');
  expect(problems.map((problem) => problem.path)).toContain(path);
  expect(validateAgainst(schema, {})).toEqual(problems);
});

test('all problems of a schema come at once', () => {
  expect(
    checkSchema({ type: 'x', properties: { a: { pattern: '(' }, b: { $ref: '#/nope' } }, required: 1 })
      .map((problem) => problem.path)
      .toSorted(),
  ).toEqual(['/properties/a/pattern', '/properties/b/$ref', '/required', '/type']);
});

test('references work: to the whole, by pointer, by anchor, and for trees', () => {
  const tree: Json = {
    type: 'object',
    required: ['v'],
    properties: { v: { type: 'integer' }, kids: { type: 'array', items: { $ref: '#' } } },
  };
  expect(validateAgainst(tree, { v: 1, kids: [{ v: 2, kids: [] }] })).toEqual([]);
  expect(issues(tree, { v: 1, kids: [{ v: 2, kids: [{ v: 'x' }] }] })).toEqual(['/kids/0/kids/0/v: must be of type integer, not string']);
  const anchored: Json = {
    $id: 'https://example.com/root',
    $ref: '#thing',
    $defs: { 'a/b~c%': { $anchor: 'thing', $ref: 'https://example.com/root#/$defs/plain' }, plain: { type: 'null' } },
  };
  expect(checkSchema(anchored)).toEqual([]);
  expect(issues(anchored, 1)).toEqual([': must be of type null, not number']);
  expect(issues({ $ref: '#/$defs/a~1b~0c%25', $defs: { 'a/b~c%': false } }, 1)).toEqual([': is not allowed here']);
});

test('what zod writes as JSON Schema is understood', () => {
  const schema = z.strictObject({
    a: z.enum(['x', 'y']),
    b: z.array(z.union([z.string().min(1), z.number().int()])),
    c: z.record(z.string(), z.boolean()).optional(),
  });
  const json = parseJson(JSON.stringify(z.toJSONSchema(schema)));
  expect(checkSchema(json)).toEqual([]);
  expect(validateAgainst(json, { a: 'x', b: ['s', 1], c: { k: true } })).toEqual([]);
  expect(issues(json, { a: 'z', b: [''], d: 1 })).toEqual([
    '/a: must be one of ["x","y"]',
    '/b/0: has 0 characters, at least 1 are needed',
    '/b/0: matches none of the 2 alternatives',
    '/d: is not a known property',
  ]);
});

describe('keys and values that trip others', () => {
  test.each(['__proto__', 'constructor', 'toString', 'a.b', 'a/b', '', '🙂', '\ud800'])('V5 the property %j is data', (key) => {
    const value = parseJson(`{${JSON.stringify(key)}: 1}`);
    const closed = parseJson(`{"properties": {${JSON.stringify(key)}: {"type": "string"}}, "additionalProperties": false}`);
    expect(validateAgainst(closed, value)[0]?.message).toBe('must be of type string, not number');
    expect(validateAgainst({ additionalProperties: false }, value)[0]?.message).toBe('is not a known property');
    expect(validateAgainst({ required: [key] }, {})).toHaveLength(1);
    expect(validateAgainst({ required: [key] }, value)).toEqual([]);
  });

  test.each<[Json, Json, boolean]>([
    [{ multipleOf: 0.1 }, 0.3, true],
    [{ multipleOf: 0.01 }, 4.35, true],
    [{ multipleOf: 0.01 }, 4.351, false],
    [{ type: 'integer' }, 1.0, true],
    [{ type: 'integer' }, 1e300, true],
    [{ const: 1.0 }, 1, true],
    [{ const: { a: [1, { b: null }] } }, { a: [1, { b: null }] }, true],
    [{ enum: [[], {}] }, {}, true],
    [{ enum: [[], {}] }, null, false],
    [{ enum: [0, false, '', null] }, false, true],
    [{ maxLength: 1 }, '🙂', true],
    [{ uniqueItems: true }, [1, '1', true, 'true', null, [1], ['1'], { a: 1 }, { a: '1' }], true],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      false,
    ],
    [{ contains: { type: 'string' }, maxContains: 1 }, [1, 'a', 2], true],
    [{ contains: { type: 'string' }, maxContains: 1 }, [1, 'a', 'b'], false],
    [{ contains: false, minContains: 0 }, [], true],
    [{ prefixItems: [{ const: 1 }], items: { const: 2 } }, [1, 2, 2], true],
    [{ prefixItems: [{ const: 1 }], items: false }, [1, 2], false],
    [{ if: { const: 1 }, then: false, else: true }, 1, false],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, false],
    [{ dependentSchemas: { a: { required: ['b'] } } }, { c: 1 }, true],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, false],
    [{ patternProperties: { '^x': { type: 'string' } }, additionalProperties: false }, { xa: 's', y: 1 }, false],
    [{ allOf: [{ properties: { a: true } }], unevaluatedProperties: false }, { a: 1 }, true],
    [{ allOf: [{ properties: { a: true } }], unevaluatedProperties: false }, { a: 1, b: 1 }, false],
    [{ anyOf: [{ prefixItems: [true] }, false], unevaluatedItems: false }, [1, 2], false],
    [{ not: { type: 'string' } }, 1, true],
    [false, 1, false],
    [true, 1, true],
  ])('%j and %j', (schema, value, valid) => {
    expect(checkSchema(schema)).toEqual([]);
    expect(validateAgainst(schema, value).length === 0).toBe(valid);
  });

  test.each<[string, string, boolean]>([
    ['date', '2028-02-29', true],
    ['date', '2027-02-29', false],
    ['time', '23:59:59Z', true],
    ['time', '23:59:59', false],
    ['date-time', '2026-11-01T12:00:00.5+01:00', true],
    ['date-time', '2026-11-01', false],
    ['email', 'ada.l+x@mail.example.org', true],
    ['email', 'ada@@example.org', false],
    ['email', 'ada', false],
    ['hostname', 'a-b.example', true],
    ['hostname', '-a.example', false],
    ['ipv4', '127.0.0.1', true],
    ['ipv4', '0x7f.1', false],
    ['ipv6', '::ffff:1.2.3.4', true],
    ['ipv6', '1::2::3', false],
    ['uri', 'https://example.com/a?b#c', true],
    ['uri', '/a/b', false],
    ['uri', 'http://a b', false],
    ['uuid', '123e4567-e89b-12d3-a456-426614174000', true],
    ['uuid', '123e4567', false],
    ['unheard-of', 'anything', true],
  ])('the format %s of %s', (format, text, valid) => {
    expect(validateAgainst({ format }, text).length === 0).toBe(valid);
    expect(validateAgainst({ format }, 5)).toEqual([]);
  });
});

describe('properties', () => {
  const key = fc.constantFrom('a', 'b', 'c');
  const scalar = fc.constantFrom<Json>(null, true, false, 0, 1, 2, 2.5, -1, '', 'a', 'ab', 'abc');
  const value = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 3 }),
    ),
  })).value;
  const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
    schema: fc.oneof(
      { depthSize: 'small' },
      fc.boolean(),
      fc.record<{ [keyword: string]: Json }>(
        {
          type: fc.constantFrom<Json>('string', 'number', 'integer', 'boolean', 'null', 'array', 'object', ['string', 'null']),
          const: scalar,
          enum: fc.array(scalar, { minLength: 1, maxLength: 3 }),
          minimum: fc.constantFrom(0, 1.5),
          exclusiveMaximum: fc.constantFrom(1, 2.5),
          multipleOf: fc.constantFrom(1, 0.5),
          minLength: fc.nat(3),
          maxLength: fc.nat(3),
          pattern: fc.constantFrom('a', '^ab?$', '[b-c]{2}'),
          minItems: fc.nat(2),
          maxItems: fc.nat(2),
          uniqueItems: fc.boolean(),
          minProperties: fc.nat(2),
          maxProperties: fc.nat(2),
          required: fc.uniqueArray(key, { maxLength: 2 }),
          dependentRequired: fc.dictionary(key, fc.uniqueArray(key, { maxLength: 2 }), { maxKeys: 1 }),
        },
        { requiredKeys: [] },
      ),
      fc.record<{ [keyword: string]: Json }>(
        {
          properties: fc.dictionary(key, tie('schema'), { maxKeys: 2 }),
          patternProperties: fc.dictionary(fc.constantFrom('^a', 'b|c'), tie('schema'), { maxKeys: 1 }),
          additionalProperties: tie('schema'),
          propertyNames: tie('schema'),
          items: tie('schema'),
          prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
          contains: tie('schema'),
        },
        { requiredKeys: [] },
      ),
      fc.record<{ [keyword: string]: Json }>(
        {
          allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
          anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
          oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
          not: tie('schema'),
          if: tie('schema'),
          then: tie('schema'),
          else: tie('schema'),
        },
        { requiredKeys: [] },
      ),
    ),
  }));

  test('the verdict is that of another validator', () => {
    fc.assert(
      fc.property(schema, value, (given, instance) => {
        expect(checkSchema(given)).toEqual([]);
        // The other one marks the schemas that it has seen.
        const other = structuredClone(given) as Parameters<typeof cfworkerValidate>[1];
        expect(validateAgainst(given, instance).length === 0).toBe(cfworkerValidate(instance, other, '2020-12').valid);
      }),
      { numRuns: 3_000 },
    );
  });

  test('any JSON as schema is refused or usable; nothing is thrown, Object.prototype stays as it is', () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    const keyword = fc.constantFrom(
      'type',
      'properties',
      'items',
      '$ref',
      '$defs',
      'allOf',
      'not',
      'pattern',
      'enum',
      '__proto__',
      'required',
      '$anchor',
      'unevaluatedProperties',
    );
    const odd = fc.letrec<{ odd: Json }>((tie) => ({
      odd: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<Json>('#', '#/$defs/a', 'object', 1, null, true, [], '('),
        fc.array(tie('odd'), { maxLength: 2 }),
        fc.dictionary(keyword, tie('odd'), { maxKeys: 3 }),
      ),
    })).odd;
    fc.assert(
      fc.property(odd, value, (given, instance) => {
        expect(Array.isArray(validateAgainst(given, instance))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });
});

describe('bounds', () => {
  const letters = Array.from({ length: 20_000 }, (_, index) => ((index * 7_919) % 13 < 6 ? 'a' : 'b')).join('');
  const branching: Json = {
    anyOf: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' } } }],
    unevaluatedProperties: false,
  };

  // Each of these takes minutes or for ever in a plain validator; the test’s time limit is the assertion that it does not here.
  test.each<[string, Json, Json]>([
    ['a reference that branches at each level', branching, nested(100)],
    [
      'long enums of objects against long lists',
      { items: { enum: Array.from({ length: 2_000 }, (_, index) => ({ index })) } },
      Array.from({ length: 10_000 }, () => ({ index: 1_999 })),
    ],
    [
      'contains, 500 times over',
      { allOf: Array.from({ length: 500 }, () => ({ contains: { const: 'x' } })) },
      Array.from({ length: 100_000 }, () => 1),
    ],
    [
      'patterns with many states',
      { allOf: Array.from({ length: 300 }, (_, index) => ({ pattern: `^[ab]*a[ab]{12}[cd]${'x'.repeat(index)}` })) },
      letters,
    ],
    ['a pattern with endless states', { pattern: '[ab]*a[ab]{400}[cd]' }, letters],
    [
      'many patterns for many properties',
      { patternProperties: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`^k${index}[0-9]*$`, true])) },
      Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index])),
    ],
    ['decimals far apart', { items: { multipleOf: 1e-300 } }, Array.from({ length: 100_000 }, () => 1e300)],
    [
      'the length of a giant text, over and over',
      { allOf: Array.from({ length: 1_000 }, () => ({ minLength: 1 })) },
      'x'.repeat(8_000_000),
    ],
    [
      'a chain of 3,000 references',
      {
        $ref: '#/$defs/d0',
        $defs: {
          ...Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }])),
          d3000: true,
        },
      },
      1,
    ],
  ])('%s: checking is given up, and says so', (_name, schema, value) => {
    expect(checkSchema(schema)).toEqual([]);
    const message = 'cannot be checked: schema and value together take too much work';
    expect(validateAgainst(schema, value)).toEqual([{ path: '', code: 'schema.mismatch', message }]);
  });

  test.each<[string, Json, Json]>([
    ['a million different numbers', { uniqueItems: true }, Array.from({ length: 1_000_000 }, (_, index) => index)],
    ['a pattern that is exponential elsewhere', { not: { pattern: '^(a+)+$' } }, `${'a'.repeat(100_000)}!`],
    [
      '60,000 rows',
      {
        items: {
          type: 'object',
          required: ['id'],
          properties: { id: { type: 'integer' }, mail: { format: 'email', pattern: '@' } },
          additionalProperties: false,
        },
      },
      Array.from({ length: 60_000 }, (_, id) => ({ id, mail: `user.${id}@example.com` })),
    ],
    ['a value 100 levels deep', { properties: { a: { $ref: '#' } } }, nested(100)],
  ])('%s: checked to the end', (_name, schema, value) => {
    expect(issues(schema, value)).toEqual([]);
  });

  test('a schema that is too large or too deep is refused', () => {
    let deep: Json = true;
    for (let level = 0; level < 100_000; level += 1) {
      deep = { items: deep };
    }
    expect(checkSchema(deep)[0]?.message).toContain('nested too deeply');
    const wide = { properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, true])) };
    expect(checkSchema(wide)[0]?.message).toContain('more than 10000 parts');
  });
});

test('a schema is walked once, however often it is asked about', () => {
  let reads = 0;
  const schema = {
    get title() {
      reads += 1;
      return 'counted';
    },
  };
  expect(checkSchema(schema)).toEqual([]);
  const once = reads;
  expect(once).toBeGreaterThan(0);
  expect([validateAgainst(schema, 1), checkSchema(schema)]).toEqual([[], []]);
  expect(reads).toBe(once);
});

test('null is no schema, asked once or twice', () => {
  const refused = [{ path: '', code: 'schema.invalid' }];
  for (const problems of [checkSchema(null), validateAgainst(null, 1), checkSchema(null)]) expect(problems).toMatchObject(refused);
});
