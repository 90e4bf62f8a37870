import { describe, expect, test } from 'vitest';
import type { Json } from './json.ts';
import { checkSchema, validateAgainst } from './schema-check.ts';

/** Keyword by keyword: the edge on either side, and the words. */
const cases: Readonly<Record<string, readonly (readonly [schema: Json, value: Json, ...issues: string[]])[]>> = {
  types: [
    [{ type: 'boolean' }, false],
    [{ type: 'boolean' }, 0, ': must be of type boolean, not number'],
    [{ type: 'string' }, ''],
    [{ type: 'string' }, null, ': must be of type string, not null'],
    [{ type: 'number' }, 1.5],
    [{ type: 'number' }, '1', ': must be of type number, not string'],
    [{ type: 'integer' }, 1.5, ': must be of type integer, not number'],
    [{ type: 'array' }, {}, ': must be of type array, not object'],
    [{ type: 'object' }, [], ': must be of type object, not array'],
    [{ type: 'null' }, null],
    [{ type: ['string', 'null'] }, 1, ': must be of type string or null, not number'],
  ],
  values: [
    [{ const: 'a' }, 'a'],
    [{ const: 'a' }, 'b', ': must be "a"'],
    [{ const: null }, 0, ': must be null'],
    [{ const: null }, null],
    [{ const: 1 }, [1], ': must be 1'],
    [{ const: [1] }, 1, ': must be [1]'],
    [{ const: [1] }, [1]],
    [{ const: [1] }, [2], ': must be [1]'],
    [{ const: [] }, {}, ': must be []'],
    [{ const: {} }, null, ': must be {}'],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }],
    [{ const: 'x'.repeat(198) }, 1, `: must be "${'x'.repeat(198)}"`],
    [{ const: 'x'.repeat(199) }, 1, `: must be "${'x'.repeat(199)}…`],
    [{ enum: ['a', null] }, null],
    [{ enum: ['a', { b: 1 }] }, { b: 1 }],
    [{ enum: ['a', { b: 1 }] }, { b: 2 }, ': must be one of ["a",{"b":1}]'],
    [{ const: 1, enum: [2] }, 3, ': must be 1', ': must be one of [2]'],
    [{ enum: [2], minimum: 3 }, 2, ': must be at least 3, not 2'],
    [{ enum: [2], minimum: 3 }, 4, ': must be one of [2]'],
    [{ enum: [[1]], minItems: 1 }, [2], ': must be one of [[1]]'],
    [{ enum: ['a'], maxLength: 1 }, 'b', ': must be one of ["a"]'],
  ],
  numbers: [
    [{ minimum: 1 }, 1],
    [{ minimum: 1 }, 0.5, ': must be at least 1, not 0.5'],
    [{ maximum: 1 }, 1],
    [{ maximum: 1 }, 2, ': must be at most 1, not 2'],
    [{ exclusiveMinimum: 1 }, 1.5],
    [{ exclusiveMinimum: 1 }, 1, ': must be more than 1, not 1'],
    [{ exclusiveMaximum: 1 }, 0.5],
    [{ exclusiveMaximum: 1 }, 1, ': must be less than 1, not 1'],
    [{ exclusiveMaximum: 1 }, 2, ': must be less than 1, not 2'],
    [{ minimum: 1, maximum: -1 }, 0, ': must be at least 1, not 0', ': must be at most -1, not 0'],
    [{ minimum: 5 }, 'text'],
    [{ multipleOf: 2 }, -4],
    [{ multipleOf: 2 }, 3, ': must be a multiple of 2, not 3'],
    [{ multipleOf: 0.01 }, 12],
    [{ multipleOf: 0.3 }, 12],
    [{ multipleOf: 0.7 }, 12, ': must be a multiple of 0.7, not 12'],
    [{ multipleOf: 3 }, 0.3, ': must be a multiple of 3, not 0.3'],
    [{ multipleOf: 1e20 }, 3e21],
    [{ multipleOf: 2.5e21 }, 5e21],
    [{ multipleOf: 2.5e21 }, 6e21, ': must be a multiple of 2.5e+21, not 6e+21'],
    [{ multipleOf: 1e-7 }, 3.1e-6],
    [{ multipleOf: 2e-7 }, 3e-7, ': must be a multiple of 2e-7, not 3e-7'],
    [{ multipleOf: 1 }, 0],
    [{ multipleOf: 1e21 }, 0],
    [{ multipleOf: 1e21 }, 20, ': must be a multiple of 1e+21, not 20'],
  ],
  texts: [
    [{ minLength: 2 }, 'ab'],
    [{ minLength: 2 }, 'a', ': has 1 characters, at least 2 are needed'],
    [{ maxLength: 1 }, 'ab', ': has 2 characters, at most 1 are allowed'],
    [{ minLength: 2 }, '🙂', ': has 1 characters, at least 2 are needed'],
    [{ maxLength: 2 }, 'a🙂🙂', ': has 3 characters, at most 2 are allowed'],
    [{ maxLength: 1 }, 'é\u0301', ': has 2 characters, at most 1 are allowed'],
    [{ maxLength: 1 }, 'ऀ\ufdd0', ': has 2 characters, at most 1 are allowed'],
    [{ pattern: 'b' }, 'abc'],
    [{ pattern: '^b' }, 'abc', ': must match the pattern "^b"'],
    [
      { minLength: 9, pattern: 'x', format: 'date' },
      'a',
      ': has 1 characters, at least 9 are needed',
      ': must match the pattern "x"',
      ': must be a valid date',
    ],
    [{ minLength: 9 }, 5],
    [{ format: 'date' }, '2026-11-29'],
  ],
  lists: [
    [{ minItems: 1 }, [0]],
    [{ minItems: 1 }, [], ': has 0 items, at least 1 are needed'],
    [{ maxItems: 1 }, [1, 2], ': has 2 items, at most 1 are allowed'],
    [{ items: { type: 'string' } }, ['a', 1, null], '/1: must be of type string, not number', '/2: must be of type string, not null'],
    [{ items: false }, []],
    [{ items: false }, [1], '/0: is not allowed here'],
    [{ prefixItems: [{ type: 'string' }, { type: 'number' }] }, ['a']],
    [
      { prefixItems: [{ type: 'string' }, { type: 'number' }] },
      [1, 'a', 2],
      '/0: must be of type string, not number',
      '/1: must be of type number, not string',
    ],
    [{ prefixItems: [true], items: { type: 'number' } }, ['a', 'b', 1], '/1: must be of type number, not string'],
    [{ prefixItems: [{ const: 1 }], minItems: 2 }, [1], ': has 1 items, at least 2 are needed'],
    [{ uniqueItems: true }, [1, 2, [1], { a: 1 }, 'a']],
    [{ uniqueItems: true }, [1, 2, 1], ': has an item at 2 that it already has before'],
    [{ uniqueItems: true }, [{ a: 1 }, 0, { a: 1 }], ': has an item at 2 that it already has before'],
    [{ uniqueItems: true }, ['', {}]],
    [{ uniqueItems: true }, [null, null], ': has an item at 1 that it already has before'],
    [{ uniqueItems: false }, [1, 1]],
    [
      { items: { type: 'string' }, uniqueItems: true },
      [1, 1],
      '/0: must be of type string, not number',
      '/1: must be of type string, not number',
      ': has an item at 1 that it already has before',
    ],
    [
      { items: { type: 'string' }, uniqueItems: true },
      [1, 2],
      '/0: must be of type string, not number',
      '/1: must be of type string, not number',
    ],
    [{ contains: { const: 1 } }, [0, 1]],
    [{ contains: { const: 1 } }, [0], ': has 0 items of the kind that "contains" describes'],
    [{ contains: { const: 1 }, minContains: 2 }, [1, 0], ': has 1 items of the kind that "contains" describes'],
    [{ contains: { const: 1 }, minContains: 2 }, [1, 1]],
    [{ contains: { const: 1 }, maxContains: 1 }, [1, 1], ': has 2 items of the kind that "contains" describes'],
    [{ items: { maximum: 0 }, contains: { const: 1 } }, [1], '/0: must be at most 0, not 1'],
    [{ items: true }, 'no list'],
  ],
  objects: [
    [{ minProperties: 1 }, { a: 1 }],
    [{ minProperties: 1 }, {}, ': has 0 properties, at least 1 are needed'],
    [{ maxProperties: 1 }, { a: 1, b: 2 }, ': has 2 properties, at most 1 are allowed'],
    [{ required: ['a', 'b'] }, { b: 1 }, ': needs the property "a"'],
    [{ required: ['a'], maxProperties: 0 }, { b: 1 }, ': needs the property "a"', ': has 1 properties, at most 0 are allowed'],
    [{ required: ['a'], maxProperties: 1 }, { b: 1 }, ': needs the property "a"'],
    [{ minProperties: 0 }, 7],
    [{ dependentRequired: { a: ['b', 'c'] } }, { a: 1, c: 1 }, ': needs the property "b", because it has "a"'],
    [{ dependentRequired: { a: ['b'] } }, { a: 1, b: 1 }],
    [{ dependentRequired: { a: ['b'] } }, {}],
    [{ dependentSchemas: { a: { required: ['b'] } } }, { a: 1 }, ': needs the property "b"'],
    [{ dependentSchemas: { a: { required: ['b'] } } }, { a: 1, b: 1 }],
    [{ dependentSchemas: { a: false, b: false } }, { b: 1 }, ': is not allowed here'],
    [{ dependentSchemas: { a: false, b: true } }, { a: 1, b: 1 }, ': is not allowed here'],
    [{ properties: { a: { type: 'string' } } }, { b: 1 }],
    [{ properties: { a: { type: 'string' }, b: true } }, { a: 1, b: 1 }, '/a: must be of type string, not number'],
    [{ properties: { a: false } }, { a: 1 }, '/a: is not allowed here'],
    [{ patternProperties: { '^a': { type: 'string' } } }, { ab: 1, b: 1 }, '/ab: must be of type string, not number'],
    [{ patternProperties: { '^a': { type: 'string' } } }, { ab: 'x' }],
    [
      { patternProperties: { '^a': { type: 'string' }, b$: { minimum: 2 } } },
      { ab: 1 },
      '/ab: must be of type string, not number',
      '/ab: must be at least 2, not 1',
    ],
    [{ patternProperties: { '^a': false, b$: true } }, { ab: 1 }, '/ab: is not allowed here'],
    [{ patternProperties: { '^a': true }, additionalProperties: false }, { ab: 1, b: 1 }, '/b: is not a known property'],
    [
      { additionalProperties: { type: 'string' } },
      { a: 1, b: 'x', c: null },
      '/a: must be of type string, not number',
      '/c: must be of type string, not null',
    ],
    [
      { properties: { a: { type: 'string' } }, additionalProperties: { type: 'number' } },
      { a: 'x', b: 1 },
    ],
    [{ properties: { a: false }, additionalProperties: true }, { a: 1, b: 1 }, '/a: is not allowed here'],
    [{ propertyNames: { maxLength: 1 } }, { a: 1 }],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, '/ab: has 2 characters, at most 1 are allowed'],
    [
      { propertyNames: { maxLength: 1 }, properties: { ab: { type: 'string' } } },
      { ab: 'x' },
      '/ab: has 2 characters, at most 1 are allowed',
    ],
  ],
  'schemas in schemas': [
    [{ not: { type: 'string' } }, 1],
    [{ not: { type: 'string' } }, 'a', ': matches what it must not match'],
    [{ not: true, type: 'string' }, 1, ': must be of type string, not number', ': matches what it must not match'],
    [{ allOf: [{ type: 'string' }, { maxLength: 0 }] }, 'a', ': has 1 characters, at most 0 are allowed'],
    [{ allOf: [{ minimum: 2 }, { maximum: 0 }] }, 1, ': must be at least 2, not 1', ': must be at most 0, not 1'],
    [{ allOf: [false, true] }, 1, ': is not allowed here'],
    [{ allOf: [false], anyOf: [true] }, 1, ': is not allowed here'],
    [{ allOf: [false], oneOf: [true] }, 1, ': is not allowed here'],
    [{ anyOf: [false], oneOf: [true] }, 1, ': is not allowed here', ': matches none of the 1 alternatives'],
    [{ allOf: [false], if: true, then: true }, 1, ': is not allowed here'],
    [{ if: { type: 'string' }, then: { minLength: 2 }, else: { minimum: 2 } }, 'a', ': has 1 characters, at least 2 are needed'],
    [{ if: { type: 'string' }, then: { minLength: 2 }, else: { minimum: 2 } }, 1, ': must be at least 2, not 1'],
    [{ if: { type: 'string' }, else: { minimum: 2 } }, 'a'],
    [{ if: { type: 'string' }, then: { minLength: 2 } }, 1],
    [{ then: false, else: false }, 1],
    [{ anyOf: [{ type: 'string' }, { minimum: 2 }] }, 2],
    [{ anyOf: [{ type: 'string' }, { minimum: 2 }] }, 1, ': must be at least 2, not 1', ': matches none of the 2 alternatives'],
    [{ oneOf: [{ minimum: 2 }, { maximum: 4 }] }, 5],
    [{ oneOf: [{ minimum: 2 }, { maximum: 4 }] }, 3, ': matches 2 alternatives, but must match one'],
    [{ oneOf: [{ minimum: 2 }, { minimum: 4 }] }, 1, ': must be at least 2, not 1', ': matches none of the 2 alternatives'],
    [{ anyOf: [{ minimum: 4, multipleOf: 2 }, { minimum: 2 }] }, 1, ': must be at least 2, not 1', ': matches none of the 2 alternatives'],
    [{ $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, 1, ': must be of type string, not number'],
    [{ $ref: '#/$defs/a', maximum: 0, $defs: { a: { minimum: 2 } } }, 1, ': must be at most 0, not 1', ': must be at least 2, not 1'],
    [{ $ref: '#/$defs/a', allOf: [true], $defs: { a: false } }, 1, ': is not allowed here'],
    [
      { type: 'object', allOf: [{ required: ['a'] }], properties: { b: false } },
      { b: 1 },
      ': needs the property "a"',
      '/b: is not allowed here',
    ],
  ],
  'what nobody has looked at': [
    [{ properties: { a: true }, unevaluatedProperties: false }, { a: 1 }],
    [{ properties: { a: true }, unevaluatedProperties: false }, { a: 1, b: 1 }, '/b: is not a known property'],
    [{ patternProperties: { '^a': true }, unevaluatedProperties: false }, { ab: 1 }],
    [{ additionalProperties: true, unevaluatedProperties: false }, { ab: 1 }],
    [
      { unevaluatedProperties: { type: 'string' } },
      { a: 1, b: 'x', c: 2 },
      '/a: must be of type string, not number',
      '/c: must be of type string, not number',
    ],
    [{ unevaluatedProperties: { type: 'number' } }, { a: 0, b: null }, '/b: must be of type number, not null'],
    [{ allOf: [{ properties: { a: true } }], unevaluatedProperties: false }, { a: 1 }],
    [{ allOf: [{ unevaluatedProperties: true }], unevaluatedProperties: false }, { a: 1 }],
    [
      { anyOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: true } }], unevaluatedProperties: false },
      { a: 1, b: 1 },
      '/a: is not a known property',
    ],
    [
      { anyOf: [{ properties: { a: true } }, { properties: { b: true } }], unevaluatedProperties: false },
      { a: 1, b: 1 },
    ],
    [{ oneOf: [{ required: ['a'], properties: { a: true } }, { required: ['b'] }], unevaluatedProperties: false }, { a: 1 }],
    [{ if: { properties: { a: true } }, unevaluatedProperties: false }, { a: 1 }],
    [{ if: { required: ['a'] }, then: { properties: { a: true } }, unevaluatedProperties: false }, { a: 1 }],
    [{ not: { not: { properties: { a: true } } }, unevaluatedProperties: false }, { a: 1 }, '/a: is not a known property'],
    [
      { dependentSchemas: { a: { properties: { b: true } } }, properties: { a: true }, unevaluatedProperties: false },
      { a: 1, b: 1 },
    ],
    [
      { $ref: '#/$defs/a', $defs: { a: { properties: { a: true } } }, unevaluatedProperties: false },
      { a: 1, b: 1 },
      '/b: is not a known property',
    ],
    [
      { properties: { a: { properties: { b: true } } }, unevaluatedProperties: false },
      { a: { b: 1 }, b: 1 },
      '/b: is not a known property',
    ],
    [{ prefixItems: [true], unevaluatedItems: false }, [1]],
    [{ prefixItems: [true], unevaluatedItems: false }, [1, 2], '/1: is not allowed here'],
    [{ contains: { type: 'string' }, unevaluatedItems: { type: 'number' } }, ['a', 1]],
    [{ contains: { type: 'string' }, unevaluatedItems: false }, ['a', 1, 2], '/1: is not allowed here', '/2: is not allowed here'],
    [{ allOf: [{ prefixItems: [true] }], unevaluatedItems: { type: 'string' } }, [1, 'a', 2], '/2: must be of type string, not number'],
    [{ allOf: [{ unevaluatedItems: true }], unevaluatedItems: false }, [1]],
    [{ items: { properties: { a: true } }, unevaluatedItems: false }, [{ a: 1 }]],
  ],
};

