import { expect, test } from 'vitest';
import { jsonPath, pointerParts, valueAt } from './json-path.ts';
import type { PathPart } from './json-path.ts';

test.each<[readonly PathPart[], string]>([
  [[], ''],
  [['steps', 2, 'branches', 'left', 0, 'prompt'], 'steps[2].branches.left[0].prompt'],
  [[0, 'a'], '[0].a'],
  [['a b', 'c'], '["a b"].c'],
  [['a', '1x', '$y-z_1'], 'a["1x"].$y-z_1'],
  [['a', '-b'], 'a["-b"]'],
  [['a', 'b!'], 'a["b!"]'],
  [['say "hi"', ''], '["say \\"hi\\""][""]'],
  [['\ud800!'], '["\ufffd!"]'],
])('the path %j is written %s', (parts, text) => {
  expect(jsonPath(parts)).toBe(text);
});

test('a path goes on from another', () => {
  expect(jsonPath(['then', 0], 'steps[1]')).toBe('steps[1].then[0]');
});

test('a JSON pointer has a number where it goes through a list', () => {
  const root = { steps: [{ 'a/b': { 'm~n': { '0': 1 } } }] };
  expect(pointerParts('/steps/0/a~1b/m~0n/0', root)).toEqual(['steps', 0, 'a/b', 'm~n', '0']);
  expect(pointerParts('', root)).toEqual([]);
  expect(pointerParts('/gone/0', root)).toEqual(['gone', '0']);
  expect(pointerParts('/~01', root)).toEqual(['~1']);
});

test('only own members are followed', () => {
  const root = { list: [{ a: null }], text: 'abc' };
  expect(valueAt(root, [])).toBe(root);
  expect(valueAt(root, ['list', 0, 'a'])).toBeNull();
  for (const path of [['list', 0, 'a', 'b'], ['text', 'length'], ['toString'], ['list', 'map'], ['list', 1, 'a']])
    expect(valueAt(root, path)).toBeUndefined();
});
