import { describe, expect, test } from 'vitest';
import { placeOfProblem, placesOf } from './json-places.ts';

const text = `{
  "id": "x",
  "steps": [
    { "id": "a", "type": "http", "deep": { "a b": [1, true] } },
    { "id": "b" }
  ]
}`;

function shown(path: string): string | undefined {
  const place = placesOf(text).byPath.get(path);
  return place === undefined ? undefined : text.slice(place.from, place.to);
}

describe('places', () => {
  test('each value has its path as the engine writes it', () => {
    expect(shown('id')).toBe('"x"');
    expect(shown('steps[0].type')).toBe('"http"');
    expect(shown('steps[0].deep["a b"][1]')).toBe('true');
    expect(shown('steps[1]')).toBe('{ "id": "b" }');
    expect(shown('')).toBe(text);
  });

  test('the innermost place around a position', () => {
    const places = placesOf(text);
    const at = (needle: string): string => places.at(text.indexOf(needle) + 1)?.parts.join('.') ?? '';
    expect(at('"http"')).toBe('steps.0.type');
    expect(at('"type"')).toBe('steps.0.type');
    expect(at('{ "id": "b"')).toBe('steps.1');
  });

  test('an unfinished text has places as far as it goes', () => {
    const places = placesOf('{"steps": [{"id": "a", "type": "ht');
    expect(places.byPath.get('steps[0].type')).toMatchObject({ kind: 'string' });
    expect(places.byPath.get('steps[0]')).toMatchObject({ kind: 'object' });
    expect(placesOf('{"a": ').byPath.get('')).toMatchObject({ kind: 'object', from: 0 });
    expect(placesOf('{"type" "x"}').all.length).toBeGreaterThan(0);
  });

  test('quotes, brackets and colons inside texts are text', () => {
    const tricky = '{"a": "x\\"}, \\"b\\": [", "c": 1}';
    const place = placesOf(tricky).byPath.get('c');
    expect(place === undefined ? '' : tricky.slice(place.from, place.to)).toBe('1');
  });

  test('a very deep text overflows nothing', () => {
    expect(placesOf('['.repeat(20_000)).all).toHaveLength(100);
  });
});

test('a problem of something that is missing shows at what is there', () => {
  const places = placesOf(text);
  expect(placeOfProblem(places, 'steps[1].prompt')?.parts).toEqual(['steps', 1]);
  expect(placeOfProblem(places, 'steps[0].deep["a b"][7]')?.parts).toEqual(['steps', 0, 'deep', 'a b']);
  expect(placeOfProblem(places, 'nowhere.at[3]')?.parts).toEqual([]);
});
