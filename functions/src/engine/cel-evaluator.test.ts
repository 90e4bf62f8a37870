import { describe, expect, test } from 'vitest';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { evaluateExpression } from './conditions.ts';
import type { Json } from './json.ts';

const input: Json = {
  a: 1,
  half: 0.5,
  name: 'Ada',
  none: null,
  yes: true,
  list: [3, 1, 2],
  empty: [],
  map: { x: 1, y: 2 },
  nothing: {},
  bad: [1, 'x', 2],
};
const yields = (text: string): Json => evaluateExpression(text.replaceAll('IN', 'workflow_input'), { workflow_input: input });
const reasonOf = (text: string): string =>
  kilnErrorOf(() => yields(text))
    .message.replace(/^The expression .* failed: /su, '')
    .replaceAll('workflow_input', 'IN');

describe('an expression', () => {
  test.each<[string, Json]>([
    // names and members
    ['IN.name', 'Ada'],
    ['IN["name"]', 'Ada'],
    ['IN.list[0]', 3],
    ['IN.list[2]', 2],
    ['IN.list[1.0]', 1],
    ['[[1, 2], [3]][0][1]', 2],
    ['{"a": {"b": 4}}.a.b', 4],
    ['type(IN.a)', 'int'],
    ['type([1.0][0])', 'double'],
    ['type({"a": 2.0}.a)', 'double'],
    ['type([IN.half * 2][0])', 'double'],
    ['[1.0, 2.0].map(x, type(x))', ['double', 'double']],
    ['[1.0].filter(x, true).map(x, type(x))', ['double']],
    ['([1.0] + [2]).map(x, type(x))', ['double', 'int']],
    ['IN.list.map(x, type(x))', ['int', 'int', 'int']],
    // logic
    ['true && true', true],
    ['true && false', false],
    ['false && true', false],
    ['false || false', false],
    ['false || true', true],
    ['true || false', true],
    ['!IN.yes', false],
    ['IN.nope == 1 || IN.yes', true],
    ['IN.yes || IN.nope == 1', true],
    ['IN.nope == 1 && false', false],
    ['false && IN.nope == 1', false],
    ['IN.a || IN.yes', true],
    ['IN.yes ? 1 : 2', 1],
    ['!IN.yes ? 1 : 2', 2],
    // comparing
    ['IN.a == 1', true],
    ['IN.a != 1', false],
    ['IN.a == 2', false],
    ['IN.a != 2', true],
    ['1 < 2', true],
    ['2 < 1', false],
    ['2 < 2', false],
    ['2 <= 2', true],
    ['3 <= 2', false],
    ['2 > 1', true],
    ['2 > 2', false],
    ['2 >= 2', true],
    ['1 >= 2', false],
    ['"a" < "b"', true],
    ['"b" <= "a"', false],
    // arithmetic
    ['-IN.a', -1],
    ['2 + 3', 5],
    ['2 - 3', -1],
    ['2 * 3', 6],
    ['7 / 2', 3],
    ['7 % 2', 1],
    ['"a" + "b"', 'ab'],
    ['IN.list + [4]', [3, 1, 2, 4]],
    // in
    ['1 in IN.list', true],
    ['9 in IN.list', false],
    ['1 in [1.0]', true],
    ['"x" in IN.map', true],
    ['"z" in IN.map', false],
    ['1 in IN.map', false],
    // has
    ['has(IN.name)', true],
    ['has(IN.nope)', false],
    ['has(IN.nope.deeper)', false],
    ['has(IN.none)', true],
    ['has(IN.none.x)', false],
    ['has(IN.name.x)', false],
    ['has(IN.list[2])', true],
    ['has(IN.list[3])', false],
    ['has(IN["na" + "me"])', true],
    // macros
    ['[1, 2].all(x, x > 0)', true],
    ['[1, 2].all(x, x > 1)', false],
    ['[].all(x, false)', true],
    ['[1, 2].exists(x, x > 1)', true],
    ['[1, 2].exists(x, x > 2)', false],
    ['[1, 2, 3].exists_one(x, x > 2)', true],
    ['[1, 2, 3].exists_one(x, x > 1)', false],
    ['[1, 2, 3].exists_one(x, x > 3)', false],
    ['[1, 2, 3].filter(x, x != 2)', [1, 3]],
    ['[1, 2, 3].map(x, x * 2)', [2, 4, 6]],
    ['[1, 2, 3].map(x, x != 2, x * 2)', [2, 6]],
    ['IN.map.map(k, k + "!")', ['x!', 'y!']],
    ['IN.map.exists(k, IN.map[k] == 2)', true],
    ['IN.bad.exists(x, x > 1)', true],
    ['IN.bad.all(x, x > 1)', false],
    // binding
    ['cel.bind(x, 2, x * x)', 4],
    ['cel.bind(x, 1, cel.bind(x, x + 1, x * 10))', 20],
    ['cel.bind(x, 1, cel.bind(y, 2, x + y))', 3],
    [
      '[1, 2].map(x, [10, 20].map(y, x + y))',
      [
        [11, 21],
        [12, 22],
      ],
    ],
    ['cel.bind(workflow_input, 5, workflow_input)', 5],
    // literals
    ['null', null],
    ['[1, "a", true, null, 1.5]', [1, 'a', true, null, 1.5]],
    ['{"a": 1, "b": [2]}', { a: 1, b: [2] }],
    ['9007199254740993 == 9007199254740993', true],
  ])('%s yields %j', (text, expected) => {
    expect(yields(text)).toEqual(expected);
  });

  test.each([
    ['nope', 'there is no nope here.'],
    ['IN.nam', 'IN has no "nam"; the nearest is "name".'],
    ['IN.nothing.x', 'IN.nothing has no "x"; it is empty.'],
    ['IN.list[3]', 'IN.list is a list of 3 items and has no [3].'],
    ['IN.list[0.5]', 'IN.list is a list of 3 items and has no [0.5].'],
    ['IN.list["0"]', 'IN.list is a list of 3 items and has no "0".'],
    ['IN.list[true]', 'IN.list is a list of 3 items and has no bool.'],
    ['IN.name.x', 'IN.name is string and has no "x".'],
    ['IN.map[1]', 'IN.map is map and has no [1].'],
    ['IN.none[0]', 'IN.none is null_type and has no [0].'],
    ['timestamp(0)["ms"]', 'timestamp(0) is timestamp and has no "ms".'],
    ['IN.a && true', 'IN.a is int, but true or false is needed.'],
    ['!IN.name', 'IN.name is string, but true or false is needed.'],
    ['IN.none ? 1 : 2', 'IN.none is null_type, but true or false is needed.'],
    ['true && IN.nam', 'IN has no "nam"; the nearest is "name".'],
    ['IN.nam && true', 'IN has no "nam"; the nearest is "name".'],
    ['IN.nam || false', 'IN has no "nam"; the nearest is "name".'],
    ['IN.bad.exists(x, x > 2)', 'string and int cannot be compared.'],
    ['IN.bad.all(x, x > 0)', 'string and int cannot be compared.'],
    ['[1, 2].exists(x, x)', 'x is int, but true or false is needed.'],
    ['[1, 2].filter(x, x)', 'x is int, but true or false is needed.'],
    ['[1, 2].exists_one(x, x)', 'x is int, but true or false is needed.'],
    ['[1, 2].map(x, x, x)', 'x is int, but true or false is needed.'],
    ['[1].exists()', 'exists takes a name and an expression.'],
    ['[1].map(x)', 'map takes a name and an expression.'],
    ['[1].all(1)', 'all takes a name and an expression.'],
    ['[1].filter(1, 2, 3)', 'filter takes a name and an expression.'],
    ['[].exists_one(x)', 'exists_one takes a name and an expression.'],
    ['cel.bind()', 'cel.bind takes a name, a value and an expression.'],
    ['cel.bind(x)', 'cel.bind takes a name, a value and an expression.'],
    ['cel.bind(x, 1)', 'cel.bind takes a name, a value and an expression.'],
    ['cel.bind(1, true)', 'cel.bind takes a name, a value and an expression.'],
    ['IN.name.map(x, x)', 'IN.name is string, but a list or map is needed.'],
    ['"a" in IN.name', '"in" needs a list or map on its right, not string.'],
    ['{1: 2}', 'a key of a map is a string, not int.'],
    ['nope(1)', 'there is no function nope(…).'],
    ['IN.nope()', 'there is no method .nope(…).'],
    ['IN.bind(x, 1, x)', 'there is no method .bind(…).'],
    ['"cel".bind(x, 1, x)', 'there is no method .bind(…).'],
    ['cel.nope(x, 1, x)', 'there is no method .nope(…).'],
    ['1 + "a"', 'int + string is not defined.'],
    ['"a" + 1', 'string + int is not defined.'],
    ['[1] + 1', 'list + int is not defined.'],
    ['1 + [1]', 'int + list is not defined.'],
    ['1 < "a"', 'int and string cannot be compared.'],
    [`"${'x'.repeat(78)}".a`, `"${'x'.repeat(78)}" is string and has no "a".`],
    [`"${'x'.repeat(79)}".a`, `"${'x'.repeat(79)}… is string and has no "a".`],
    ['b"x" == b"x"', 'bytes and unsigned numbers are not supported.'],
    ['9223372036854775808 > 0', 'a whole number is out of range (64 bit).'],
    [`IN.${'a'.repeat(100)}.b`, `IN has no "${'a'.repeat(100)}"; the nearest is "a".`],
    [`("${'a'.repeat(100)}" + "").b`, `"${'a'.repeat(79)}… is string and has no "b".`],
  ])('%s fails: %s', (text, reason) => {
    expect(reasonOf(text)).toBe(reason);
  });
});

