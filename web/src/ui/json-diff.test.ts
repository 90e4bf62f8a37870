import { expect, test } from 'vitest';
import { diffJson } from './json-diff.ts';

test('names the places that differ and nothing else', () => {
  const before = { amount: 4200, to: { name: 'A', iban: 'CH1' }, lines: [{ text: 'x' }, { text: 'y' }], same: [1, 2] };
  const after = { amount: 4300, to: { name: 'A', iban: 'CH2' }, lines: [{ text: 'x' }], same: [1, 2], note: 'new' };
  expect(diffJson(before, after)).toEqual([
    { path: 'amount', before: 4200, after: 4300 },
    { path: 'to.iban', before: 'CH1', after: 'CH2' },
    { path: 'lines[1]', before: { text: 'y' }, after: undefined },
    { path: 'note', before: undefined, after: 'new' },
  ]);
});

test('the order of keys is no difference; another type is', () => {
  expect(diffJson({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([]);
  expect(diffJson({ a: [] }, { a: {} })).toEqual([{ path: 'a', before: [], after: {} }]);
  expect(diffJson(0, null)).toEqual([{ path: '', before: 0, after: null }]);
});

test('a deep value does not overflow', () => {
  const deep = (leaf: number): never => JSON.parse(`${'{"a":'.repeat(5_000)}${leaf}${'}'.repeat(5_000)}`) as never;
  expect(diffJson(deep(1), deep(2))).toHaveLength(1);
});
