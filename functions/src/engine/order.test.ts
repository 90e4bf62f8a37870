import { expect, test } from 'vitest';
import { holds } from './order.ts';

test.each([
  ['<', [true, false, false]],
  ['<=', [true, true, false]],
  ['>', [false, false, true]],
  ['>=', [false, true, true]],
] as const)('%s holds of less, equal, greater: %j', (operator, expected) => {
  expect([-1, 0, 1].map((order) => holds(order, operator))).toEqual(expected);
});
