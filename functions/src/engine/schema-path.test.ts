import { expect, test } from 'vitest';
import type { Json } from './json.ts';
import { impossiblePath } from './schema-path.ts';
import type { PathSegment } from './template-syntax.ts';

const closed = (properties: { [name: string]: Json }): Json => ({ type: 'object', properties, additionalProperties: false });
const text: Json = { type: 'string' };

test.each<[string, Json, PathSegment[]]>([
  ['the whole value', text, []],
  ['a property', closed({ a: text }), ['a']],
  ['any property of an open object', { type: 'object' }, ['a', 'b']],
  ['any property where others are described', { properties: { a: text }, additionalProperties: { type: 'object' } }, ['x', 'y']],
  ['any property where patterns describe some', { ...(closed({ a: text }) as object), patternProperties: { '^x': true } }, ['b']],
  ['a position', { type: 'array' }, [3]],
  ['a position of a list', { type: 'array', items: closed({ a: text }) }, [3, 'a']],
  ['a position that is described by itself', { prefixItems: [text, closed({ a: text })], items: false }, [1, 'a']],
  ['a position of an older draft', { items: [text, closed({ a: text })] }, [1, 'a']],
  ['a position behind those of an older draft', { items: [text] }, [1, 'a']],
  ['one of two types', { type: ['null', 'object'] }, ['a']],
  ['true', true, ['a', 0]],
  ['no schema at all', null, ['a']],
  ['a list as schema', [], ['a']],
  ['one alternative of two', { anyOf: [{ type: 'null' }, closed({ a: text })] }, ['a']],
  ['no alternatives', { anyOf: [], oneOf: 'x' }, ['a']],
  ['a reference', { $ref: '#/$defs/x', $defs: { x: closed({ a: text }) } }, ['a']],
  ['a reference to nothing', { $ref: '#/$defs/y/z', $defs: { y: 1 } }, ['a']],
  ['a reference out of the schema', { $ref: 'https://x.example/s' }, ['a']],
  ['a reference that is no text', { $ref: 1 }, ['a']],
  ['a reference to itself', { $ref: '#' }, ['a']],
  ['properties that are none', { properties: [], additionalProperties: true }, ['a']],
])('%s may be there', (_name, schema, path) => {
  expect(impossiblePath(schema, path)).toBeUndefined();
});

test.each<[string, Json, PathSegment[], string]>([
  ['a property of a text', text, ['a'], '"a" is asked of a value that the schema declares as "string"'],
  ['a position of an object', { type: 'object' }, [0], '[0] is asked of a value that the schema declares as "object"'],
  ['a property of a list', { type: ['array', 'null'] }, ['a'], '"a" is asked of a value that the schema declares as "array" or "null"'],
  ['a property of a property', closed({ a: text }), ['a', 'b'], '"b" is asked of a value that the schema declares as "string"'],
  ['an unknown property', closed({ name: text, age: text }), ['nam'], 'the schema allows no "nam" there; the nearest is "name"'],
  ['a property where there are none', closed({}), ['a'], 'the schema allows no "a" there: it declares no properties'],
  ['a property of nothing described', { additionalProperties: false }, ['a'], 'the schema allows no "a" there: it declares no properties'],
  ['an inherited name', closed({ a: text }), ['toString'], 'the schema allows no "toString" there; the nearest is "a"'],
  ['a forbidden property', { properties: { a: false } }, ['a'], '"a" is forbidden by the schema'],
  ['a property of others', { additionalProperties: text }, ['x', 'y'], '"y" is asked of a value that the schema declares as "string"'],
  ['a property of an item', { items: text }, [0, 'a'], '"a" is asked of a value that the schema declares as "string"'],
  ['a property of one item', { prefixItems: [text] }, [0, 'a'], '"a" is asked of a value that the schema declares as "string"'],
  ['a position too far', { prefixItems: [text], items: false }, [1], 'the schema allows no position [1] there'],
  ['a position too far in an older draft', { items: [text], additionalItems: false }, [1], 'the schema allows no position [1] there'],
  ['an item of an older draft', { items: [text] }, [0, 'a'], '"a" is asked of a value that the schema declares as "string"'],
  ['all alternatives', { anyOf: [text, closed({})] }, ['a'], '"a" is asked of a value that the schema declares as "string"'],
  ['all of one', { oneOf: [closed({}), text] }, ['a'], 'the schema allows no "a" there: it declares no properties'],
  ['one of all', { allOf: [true, text] }, ['a'], '"a" is asked of a value that the schema declares as "string"'],
  [
    'a reference',
    { $ref: '#/$defs/a~1b~0c', $defs: { 'a/b~c': text } },
    ['a'],
    '"a" is asked of a value that the schema declares as "string"',
  ],
  [
    'deep in a tree',
    { $ref: '#/$defs/t', $defs: { t: closed({ kid: { $ref: '#/$defs/t' } }) } },
    ['kid', 'kid', 'kind'],
    'the schema allows no "kind" there; the nearest is "kid"',
  ],
])('%s cannot be there', (_name, schema, path, reason) => {
  expect(impossiblePath(schema, path)).toBe(reason);
});

test('alternatives that multiply are not all looked at', () => {
  const both: Json = { $ref: '#/$defs/x' };
  const schema: Json = { ...(both as object), $defs: { x: { anyOf: [both, both], type: 'object', additionalProperties: false } } };
  expect(impossiblePath(schema, ['a'])).toBe('the schema allows no "a" there: it declares no properties');
});
