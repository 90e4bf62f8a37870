import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KilnError } from '../model/errors.ts';
import { kilnErrorOf, thrownBy } from '../testing/kiln-error.ts';
import { checkCondition, conditionReferences, evaluateCondition, evaluateExpression } from './conditions.ts';
import { parseJson } from './json.ts';
import type { Json } from './json.ts';

const variables: Record<string, Json> = {
  workflow_input: {
    amount: 1000.5,
    whole: 1000,
    zero: 0,
    name: 'Ada',
    empty: '',
    nothing: null,
    yes: true,
    list: [1, 2.5, 'x', null, [3]],
    items: [
      { id: 1, ok: true, price: 10 },
      { id: 2, ok: false, price: 2.5 },
      { id: 5, ok: true, price: 0 },
    ],
    map: { 'a.b': 1, constructor: 2, in: 3 },
    when: '2026-11-01T12:30:15Z',
  },
  step: { fetch: { total: 3, body: { status: 'open' } }, 'my-step': { x: 1 } },
  loop_item: { field: 'x' },
  loop_index: 2,
};

test.each<[string, boolean]>([
  ['workflow_input.amount > 1000', true],
  ['workflow_input.whole > 1000', false],
  ['workflow_input.whole >= 1000', true],
  ['workflow_input.whole == 1000.0', true],
  ['workflow_input.amount == 1000.5', true],
  ['workflow_input.amount <= 1000', false],
  ['1000 < workflow_input.amount', true],
  ['workflow_input.whole in [1000, 2]', true],
  ['workflow_input.zero == 0 && workflow_input.empty == "" && workflow_input.nothing == null', true],
  ['workflow_input.name == null', false],
  ['workflow_input.nothing != "x"', true],
  ['workflow_input.name == 5', false],
  ['workflow_input.yes', true],
  ['!workflow_input.yes', false],
  ['workflow_input.list[0] == 1 && workflow_input.list[1] == 2.5', true],
  ['workflow_input.list == [1, 2.5, "x", null, [3]]', true],
  ['workflow_input.items[0] == {"id": 1, "ok": true, "price": 10}', true],
  ['workflow_input.items.exists(i, i.id == 5 && i.ok)', true],
  ['workflow_input.items.all(i, i.price > 0)', false],
  ['workflow_input.items.exists_one(i, i.price == 2.5)', true],
  ['workflow_input.items.filter(i, i.ok).size() == 2', true],
  ['workflow_input.items.map(i, i.price).exists(p, p > 9)', true],
  ['workflow_input.items.map(i, i.ok, i.id) == [1, 5]', true],
  ['workflow_input.map.all(k, k.size() > 0)', true],
  ['"a.b" in workflow_input.map && workflow_input.map["a.b"] == 1', true],
  ['workflow_input.map["in"] == 3 && workflow_input.map.constructor == 2', true],
  ['"toString" in workflow_input.map', false],
  ['"length" in workflow_input.map', false],
  ['step.fetch.body.status == "open"', true],
  ['step["my-step"].x == 1', true],
  ['has(step.fetch) && !has(step.later)', true],
  ['has(step["my-step"].x) && !has(step["my-step"].y.z)', true],
  ['has(workflow_input.nothing) && !has(workflow_input.nope.deeper.still)', true],
  ['has(workflow_input.items[2].id) && !has(workflow_input.items[3].id)', true],
  ['loop_item.field == "x" && loop_index == 2', true],
  ['loop_index % 2 == 0', true],
  ['workflow_input.name.startsWith("A") && workflow_input.name.matches("^[A-Z][a-z]+$")', true],
  ['workflow_input.name.size() == 3 && size("🙂") == 1', true],
  ['"ADA" == workflow_input.name.upperAscii() && workflow_input.name.contains("d")', true],
  ['type(workflow_input.whole) == int && type(workflow_input.amount) == double', true],
  ['type(workflow_input.nothing) == null_type && type(workflow_input.list) == list', true],
  ['timestamp(workflow_input.when) > timestamp("2026-01-01T00:00:00Z")', true],
  ['timestamp(workflow_input.when).getHours() == 12 && timestamp(workflow_input.when).getHours("Asia/Kolkata") == 18', true],
  ['timestamp(workflow_input.when).getMinutes("Asia/Kolkata") == 0 && timestamp(workflow_input.when).getDayOfWeek() == 0', true],
  ['timestamp(workflow_input.when) + duration("1h30m") == timestamp("2026-11-01T14:00:15Z")', true],
  ['timestamp("2026-11-02T00:00:00Z") - timestamp("2026-11-01T00:00:00Z") == duration("24h")', true],
  ['duration("90m").getHours() == 1', true],
  ['cel.bind(n, workflow_input.whole * 2, n == 2000 && n / 3 == 666)', true],
  ['workflow_input.whole * 1.19 > 1189.9 && workflow_input.whole + 0.5 == workflow_input.amount', true],
  ['int("42") == 42 && double("1.5") == 1.5 && string(42) == "42" && string(1.5) == "1.5"', true],
  ['int(workflow_input.amount) == 1000', true],
  ['9007199254740993 > 9007199254740992', true],
  ['["a", "b"].join("-") == "a-b" && "a,b,c".split(",").size() == 3 && "a,b,c".split(",", 2)[1] == "b,c"', true],
  ['"abc".substring(1, 2) == "b" && "abcabc".lastIndexOf("b") == 4 && "abcabc".indexOf("b", 2) == 4', true],
  ['true || workflow_input.nope', true],
  ['workflow_input.nope == 1 || true', true],
  ['workflow_input.nope == 1 && false', false],
  ['workflow_input.list.exists(x, x > 2)', true],
  ['workflow_input.whole > 999 ? workflow_input.yes : false', true],
])('%s is %s', (text, expected) => {
  expect(evaluateCondition(text, variables)).toBe(expected);
  expect(checkCondition(text)).toEqual([]);
});

