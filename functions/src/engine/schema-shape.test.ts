import { describe, expect, test } from 'vitest';
import type { Json } from './json.ts';
import { shapeOf } from './schema-shape.ts';

const faults = (schema: Json): string[] => shapeOf(schema).problems.map(({ path, message }) => `${path}: ${message}`);
const invalid = { type: 'any' } as const;
const wrongType = 'type is one or more of';
const nowhere = 'leads nowhere; a $ref points into this schema: "#/$defs/name"';

describe('every schema inside a schema is looked at', () => {
  test.each([
    'not',
    'if',
    'then',
    'else',
    'items',
    'contains',
    'additionalProperties',
    'unevaluatedProperties',
    'unevaluatedItems',
    'propertyNames',
  ])('%s', (keyword) => {
    expect(faults({ [keyword]: true })).toEqual([]);
    expect(faults({ [keyword]: invalid })).toEqual([expect.stringMatching(new RegExp(`^/${keyword}/type: ${wrongType}`))]);
    expect(faults({ [keyword]: 'x' })).toEqual([`/${keyword}: a schema is an object, true or false`]);
  });
  test.each(['allOf', 'anyOf', 'oneOf', 'prefixItems'])('%s', (keyword) => {
    expect(faults({ [keyword]: [true, invalid] })).toEqual([expect.stringMatching(new RegExp(`^/${keyword}/1/type: ${wrongType}`))]);
    for (const value of [[], {}, true])
      expect(faults({ [keyword]: value })).toEqual([`/${keyword}: ${keyword} is a list of at least one schema`]);
  });
  test.each(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])('%s', (keyword) => {
    const path = `/${keyword.replace('$', '\\$')}/a/type`;
    expect(faults({ [keyword]: { a: invalid, b: false } })).toEqual([expect.stringMatching(new RegExp(`^${path}: ${wrongType}`))]);
    for (const value of [[], true]) expect(faults({ [keyword]: value })).toEqual([`/${keyword}: ${keyword} is an object of schemas`]);
  });
});

describe('the value of a keyword', () => {
  const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains', 'minProperties', 'maxProperties'];
  test.each(counts)('%s is a whole number from 0', (keyword) => {
    for (const value of [0, 7]) expect(faults({ [keyword]: value })).toEqual([]);
    for (const value of [-1, 0.5, '1', null])
      expect(faults({ [keyword]: value })).toEqual([`/${keyword}: ${keyword} is a whole number from 0`]);
  });
  test.each(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'])('%s is a number', (keyword) => {
    for (const value of [0, -1.5]) expect(faults({ [keyword]: value })).toEqual([]);
    for (const value of ['1', true, null]) expect(faults({ [keyword]: value })).toEqual([`/${keyword}: ${keyword} is a number`]);
  });
  const types = 'null, boolean, integer, number, string, array, object';
  test.each<[string, readonly Json[], readonly Json[], string]>([
    ['multipleOf', [0.5], [0, -1, '1', true], 'multipleOf is a positive number'],
    ['type', ['null', ['string', 'array']], ['any', [], ['string', 'any'], null], `type is one or more of ${types}`],
    ['enum', [[1], []], ['a', {}], 'enum is a list of values'],
    ['required', [['a'], []], ['a', [1], ['a', 1]], 'required is a list of property names'],
    [
      'dependentRequired',
      [{ a: ['b'] }, {}],
      [['a'], { a: 'b' }, { a: ['b'], b: [1] }, null],
      'dependentRequired is an object of lists of property names',
    ],
    ['uniqueItems', [true, false], [1, null], 'uniqueItems is true or false'],
    ['format', ['date', 'unheard-of'], [1, null], 'format is a text'],
    ['pattern', ['^a'], [1, null], 'pattern is a text'],
    ['$ref', [''], [1, null], '$ref is a text'],
  ])('%s', (keyword, good, bad, message) => {
    for (const value of good) expect(faults({ properties: { it: { [keyword]: value } } })).toEqual([]);
    for (const value of bad)
      expect(faults({ properties: { it: { [keyword]: value } } })).toEqual([`/properties/it/${keyword}: ${message}`]);
  });

  test.each(['title', 'description', 'default', 'examples', 'x-mine', '$schema', '$comment', '$vocabulary', 'contentMediaType'])(
    '%s only describes',
    (keyword) => {
      for (const value of [1, null, [], {}]) expect(faults({ [keyword]: value })).toEqual([]);
    },
  );
  test.each([
    ['$dynamicRef', '$dynamicRef is not supported; use $ref'],
    ['$recursiveRef', '$recursiveRef is not supported; use $ref'],
    ['additionalItems', 'additionalItems is of an older draft; use prefixItems and items'],
    ['dependencies', 'dependencies is of an older draft; use dependentRequired or dependentSchemas'],
  ])('%s is not supported', (keyword, message) => {
    expect(faults({ [keyword]: '#' })).toEqual([`/${keyword}: ${message}`]);
  });
  test('only the names of patternProperties are patterns', () => {
    for (const keyword of ['properties', 'dependentSchemas', '$defs']) expect(faults({ [keyword]: { '(': true } })).toEqual([]);
    expect(faults({ patternProperties: { '(': true } })).toEqual([
      expect.stringContaining('/patternProperties/(: the pattern is not valid'),
    ]);
  });
  test('items is no list, and $id stands at the top', () => {
    expect(faults({ items: [true] })).toEqual(['/items: a list in items is of an older draft; use prefixItems']);
    expect(faults({ $id: 'https://x.example', items: { $id: 'y', items: {} } })).toEqual([
      '/items/$id: $id is supported at the top only; use $anchor',
    ]);
  });
});

