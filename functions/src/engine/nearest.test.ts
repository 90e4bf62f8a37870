import { expect, test } from 'vitest';
import { nearestKey } from './nearest.ts';

test.each<[string, string[], string | undefined]>([
  ['amuont', ['amount', 'account', 'name'], 'amount'],
  ['Amount', ['amoun', 'amount'], 'amount'],
  ['kitten', ['sitting', 'mitten', 'kit'], 'mitten'],
  ['ab', ['xb', 'a', 'abc'], 'xb'],
  ['', ['long', 'a'], 'a'],
  ['a', ['', 'bb'], ''],
  ['x', [], undefined],
  ['Amount', ['bmount', 'amount'], 'amount'],
  ['abc', ['abC', 'abc'], 'abc'],
  ['abcd', ['', 'ab'], 'ab'],
  ['cat', ['act', 'car'], 'car'],
  ['abcd', ['abXX', 'abc', 'bcd'], 'abc'],
])('to %j, the nearest of %j is %j', (wanted, keys, nearest) => {
  expect(nearestKey(keys, wanted)).toBe(nearest);
});

test('compares five hundred keys by their first 64 characters, which costs little however long they are', () => {
  const others = (n: number): string[] => Array.from({ length: n }, () => 'zzz');
  expect(nearestKey([...others(499), 'b'], 'b')).toBe('b');
  expect(nearestKey([...others(500), 'b'], 'b')).toBe('zzz');
  const start = 'a'.repeat(64);
  expect(nearestKey([`${start.slice(1)}b`, `${start}b`], `${start}c`)).toBe(`${start}b`);
  expect(nearestKey([start, `${start.slice(1)}c`], `${start}${'c'.repeat(100_000)}`)).toBe(start);
});
