import { expect, test } from 'vitest';
import type { Json } from '@engine/json.ts';
import type { PathPart } from '@engine/json-path.ts';
import { setMember } from './edit-text.ts';
import { placesOf } from './json-places.ts';

function edited(text: string, object: readonly PathPart[], name: string, value: Json | undefined): string {
  const edit = setMember(text, placesOf(text), object, name, value);
  return edit === undefined ? text : text.slice(0, edit.from) + edit.insert + text.slice(edit.to);
}

const text = '{\n  "steps": [\n    {\n      "id": "a",\n      "timeout": "5s"\n    },\n    { "id": "b" }\n  ]\n}';

test('a value is changed in place, and nothing else moves', () => {
  expect(edited(text, ['steps', 0], 'timeout', '9s')).toBe(text.replace('5s', '9s'));
});

test('a new member comes last, written as the others are', () => {
  expect(edited(text, ['steps', 0], 'name', 'First')).toBe(text.replace('"timeout": "5s"', '"timeout": "5s",\n      "name": "First"'));
  expect(edited(text, ['steps', 1], 'name', 'Second')).toBe(text.replace('{ "id": "b" }', '{ "id": "b", "name": "Second" }'));
  expect(edited('{"a": {}}', ['a'], 'b', 1)).toBe('{"a": { "b": 1 }}');
});

test('a member goes with its comma, first or last', () => {
  expect(edited(text, ['steps', 0], 'timeout', undefined)).toBe(text.replace(',\n      "timeout": "5s"', ''));
  expect(edited('{ "a": 1, "b": 2 }', [], 'a', undefined)).toBe('{ "b": 2 }');
  expect(edited('{ "a": 1 }', [], 'a', undefined)).toBe('{  }');
  expect(edited(text, ['steps', 1], 'missing', undefined)).toBe(text);
});

test('what comes out is JSON again', () => {
  for (const name of ['id', 'timeout', 'new'])
    for (const value of [undefined, 'x', { deep: [1] }])
      expect(() => JSON.parse(edited(text, ['steps', 0], name, value)) as unknown).not.toThrow();
});
