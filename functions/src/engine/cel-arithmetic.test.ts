import { expect, test } from 'vitest';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { arithmetic, negate, orderOf } from './cel-arithmetic.ts';
import { Duration, Timestamp } from './cel-values.ts';
import type { CelValue } from './cel-values.ts';

const at = (ms: number): Timestamp => new Timestamp(ms);
const span = (ms: number): Duration => new Duration(ms);
type Operator = Parameters<typeof arithmetic>[0];

test.each<[CelValue, Operator, CelValue, CelValue]>([
  [7n, '+', 2n, 9n],
  [7n, '-', 2n, 5n],
  [7n, '*', 2n, 14n],
  [7n, '/', 2n, 3n],
  [-7n, '/', 2n, -3n],
  [7n, '%', 2n, 1n],
  [-7n, '%', 2n, -1n],
  [0n, '/', 2n, 0n],
  [7, '+', 2n, 9],
  [7n, '-', 2.5, 4.5],
  [1.5, '*', 2, 3],
  [7, '/', 2n, 3.5],
  [1, '/', 0, Number.POSITIVE_INFINITY],
  [at(100), '+', span(5), at(105)],
  [at(100), '-', span(5), at(95)],
  [span(5), '+', at(100), at(105)],
  [span(5), '+', span(3), span(8)],
  [span(5), '-', span(3), span(2)],
  [at(100), '-', at(40), span(60)],
  [at(8.64e15 - 1), '+', span(1), at(8.64e15)],
])('%o %s %o is %o', (left, operator, right, expected) => {
  const result = arithmetic(operator, left, right);
  expect(result).toStrictEqual(expected);
});

test.each<[CelValue, Operator, CelValue, string]>([
  [1n, '/', 0n, 'division by zero'],
  [1n, '%', 0n, 'division by zero'],
  [2n ** 62n, '+', 2n ** 62n, 'out of range'],
  [-(2n ** 62n), '-', 2n ** 62n + 1n, 'out of range'],
  [2n ** 62n, '*', 2n, 'out of range'],
  [-(2n ** 63n), '/', -1n, 'out of range'],
  [1.5, '%', 1n, 'double % int is not defined'],
  [1n, '+', 'a', 'int + string is not defined'],
  ['a', '-', 1n, 'string - int is not defined'],
  [null, '*', 1n, 'null_type * int is not defined'],
  [at(1), '+', at(1), 'timestamp + timestamp is not defined'],
  [span(1), '-', at(1), 'duration - timestamp is not defined'],
  [at(1), '*', span(1), 'timestamp * duration is not defined'],
  [span(1), '/', span(1), 'duration / duration is not defined'],
  [at(1), '+', 1n, 'timestamp + int is not defined'],
  [1n, '+', span(1), 'int + duration is not defined'],
  [at(8.64e15), '+', span(1), 'the timestamp is out of range'],
  [at(-8.64e15), '-', span(1), 'the timestamp is out of range'],
])('%o %s %o is refused', (left, operator, right, reason) => {
  expect(kilnErrorOf(() => arithmetic(operator, left, right)).message).toContain(reason);
});

test('a number has a negative, and nothing else', () => {
  expect([negate(5n), negate(-1.5)]).toEqual([-5n, 1.5]);
  expect(kilnErrorOf(() => negate(-(2n ** 63n))).message).toContain('out of range');
  expect(kilnErrorOf(() => negate('a')).message).toBe('- needs a number, not string');
});

test.each<[CelValue, CelValue]>([
  [1n, 2n],
  [1n, 1.5],
  [0.5, 1n],
  [2n ** 53n, 2n ** 53n + 1n],
  ['a', 'b'],
  ['', 'a'],
  [false, true],
  [at(1), at(2)],
  [span(1), span(2)],
])('%o comes before %o', (less, more) => {
  expect([Math.sign(orderOf(less, more)), Math.sign(orderOf(more, less)), orderOf(less, less), orderOf(more, more)]).toEqual([-1, 1, 0, 0]);
});

test('what is no number has no order; what is of two kinds cannot be compared', () => {
  expect(orderOf(Number.NaN, 1)).toBeNaN();
  expect(orderOf(1n, Number.NaN)).toBeNaN();
  for (const [left, right, reason] of [
    [1n, 'a', 'int and string'],
    ['a', 1n, 'string and int'],
    [true, 1n, 'bool and int'],
    ['a', true, 'string and bool'],
    [true, 'a', 'bool and string'],
    [at(1), span(1), 'timestamp and duration'],
    [span(1), at(1), 'duration and timestamp'],
    [at(1), 1n, 'timestamp and int'],
    [1n, span(1), 'int and duration'],
    [null, null, 'null_type and null_type'],
    [[], [], 'list and list'],
  ] as const) {
    expect(kilnErrorOf(() => orderOf(left, right)).message).toBe(`${reason} cannot be compared`);
  }
});