test.each<[string, Json]>([
  ['workflow_input.whole', 1000],
  ['workflow_input.amount', 1000.5],
  [
    'workflow_input.items.map(i, {"n": i.id, "double": i.price * 2})',
    [
      { n: 1, double: 20 },
      { n: 2, double: 5 },
      { n: 5, double: 0 },
    ],
  ],
  ['[1, 2.5, "x", null, true, []]', [1, 2.5, 'x', null, true, []]],
  ['workflow_input.list', [1, 2.5, 'x', null, [3]]],
  ['[double(4)][0] / 8', 0.5],
  ['7 / 2', 3],
  ['-7 % 3', -1],
  ['timestamp("2026-11-01T12:00:00Z")', '2026-11-01T12:00:00.000Z'],
  ['duration("1h")', 3_600_000],
  ['{"__proto__": 1, "a": [2]}', parseJson('{"__proto__":1,"a":[2]}')],
])('the expression %s yields %j', (text, expected) => {
  expect(evaluateExpression(text, variables)).toEqual(expected);
  expect(checkCondition(text, { expect: 'any' })).toEqual([]);
});

test.each([
  ['workflow_input.nam == "x"', 'workflow_input has no "nam"; the nearest is "name"'],
  ['step.later.x == 1', 'step has no "later"'],
  ['workflow_input.list[9] == 1', 'workflow_input.list is a list of 5 items and has no [9]'],
  ['workflow_input.name.x == 1', 'workflow_input.name is string and has no "x"'],
  ['workflow_input.nothing.x == 1', 'workflow_input.nothing is null_type'],
  ['workflow_input.name > 5', 'string and int cannot be compared'],
  ['workflow_input.name + 5 == "x"', 'string + int is not defined'],
  ['workflow_input.whole && true', 'workflow_input.whole is int, but true or false is needed'],
  ['workflow_input.whole / workflow_input.zero == 1', 'division by zero'],
  ['workflow_input.name.all(x, true)', 'workflow_input.name is string, but a list or map is needed'],
  ['event.x == 1', 'there is no event here'],
  ['9223372036854775807 + workflow_input.whole > 0', 'out of range'],
  ['timestamp(workflow_input.name) == timestamp(workflow_input.name)', 'a date is ISO 8601 text with a zone'],
  ['timestamp(workflow_input.when).getHours("Mars/Olympus") == 1', 'is not a time zone'],
  ['workflow_input.items.exists(i, i.nope)', 'has no "nope"'],
  ['workflow_input.name.matches(workflow_input.name + "(?=x)")', 'look-around and back-references are not supported'],
])('%s fails and says why', (text, reason) => {
  const error = kilnErrorOf(() => evaluateCondition(text, variables));
  expect(error.code).toBe('condition.failed');
  expect(error.message).toContain(reason);
  expect(error.message).toContain(text);
});