describe('references', () => {
  const targetOf = (schema: Json, reference: string): unknown => shapeOf(schema).references.get(reference);
  test('lead to the whole, to a place, to an anchor, also by the schema’s own id', () => {
    const a = { type: 'string' };
    const whole = {
      $id: 'https://x.example/s',
      $defs: { a, 'b/c~d e': { $anchor: 'here' }, yes: true, list: { anyOf: [a] } },
      allOf: [{}],
    };
    const ref = (reference: string): unknown => targetOf({ ...whole, allOf: [{ properties: { x: { $ref: reference } } }] }, reference);
    expect(ref('#')).toMatchObject({ $id: 'https://x.example/s' });
    expect(ref('')).toMatchObject({ $id: 'https://x.example/s' });
    expect(ref('https://x.example/s')).toMatchObject({ $id: 'https://x.example/s' });
    for (const reference of ['#/$defs/a', 'https://x.example/s#/$defs/a', '#/$defs/list/anyOf/0']) expect(ref(reference)).toBe(a);
    for (const reference of ['#here', '#/$defs/b~1c~0d%20e']) expect(ref(reference)).toEqual({ $anchor: 'here' });
    expect(ref('#/$defs/yes')).toBe(true);
  });
  test.each([
    '#/$defs/b',
    '#/$defs/a/type',
    '#/$defs/a/type/0',
    '#nobody',
    'other',
    '/$defs/a',
    '#/%',
    '#/toString',
    'https://x.example/s',
    '#/$defs/n/x',
  ])('%s leads nowhere', (reference) => {
    expect(faults({ $defs: { a: { type: 'string' }, n: { default: null } }, items: { $ref: reference } })).toEqual([
      `/items/$ref: ${JSON.stringify(reference)} ${nowhere}`,
    ]);
  });
  test('an anchor is named behind a #', () => {
    expect(faults({ $defs: { a: { $anchor: 'here' } }, items: { $ref: 'xhere' } })).toEqual([`/items/$ref: "xhere" ${nowhere}`]);
  });
  test('what is long is cut, what has no id at the top has none', () => {
    expect(faults({ items: { $ref: `#${'x'.repeat(300)}` } })).toEqual([`/items/$ref: "#${'x'.repeat(199)}" ${nowhere}`]);
    expect(faults({ $id: '', $defs: { a: true }, items: { $ref: '#/$defs/a' } })).toEqual([]);
    expect(faults({ $id: 7, items: { $ref: '7' } })).toEqual([`/items/$ref: "7" ${nowhere}`]);
    expect(faults({ $defs: { a: { $anchor: 7 } }, items: { $ref: '#7' } })).toEqual([`/items/$ref: "#7" ${nowhere}`]);
  });
});

describe('a schema that would be applied to one value for ever', () => {
  const endless = [': the schema refers to itself without ever going into a part of the value'];
  const b = { $ref: '#/$defs/b' };
  test.each<[string, Json]>([
    ['itself', { $ref: '#' }],
    ...['allOf', 'anyOf', 'oneOf'].map((keyword): [string, Json] => [keyword, { [keyword]: [true, { $ref: '#' }] }]),
    ...['not', 'if', 'then', 'else'].map((keyword): [string, Json] => [keyword, { [keyword]: { $ref: '#' } }]),
    ['dependentSchemas', { dependentSchemas: { a: { $ref: '#' } } }],
    ['a circle that nobody refers to', { $defs: { a: b, b: { not: { $ref: '#/$defs/a' } } } }],
    ['a circle behind others', { $defs: { b: { anyOf: [true, {}, { allOf: [b] }] } }, allOf: [{}, b] }],
  ])('%s', (_name, schema) => {
    expect(faults(schema)).toEqual(endless);
  });
  test.each<[string, Json]>([
    ['properties', { properties: { a: { $ref: '#' } } }],
    ['items', { items: { $ref: '#' }, prefixItems: [{ $ref: '#' }], contains: { $ref: '#' } }],
    ['others', { additionalProperties: { $ref: '#' }, patternProperties: { a: { $ref: '#' } }, propertyNames: { $ref: '#' } }],
    ['the same part twice', { $defs: { b: { not: {} } }, allOf: [b, b], anyOf: [b, { not: b }] }],
    ['what only looks like a reference', { default: { $ref: '#' }, allOf: [{ const: { $ref: '#' } }] }],
    ['a boolean', { $defs: { b: true }, allOf: [b, true] }],
  ])('and %s, which ends', (_name, schema) => {
    expect(faults(schema)).toEqual([]);
  });
});

test('whether anybody asks for what was not looked at', () => {
  for (const schema of [{}, { items: { properties: {} } }, true]) expect(shapeOf(schema).tracksEvaluation).toBe(false);
  for (const keyword of ['unevaluatedItems', 'unevaluatedProperties'])
    expect(shapeOf({ items: { [keyword]: true } }).tracksEvaluation).toBe(true);
});

describe('bounds', () => {
  const wide = (n: number): Json => ({ properties: Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, true])) });
  const deep = (levels: number): Json => Array.from({ length: levels }).reduce<Json>((inner) => ({ not: inner }), true);
  test('ten thousand parts', () => {
    expect(faults(wide(9_999))).toEqual([]);
    expect(faults(wide(10_000))).toEqual(['/properties/k0: the schema has more than 10000 parts']);
  });
  test('a bounded depth, shown by its beginning', () => {
    expect(faults(deep(200))).toEqual([]);
    expect(faults(deep(201))).toEqual([`${'/not'.repeat(8)}: the schema is nested too deeply`]);
  });
  test('fifty problems', () => {
    expect(shapeOf({ allOf: Array.from({ length: 60 }, () => invalid) }).problems).toHaveLength(50);
  });
});
