import { describe, expect, test } from 'vitest';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { Duration, equals, fromJson, Fuel, inRange, isList, isMap, Timestamp, toJson, TypeName, typeOf } from './cel-values.ts';
import type { CelValue } from './cel-values.ts';

const same = (a: CelValue, b: CelValue): boolean => equals(a, b, new Fuel(1_000));

describe('equality', () => {
  test.each<[CelValue, CelValue, boolean]>([
    [1n, 1n, true],
    [1n, 1, true],
    [1, 1n, true],
    [1n, 1.5, false],
    [1.5, 1n, false],
    [2n ** 53n + 1n, 2 ** 53, false],
    [Number.NaN, Number.NaN, false],
    [1n, Number.POSITIVE_INFINITY, false],
    ['a', 'a', true],
    ['a', 'b', false],
    ['1', 1n, false],
    [true, true, true],
    [true, false, false],
    [null, null, true],
    [null, 0n, false],
    [[], [], true],
    [[1n, 'a'], [1, 'a'], true],
    [[1n, 2n], [1n, 3n], false],
    [[1n, 2n], [3n, 2n], false],
    [[1n], [1n, 2n], false],
    [[1n, 2n], [1n], false],
    [[null], [], false],
    [[], {}, false],
    [{}, [], false],
    [{}, {}, true],
    [{ a: 1n, b: [2n] }, { b: [2], a: 1 }, true],
    [{ a: 1n }, { a: 2n }, false],
    [{ a: 1n }, { b: 1n }, false],
    [{ a: null }, { b: null }, false],
    [{ a: 1n }, { a: 1n, b: 2n }, false],
    [{ a: 1n, b: 2n }, { a: 1n }, false],
    [{ a: { b: 1n } }, { a: { b: 2n } }, false],
    [new Timestamp(1), new Timestamp(1), true],
    [new Timestamp(1), new Timestamp(2), false],
    [new Timestamp(1), new Duration(1), false],
    [new Duration(1), new Duration(1), true],
    [new Duration(1), new Duration(2), false],
    [new Duration(1), new Timestamp(1), false],
    [new TypeName('int'), new TypeName('int'), true],
    [new TypeName('int'), new TypeName('list'), false],
    [new TypeName('int'), 'int', false],
    ['int', new TypeName('int'), false],
    [{ ms: 1 }, new Timestamp(1), false],
  ])('%o and %o: %s', (a, b, expected) => {
    expect(same(a, b)).toBe(expected);
  });

  test('costs as much as there is to compare', () => {
    const spent = (a: CelValue, b: CelValue): number => {
      for (let amount = 0; amount < 2_000; amount += 1) {
        try {
          equals(a, b, new Fuel(amount));
          return amount;
        } catch {
          continue;
        }
      }
      return Infinity;
    };
    expect(spent(1n, 1n)).toBe(1);
    expect(spent('x'.repeat(640), 'x'.repeat(640))).toBe(11);
    const list = Array.from({ length: 80 }, () => 1n);
    expect(spent(list, [...list])).toBe(91);
    const map = Object.fromEntries(list.map((value, at) => [String(at), value]));
    expect(spent(map, { ...map })).toBe(101);
  });
});

test.each<[CelValue, string]>([
  [true, 'bool'],
  [1.5, 'double'],
  [1n, 'int'],
  ['', 'string'],
  [null, 'null_type'],
  [[], 'list'],
  [{}, 'map'],
  [new Timestamp(0), 'timestamp'],
  [new Duration(0), 'duration'],
  [new TypeName('int'), 'type'],
])('the type of %o is %s', (value, name) => {
  expect(typeOf(value)).toBe(name);
  expect([isList(value), isMap(value)]).toEqual([name === 'list', name === 'map']);
});

test('numbers of JSON are ints where they are safe integers', () => {
  expect([1, -0, 1.5, 2 ** 53, 'a', null].map(fromJson)).toEqual([1n, 0n, 1.5, 2 ** 53, 'a', null]);
});

test('ints have 64 bits', () => {
  expect([2n ** 63n - 1n, -(2n ** 63n)].map(inRange)).toEqual([2n ** 63n - 1n, -(2n ** 63n)]);
  for (const value of [2n ** 63n, -(2n ** 63n) - 1n]) expect(kilnErrorOf(() => inRange(value)).message).toContain('out of range (64 bit)');
});

test('work that is paid for to the last is done; then there is no more', () => {
  const fuel = new Fuel(2);
  fuel.spend(2);
  expect(fuel.exhausted).toBe(false);
  expect(kilnErrorOf(() => fuel.spend(1)).message).toContain('does too much work; loop over fewer items');
  expect(fuel.exhausted).toBe(true);
});

describe('as JSON', () => {
  test('values come out as they went in', () => {
    const value: CelValue = {
      n: 1n,
      half: 1.5,
      list: ['a', null, true],
      at: new Timestamp(0),
      span: new Duration(90),
      type: new TypeName('int'),
    };
    const json = { n: 1, half: 1.5, list: ['a', null, true], at: '1970-01-01T00:00:00.000Z', span: 90, type: 'int' };
    expect(toJson(value, new Fuel(10))).toEqual(json);
    expect(kilnErrorOf(() => toJson(value, new Fuel(9))).message).toContain('does too much work');
  });

  test.each<[CelValue, string]>([
    [2n ** 53n, 'the whole number 9007199254740992 cannot be written as JSON without loss'],
    [-(2n ** 53n), 'the whole number -9007199254740992 cannot be written as JSON without loss'],
    [Number.NaN, 'the result NaN cannot be written as JSON'],
    [[Number.NEGATIVE_INFINITY], 'the result -Infinity cannot be written as JSON'],
  ])('%s is refused', (value, reason) => {
    expect(kilnErrorOf(() => toJson(value, new Fuel(9))).message).toBe(reason);
  });
});