test('a condition that does not yield true or false is an error of type', () => {
  expect(kilnErrorOf(() => evaluateCondition('workflow_input.whole', variables)).code).toBe('condition.type');
  expect(kilnErrorOf(() => evaluateCondition('workflow_input.nothing', variables)).message).toContain('yields null');
});

test.each(['1 / 0.0', '9007199254740993', 'double("1e400")'])('%s cannot be written as JSON', (text) => {
  expect(kilnErrorOf(() => evaluateExpression(text, {})).code).toBe('condition.failed');
});

describe('check', () => {
  test.each([
    ['', 'condition.syntax'],
    ['workflow_input.a ==', 'condition.syntax'],
    ['workflow_input.a = 1', 'condition.syntax'],
    ['"open', 'condition.syntax'],
    ['step[workflow_input.a].x == 1', 'condition.syntax'],
    ['size(step) == 1', 'condition.syntax'],
    ['step == null', 'condition.syntax'],
    ['"fetch" in step', 'condition.syntax'],
    ['has(workflow_input)', 'condition.syntax'],
    ['has(1)', 'condition.syntax'],
    ['b"abc" == b"abc"', 'condition.syntax'],
    ['1u == 1u', 'condition.syntax'],
    ['bytes("x").json() == null', 'condition.syntax'],
    ['nope(1) == 1', 'condition.syntax'],
    ['workflow_input.a.nope()', 'condition.syntax'],
    ['workflow_input.a.matches("(?=x)")', 'condition.syntax'],
    ['workflow_input.a.matches("[")', 'condition.syntax'],
    ['workflow_input.a.exists(1, true)', 'condition.syntax'],
    ['workflow_input.`a-b` == 1', 'condition.syntax'],
    ['constructor.constructor("return process")()', 'condition.syntax'],
    ['"x".repeat(9) == ""', 'condition.syntax'],
    ['('.repeat(60) + '1 == 1' + ')'.repeat(60), 'condition.syntax'],
    ['!'.repeat(3_900) + 'true', 'condition.syntax'],
    [`true${' || true'.repeat(600)}`.slice(0, 4_100), 'condition.syntax'],
    ['workflow_input.a'.repeat(300), 'condition.syntax'],
    ['foo == 1', 'condition.type'],
    ['1 == "a"', 'condition.type'],
    ['1 < "a"', 'condition.type'],
    ['"a" + 1 == "a1"', 'condition.type'],
    ['workflow_input.a && 1', 'condition.type'],
    ['workflow_input.a ? 1 : "x"', 'condition.type'],
    ['1 + 2', 'condition.type'],
    ['"yes"', 'condition.type'],
    ['[true]', 'condition.type'],
    ['workflow_input.a.size()', 'condition.type'],
    ['has(workflow_input.a) + 1', 'condition.type'],
  ])('%s is found to be wrong beforehand', (text, code) => {
    const problems = checkCondition(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.every((problem) => problem.code === code && problem.path === '')).toBe(true);
    expect(problems.some((problem) => problem.message.includes('Has('))).toBe(false);
  });

  test('all problems come at once, each with its place', () => {
    const problems = checkCondition('nope(1) == 1 && step[loop_item] == 2 && workflow_input.x.nope()');
    expect(problems.map((problem) => problem.message)).toEqual([
      'there is no function nope(…), at character 0',
      'the id of a step must be written out: step.id or step["id"], at character 16',
      'there is no method .nope(…), at character 40',
    ]);
  });

  test('an expression that may yield anything is not held to true or false', () => {
    expect(checkCondition('workflow_input.a + 1', { expect: 'any' })).toEqual([]);
    expect(checkCondition('"yes"', { expect: 'any' })).toEqual([]);
  });
});

