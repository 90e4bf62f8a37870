import { expect, test } from 'vitest';
import { calm } from './calm-list.ts';

const live = (...ids: string[]): { id: string; value: string }[] => ids.map((id) => ({ id, value: `${id}!` }));
const known = new Map([
  ['a', 'a'],
  ['b', 'b'],
]);

test('new rows are counted, shown rows stay in place and are brought up to date', () => {
  expect(calm(['a', 'b'], known, live('n2', 'n1', 'a', 'b'))).toEqual({ rows: ['a!', 'b!'], fresh: 2 });
});

test('a row that left the list keeps its last state', () => {
  expect(calm(['a', 'b'], known, live('b'))).toEqual({ rows: ['a', 'b!'], fresh: 0 });
});

test('rows that only moved up from the next page are not new', () => {
  expect(calm(['a', 'b'], known, live('b', 'older'))).toEqual({ rows: ['a', 'b!'], fresh: 0 });
});
