import { describe, expect, test } from 'vitest';
import { KilnError } from '../model/errors.ts';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { checkCondition, conditionReferences, evaluateCondition, evaluateExpression } from './conditions.ts';

const messages = (text: string): string[] => checkCondition(text).map(({ message }) => message);

describe('what is wrong with a condition is said, with its place', () => {
  test.each<[string, string[]]>([
    ['workflow_input.a == b"x"', ['bytes and unsigned numbers are not supported, at character 20']],
    [
      '1u == 2u',
      ['bytes and unsigned numbers are not supported, at character 0', 'bytes and unsigned numbers are not supported, at character 6'],
    ],
    ['step == null', ['step is followed by the id of one step: step.id or step["id"], at character 0']],
    ['[step].size() == 1', ['step is followed by the id of one step: step.id or step["id"], at character 1']],
    ['{"a": step}.a == 1', ['step is followed by the id of one step: step.id or step["id"], at character 6']],
    ['!(step)', ['step is followed by the id of one step: step.id or step["id"], at character 2']],
    ['-step == 1', ['step is followed by the id of one step: step.id or step["id"], at character 1']],
    ['step[1].x == 1', ['the id of a step must be written out: step.id or step["id"], at character 0']],
    ['step[run.x].y == 1', ['the id of a step must be written out: step.id or step["id"], at character 0']],
    [
      'step[step] == 1',
      [
        'step is followed by the id of one step: step.id or step["id"], at character 5',
        'the id of a step must be written out: step.id or step["id"], at character 0',
      ],
    ],
    ['has(workflow_input)', ['has takes one path: has(workflow_input.a.b), at character 0']],
    ['true && has(run.a, run.b)', ['has takes one path: has(workflow_input.a.b), at character 8']],
    ['has()', ['has takes one path: has(workflow_input.a.b), at character 0']],
    ['nope(1)', ['there is no function nope(…), at character 0']],
    ['size(nope(1)) == 1', ['there is no function nope(…), at character 5']],
    ['run.x.nope()', ['there is no method .nope(…), at character 0']],
    ['run.x.contains(nope(1))', ['there is no function nope(…), at character 15']],
    ['nope(1).contains("x")', ['there is no function nope(…), at character 0']],
    [
      'run.x.matches("[")',
      ['the pattern is not valid (missing closing ]: `[`); look-around and back-references are not supported, at character 14'],
    ],
    ['run.x.matches("(?=x)")', ['look-around and back-references are not supported']],
    ['run.list.exists(i, nope(i))', ['there is no function nope(…), at character 19']],
    [
      'run.list.map(i, nope(i), nope(i)) == []',
      ['there is no function nope(…), at character 16', 'there is no function nope(…), at character 25'],
    ],
    [
      '[nope(1)].all()',
      ['there is no function nope(…), at character 1', 'all takes a name and an expression: list.all(item, …), at character 0'],
    ],
    [
      '[nope(1)].all(x)',
      ['there is no function nope(…), at character 1', 'all takes a name and an expression: list.all(item, …), at character 0'],
    ],
    [
      '[nope(1)].all(1)',
      ['there is no function nope(…), at character 1', 'all takes a name and an expression: list.all(item, …), at character 0'],
    ],
    [
      '[nope(1)].all(1, 2, 3)',
      ['there is no function nope(…), at character 1', 'all takes a name and an expression: list.all(item, …), at character 0'],
    ],
    [
      '[nope(1)].exists()',
      ['there is no function nope(…), at character 1', 'exists takes a name and an expression: list.exists(item, …), at character 0'],
    ],
    [
      '[nope(1)].exists(x)',
      ['there is no function nope(…), at character 1', 'exists takes a name and an expression: list.exists(item, …), at character 0'],
    ],
    [
      '[nope(1)].exists(1)',
      ['there is no function nope(…), at character 1', 'exists takes a name and an expression: list.exists(item, …), at character 0'],
    ],
    [
      '[nope(1)].exists(1, 2, 3)',
      ['there is no function nope(…), at character 1', 'exists takes a name and an expression: list.exists(item, …), at character 0'],
    ],
    [
      '[nope(1)].exists_one()',
      [
        'there is no function nope(…), at character 1',
        'exists_one takes a name and an expression: list.exists_one(item, …), at character 0',
      ],
    ],
    [
      '[nope(1)].exists_one(x)',
      [
        'there is no function nope(…), at character 1',
        'exists_one takes a name and an expression: list.exists_one(item, …), at character 0',
      ],
    ],
    [
      '[nope(1)].exists_one(1)',
      [
        'there is no function nope(…), at character 1',
        'exists_one takes a name and an expression: list.exists_one(item, …), at character 0',
      ],
    ],
    [
      '[nope(1)].exists_one(1, 2, 3)',
      [
        'there is no function nope(…), at character 1',
        'exists_one takes a name and an expression: list.exists_one(item, …), at character 0',
      ],
    ],
    [
      '[nope(1)].map()',
      ['there is no function nope(…), at character 1', 'map takes a name and an expression: list.map(item, …), at character 0'],
    ],
    [
      '[nope(1)].map(x)',
      ['there is no function nope(…), at character 1', 'map takes a name and an expression: list.map(item, …), at character 0'],
    ],
    [
      '[nope(1)].map(1)',
      ['there is no function nope(…), at character 1', 'map takes a name and an expression: list.map(item, …), at character 0'],
    ],
    [
      '[nope(1)].filter()',
      ['there is no function nope(…), at character 1', 'filter takes a name and an expression: list.filter(item, …), at character 0'],
    ],
    [
      '[nope(1)].filter(x)',
      ['there is no function nope(…), at character 1', 'filter takes a name and an expression: list.filter(item, …), at character 0'],
    ],
    [
      '[nope(1)].filter(1)',
      ['there is no function nope(…), at character 1', 'filter takes a name and an expression: list.filter(item, …), at character 0'],
    ],
    [
      '[nope(1)].filter(1, 2, 3)',
      ['there is no function nope(…), at character 1', 'filter takes a name and an expression: list.filter(item, …), at character 0'],
    ],
    ['cel.bind()', ['cel.bind takes a name, a value and an expression, at character 0']],
    ['cel.bind(x)', ['cel.bind takes a name, a value and an expression, at character 0']],
    ['cel.bind(1)', ['cel.bind takes a name, a value and an expression, at character 0']],
    ['cel.bind(1, true)', ['cel.bind takes a name, a value and an expression, at character 0']],
    ['cel.bind(x, true)', ['cel.bind takes a name, a value and an expression, at character 0']],
    ['cel.bind(x, nope(1), nope(x))', ['there is no function nope(…), at character 12', 'there is no function nope(…), at character 21']],
  ])('%s', (text, expected) => {
    const found = checkCondition(text);
    expect(found.map(({ path, code }) => [path, code])).toEqual(expected.map(() => ['', 'condition.syntax']));
    for (const [at, words] of expected.entries()) expect(found[at]?.message).toContain(words);
    const error = kilnErrorOf(() => conditionReferences(text));
    expect([error.code, error.message]).toEqual(['condition.syntax', `${found[0]?.message ?? ''}.`]);
    expect(error.data).toEqual({ problems: found });
  });

  test('a text that cannot be read, with what stopped the reader', () => {
    expect(messages('1 +')).toEqual([expect.stringMatching(/^The expression cannot be read: .+, at character 3\.$/)]);
    expect(messages('run.a = 1')[0]).toMatch(/^The expression cannot be read: [^\n]+, at character 6\.$/);
    expect(messages(`${'!'.repeat(3_000)}true`)[0]).toMatch(/^The expression cannot be read: .+\.$/);
  });

  test.each(['run.?x == 1', 'run[?"x"] == 1'])('%s, which other dialects have', (text) => {
    expect(checkCondition(text)).toMatchObject([{ code: 'condition.syntax' }]);
  });

  test('a text of 4,000 characters is read, one more is not', () => {
    const long = (length: number): string => `"${'x'.repeat(length - 8)}" != ""`.slice(0, length);
    expect(messages(long(4_000))).toEqual([]);
    expect(messages(long(4_001))).toEqual(['The expression is longer than 4000 characters.']);
  });

  test('what it would yield, where that cannot be true or false', () => {
    expect(messages('1 + 2')).toEqual(['the expression yields int, but a condition must yield true or false']);
    expect(messages('"yes"')).toEqual(['the expression yields string, but a condition must yield true or false']);
    expect(messages('workflow_input.a')).toEqual([]);
    expect(checkCondition('1 + 2', { expect: 'bool' })).toHaveLength(1);
    expect(checkCondition('1 + 2', { expect: 'any' })).toEqual([]);
    expect(messages('has(run.a) + has(run.b) == 1')[0]).not.toContain('Has');
    expect(messages('1 == "a"')[0]).toMatch(/, at character \d+$/);
  });
});