describe.each(Object.keys(cases))('%s', (kind) => {
  test.each((cases[kind] ?? []).map(([schema, value, ...issues]) => ({ schema, value, issues })))(
    '$schema and $value: $issues',
    ({ schema, value, issues }) => {
      expect(checkSchema(schema)).toEqual([]);
      expect(validateAgainst(schema, value).map(({ path, message }) => `${path}: ${message}`)).toEqual(issues);
      // Where only the verdict matters, it is the same.
      const inverse = validateAgainst({ not: { $ref: '#/$defs/it' }, $defs: { it: embedded(schema) } }, value);
      expect(inverse.map(({ message }) => message)).toEqual(issues.length === 0 ? ['matches what it must not match'] : []);
    },
  );
});

/** Its references stay within itself when it becomes a part of another schema. */
function embedded(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/a"', '"#/$defs/it/$defs/a"')) as Json;
}

test('ten alternatives are looked at for what comes nearest, and fifty places in all are explained', () => {
  const alternatives = (n: number): Json => ({ anyOf: [...Array.from({ length: n }, () => ({ type: 'null' })), { minimum: 2 }] });
  const messages = (schema: Json, value: Json): string[] => validateAgainst(schema, value).map(({ message }) => message);
  expect(messages(alternatives(9), 1)).toEqual(['must be at least 2, not 1', 'matches none of the 10 alternatives']);
  expect(messages(alternatives(10), 1)).toEqual(['must be of type null, not number', 'matches none of the 11 alternatives']);
  const deep = (levels: number): Json => Array.from({ length: levels }).reduce<Json>((inner) => ({ anyOf: [inner] }), { const: 0 });
  expect(messages(deep(3), 1)).toHaveLength(4);
  expect(new Set(messages(deep(49), 1))).toEqual(new Set(['matches none of the 1 alternatives']));
  expect(
    messages(
      { items: deep(1) },
      Array.from({ length: 60 }, () => 1),
    ).filter((message) => message === 'must be 0'),
  ).toHaveLength(25);
});