describe('work', () => {
  const sized = (length: number): string => 'x'.repeat(length);

  test('is paid for, and too much of it cannot be absorbed', () => {
    const many = Array.from({ length: 2_000 }, () => 1);
    for (const text of [
      'IN.all(a, IN.all(b, true))',
      'IN.exists(a, IN.exists(b, false)) || true',
      'IN.exists(a, has(IN[9999]) || IN.exists(b, false))',
    ]) {
      const error = kilnErrorOf(() => evaluateExpression(text.replaceAll('IN', 'workflow_input'), { workflow_input: many }));
      expect(error.message).toContain('does too much work');
    }
  });

  test.each([
    ['comparing long texts', 'IN.l.exists(a, IN.l.exists(b, IN.t + "a" < IN.t))'],
    ['joining long texts', 'IN.l.exists(a, IN.l.exists(b, (IN.t + IN.t) == ""))'],
    ['going through long lists', 'IN.l.exists(a, IN.l.exists(b, (IN.l + IN.l + IN.l) == []))'],
  ])('%s costs', (_name, text) => {
    const given = { t: sized(20_000), l: Array.from({ length: 120 }, () => 1) };
    const error = kilnErrorOf(() => evaluateExpression(text.replaceAll('IN', 'workflow_input'), { workflow_input: given }));
    expect(error.message).toContain('does too much work');
  });

  test('of sixty times sixty turns is fine', () => {
    const given = Array.from({ length: 60 }, (_, at) => at);
    expect(evaluateExpression('workflow_input.all(a, workflow_input.all(b, a + b >= 0))', { workflow_input: given })).toBe(true);
  });
});