test.each([
  'has(run["a"])',
  'has(run.list[0])',
  'has(step["my-step"].x)',
  'run.x.contains("[")',
  'run.x.matches(run.y)',
  'run.list.exists(contains, contains == 1)',
])('there is nothing wrong with %s', (text) => {
  expect(messages(text)).toEqual([]);
});

describe('ints and doubles of JSON are one type', () => {
  test.each(['1 + 1.5 > 0.0', '1.5 - 1 > 0.0', '2 * 1.5 > 0.0', '1.5 / 2 > 0.0', '1.5 + 1 > 0.0', '1 / 2.0 > 0.0'])('%s', (text) => {
    expect(messages(text)).toEqual([]);
    expect(evaluateCondition(text, {})).toBe(true);
  });

  test.each([
    'int(timestamp("2026-01-01T00:00:00Z")) > 0',
    'string(timestamp("2026-01-01T00:00:00Z")) != ""',
    'string(duration("1h")) == "3600s"',
    'timestamp(timestamp("2026-01-01T00:00:00Z")) < timestamp("2027-01-01T00:00:00Z")',
  ])('%s is checked like any other', (text) => {
    expect(messages(text)).toEqual([]);
    expect(evaluateCondition(text, {})).toBe(true);
  });
});

describe('what an expression refers to', () => {
  test.each<[string, string[], string[]]>([
    ['workflow_input.a == 1', [], ['workflow_input']],
    ['step.a.b == step["c"]', ['a', 'c'], ['step']],
    ['step["a"]["b"] == 1', ['a'], ['step']],
    ['type(run.x) == int && other', [], ['run']],
    ['"step"["a"] == 1', [], []],
    ['workflow_input[step.a] == 1', ['a'], ['step', 'workflow_input']],
    ['workflow_input["step"] == 1', [], ['workflow_input']],
    ['int(step.a) == 1', ['a'], ['step']],
    ['has(step.a.b) || step.c', ['a', 'c'], ['step']],
    ['step.a ? step.b : step.c', ['a', 'b', 'c'], ['step']],
    ['[step.a, step.b] == []', ['a', 'b'], ['step']],
    ['{"k": step.a}.k == 1', ['a'], ['step']],
    ['-step.a < 0 && !step.b', ['a', 'b'], ['step']],
    ['step.a.contains(step.b)', ['a', 'b'], ['step']],
    ['step.a.exists(x, x == step.b)', ['a', 'b'], ['step']],
    ['step.a.map(x, step.b, step.c) == []', ['a', 'b', 'c'], ['step']],
    ['cel.bind(x, step.a, x == step.b)', ['a', 'b'], ['step']],
    ['cel.bind(run, 1, run == 1) && run.x', [], ['run']],
    ['cel.bind(run, run.x, run == 1)', [], ['run']],
    ['[1].exists(step, step == 1) && step.a', ['a'], ['step']],
    ['[[1]].exists(step, step.exists(run, run == step[0]))', [], []],
    ['cel.bind(step, {"a": 1}, step.a == 1)', [], []],
    [
      'event.x && vars.y && output.z && found.w && input.v && loop_item && loop_index > 0',
      [],
      ['event', 'vars', 'output', 'found', 'input', 'loop_item', 'loop_index'],
    ],
  ])('%s', (text, stepIds, roots) => {
    expect(conditionReferences(text)).toEqual({ stepIds, roots });
  });
});