test('the references of an expression', () => {
  expect(conditionReferences('step.a.x == 1 && step["b-c"].y.exists(i, i == step.d) || workflow_input.z')).toEqual({
    stepIds: ['a', 'b-c', 'd'],
    roots: ['step', 'workflow_input'],
  });
  expect(conditionReferences('has(step.a.x) && loop_item.y in event.z')).toEqual({ stepIds: ['a'], roots: ['step', 'loop_item', 'event'] });
  expect(conditionReferences('[1].exists(step, step == 1) && cel.bind(run, 1, run == 1)')).toEqual({ stepIds: [], roots: [] });
  expect(conditionReferences('{"a": step.b}.a == 1 ? -step.c > 0 : !step.d')).toEqual({ stepIds: ['b', 'c', 'd'], roots: ['step'] });
  expect(kilnErrorOf(() => conditionReferences('step[loop_item].x == 1')).code).toBe('condition.syntax');
  expect(kilnErrorOf(() => conditionReferences('1 +')).code).toBe('condition.syntax');
});

describe('V9', () => {
  test.each(['__proto__', 'constructor', 'toString', 'length', 'valueOf', 'hasOwnProperty'])('V9 %s is no property of a value', (name) => {
    for (const root of ['workflow_input', 'workflow_input.list', 'workflow_input.name', 'step.fetch']) {
      const text = `${root}["${name}"] == null`;
      expect(kilnErrorOf(() => evaluateCondition(text, variables)).code).toBe('condition.failed');
    }
    expect(evaluateCondition(`has(workflow_input["${name}"])`, variables)).toBe(false);
  });

  test('V9 an own key __proto__ is read as data, and making a map changes no prototype', () => {
    const input = parseJson('{"__proto__":{"x":1}}');
    expect(evaluateCondition('workflow_input["__proto__"].x == 1', { workflow_input: input })).toBe(true);
    evaluateExpression('{"__proto__": {"polluted": true}}', {});
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('bounds', () => {
  const many = Array.from({ length: 10_000 }, (_, index) => index);
  const long = 'a'.repeat(1_000_000);

  test('a loop over 10,000 items is fine', () => {
    expect(evaluateCondition('workflow_input.exists(i, i == 9999)', { workflow_input: many })).toBe(true);
    expect(evaluateExpression('workflow_input.filter(i, i % 2 == 0).map(i, i * 2).size()', { workflow_input: many })).toBe(5_000);
  });

  test.each([
    'workflow_input.exists(a, workflow_input.exists(b, workflow_input.exists(c, a + b + c < 0)))',
    'workflow_input.map(a, workflow_input.map(b, [a, b])).size() == 1',
    'workflow_input.all(a, workflow_input.all(b, a == b || true))',
    'workflow_input.filter(a, workflow_input == workflow_input.filter(b, true)).size() == 0',
    'workflow_input.exists(a, workflow_input.exists(b, a + b < 0)) || true',
    'workflow_input.exists(a, a in workflow_input.map(b, b + 10000)) || true',
  ])('%s over 10,000 items is stopped, and the error cannot be absorbed', (text) => {
    const error = kilnErrorOf(() => evaluateExpression(text, { workflow_input: many }));
    expect(error.message).toContain('does too much work');
  });

  test.each([
    [`${'cel.bind(a, '.repeat(24)}[1]${', a + a)'.repeat(24)}.size() > 0`, 'lists of at most'],
    [`${'cel.bind(a, '.repeat(24)}"x"${', a + a)'.repeat(24)}.size() > 0`, 'at most 1000000 characters'],
    ['workflow_input.split("").size() > 0', 'too much work'],
    ['[workflow_input, workflow_input].join("") == ""', 'at most 1000000 characters'],
    ['[1, 2, 3].all(x, workflow_input.matches("^(a|aa)+[bc]$"))', 'too much work'],
  ])('growth of texts and lists is stopped: %s', (text, reason) => {
    expect(kilnErrorOf(() => evaluateExpression(text, { workflow_input: long })).message).toContain(reason);
  });

  test('X a pattern that is exponential elsewhere is linear here', () => {
    expect(evaluateCondition('workflow_input.matches("^(a+)+$")', { workflow_input: `${'a'.repeat(50_000)}!` })).toBe(false);
  });
});

describe('properties', () => {
  const word = fc.constantFrom(
    'workflow_input',
    'step',
    'loop_item',
    '.a',
    '.b',
    '["a"]',
    '[0]',
    '[x]',
    '1',
    '2.5',
    '"s"',
    'null',
    'true',
    '==',
    '!=',
    '<',
    '&&',
    '||',
    '+',
    '-',
    '*',
    '/',
    '%',
    '!',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '?',
    ' in ',
    '.exists(x, ',
    '.map(x, ',
    '.all(x, ',
    'x',
    'has(',
    'size(',
    '.size()',
    '.matches(',
    'type(',
    'timestamp(',
    '.__proto__',
    '.constructor',
    'cel.bind(y, ',
    'y',
    '\\',
    '"',
    "'",
    'é',
    '🙂',
  );
  const expression = fc.array(word, { maxLength: 14 }).map((words) => words.join(''));

  test('any text is checked and evaluated, or refused with a code; what passes the check does not fail as syntax; Object.prototype stays as it is', () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(fc.oneof(expression, fc.string()), fc.jsonValue({ maxDepth: 3 }), (text, input) => {
        const problems = checkCondition(text, { expect: 'any' });
        const error = thrownBy(() => evaluateExpression(text, { workflow_input: input as Json, step: { a: input as Json }, loop_item: 1 }));
        const allowed = problems.length === 0 ? ['condition.failed'] : ['condition.failed', 'condition.syntax'];
        expect(error === undefined || (error instanceof KilnError && allowed.includes(error.code))).toBe(true);
      }),
      { numRuns: 3_000 },
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });

  test('every JSON value equals itself, is found in a list, and comes back unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const given = { workflow_input: value as Json };
        expect(evaluateCondition('workflow_input == workflow_input && workflow_input in [workflow_input]', given)).toBe(true);
        expect(JSON.stringify(evaluateExpression('[workflow_input][0]', given))).toBe(JSON.stringify(value));
      }),
      { numRuns: 500 },
    );
  });

  test('numbers of JSON compare as in JavaScript, whatever mixture of int and double they are', () => {
    const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger());
    fc.assert(
      fc.property(number, number, (a, b) => {
        const given = { workflow_input: [a, b] };
        for (const [operator, expected] of [
          ['<', a < b],
          ['<=', a <= b],
          ['>', a > b],
          ['>=', a >= b],
          ['==', a === b],
          ['!=', a !== b],
        ] as const) {
          expect(evaluateCondition(`workflow_input[0] ${operator} workflow_input[1]`, given)).toBe(expected);
        }
      }),
      { numRuns: 500 },
    );
  });
});
