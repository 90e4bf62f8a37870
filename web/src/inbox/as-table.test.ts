import { expect, test } from 'vitest';
import { tableOf } from './as-table.ts';

test('a list of flat things is a table, with a gap where one of them lacks something', () => {
  expect(
    tableOf([
      { text: 'Service', price: 3800 },
      { text: 'Travel', paid: true },
    ]),
  ).toEqual({
    columns: ['text', 'price', 'paid'],
    rows: [
      ['Service', 3800, undefined],
      ['Travel', undefined, true],
    ],
  });
});

test.each([
  ['one thing', { a: 1 }],
  ['nothing', []],
  ['things without fields', [{}]],
  ['plain values', [1, 2]],
  ['nested things', [{ a: { b: 1 } }]],
  ['too many columns', [Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`c${n}`, n]))]],
  ['too many rows', Array.from({ length: 51 }, (_, n) => ({ n }))],
])('%s: no table', (_, value) => {
  expect(tableOf(value)).toBeUndefined();
});