describe('a condition that fails', () => {
  test('says what it yields instead of true or false', () => {
    for (const [text, what] of [
      ['null', 'null'],
      ['[1]', 'a list'],
      ['{"a": 1}', 'a map'],
      ['1 + 1', 'a number'],
      ['"x"', 'a string'],
    ] as const) {
      const error = kilnErrorOf(() => evaluateCondition(text, {}));
      expect([error.code, error.message]).toEqual([
        'condition.type',
        `The condition ${text} yields ${what}, but it must yield true or false.`,
      ]);
    }
  });

  test('is named up to its two hundredth character', () => {
    const text = (length: number): string => `"${'x'.repeat(length - 2)}"`;
    expect(kilnErrorOf(() => evaluateCondition(text(200), {})).message).toContain(`The condition ${text(200)} yields`);
    expect(kilnErrorOf(() => evaluateCondition(text(201), {})).message).toContain(`The condition ${text(201).slice(0, 200)}… yields`);
  });

  test('says which expression it was, and why', () => {
    const error = kilnErrorOf(() => evaluateExpression('run.x', { run: { y: 1 } }));
    expect([error.code, error.message]).toEqual(['condition.failed', 'The expression run.x failed: run has no "x"; the nearest is "y".']);
    expect(error.cause).toBeInstanceOf(KilnError);
    const unread = kilnErrorOf(() => evaluateExpression('1 +', {}));
    expect([unread.code, unread.cause]).toEqual(['condition.syntax', expect.any(Error) as Error]);
  });

  test('may be one of many: each is read anew or remembered, with the same result', () => {
    for (let round = 0; round < 2; round += 1) for (let n = 0; n < 510; n += 1) expect(evaluateExpression(`${n} + 1`, {})).toBe(n + 1);
  });
});
