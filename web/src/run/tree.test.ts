import { describe, expect, test } from 'vitest';
import type { StepRecord, StepState } from '@model/step.ts';
import { ancestorsOf, buildTree, rowsOf, type Row } from './tree.ts';

function step(key: string, state: StepState = 'succeeded', rest: Partial<StepRecord> = {}): StepRecord {
  return {
    v: 1,
    accountId: 'a',
    runId: 'r',
    key,
    stepId: key,
    type: 'action',
    kind: 'graph',
    workflowId: 'w',
    version: 1,
    state,
    gate: 'open',
    loops: [],
    seq: 1,
    activeMs: 0,
    attempt: 1,
    attempts: [],
    createdAt: 1,
    ...rest,
  };
}

const nothing = { chosen: new Map<string, boolean>(), failedOnly: false };
const text = (rows: readonly Row[]): string[] =>
  rows.map(
    (row) =>
      `${'  '.repeat(row.depth)}${row.iteration === undefined ? '' : `[${row.iteration}] `}${row.node.key}${row.open === undefined ? '' : row.open ? ' -' : ' +'}`,
  );
const loop = (count: number, inner: readonly string[], state: (index: number) => StepState = () => 'succeeded'): StepRecord[] => [
  step('each', 'waiting'),
  ...Array.from({ length: count }, (_, index) => inner.map((id) => step(`each[${index}].${id}`, state(index)))).flat(),
];

describe('rows', () => {
  test('branches have rows, the taken side of a condition has not, joins are left out', () => {
    const join = step('fan.$join', 'succeeded', {
      join: { owner: 'fan', ownerKey: 'fan', reason: 'complete', lane: 0, seqSum: 1, lanes: 2 },
    });
    const tree = buildTree([step('fan'), step('fan.left.a'), step('fan.right.b'), join, step('check'), step('check.then.c')]);
    expect(text(rowsOf(tree, nothing))).toEqual([
      'fan -',
      '  fan.left -',
      '    fan.left.a',
      '  fan.right -',
      '    fan.right.b',
      'check -',
      '  check.then.c',
    ]);
  });

  test('an iteration of one step is that step', () => {
    expect(text(rowsOf(buildTree(loop(2, ['book'])), nothing))).toEqual(['each -', '  [0] each[0].book', '  [1] each[1].book']);
  });

  test('iterations are in order of their index, whatever order they ran in', () => {
    const tree = buildTree([step('each'), step('each[10].a'), step('each[2].a'), step('each[2].b')]);
    expect(text(rowsOf(tree, nothing)).slice(1)).toEqual(['  each[2] +', '  [10] each[10].a']);
  });

  test('a long loop is closed, but shows where it works and where it failed', () => {
    const steps = loop(100, ['a', 'b'], (index) => (index === 40 ? 'failed' : index === 99 ? 'running' : 'succeeded'));
    const rows = text(rowsOf(buildTree(steps), nothing));
    expect(rows).toEqual([
      'each +',
      '  each[40] -',
      '    each[40].a',
      '    each[40].b',
      '  each[99] -',
      '    each[99].a',
      '    each[99].b',
    ]);
    expect(text(rowsOf(buildTree(steps), { ...nothing, chosen: new Map([['each', false]]) }))).toEqual(['each +']);
    expect(rowsOf(buildTree(steps), { ...nothing, chosen: new Map([['each', true]]) })).toHaveLength(105);
  });

  test('failed only', () => {
    const steps = [step('ok'), ...loop(3, ['book'], (index) => (index === 2 ? 'failed' : 'succeeded'))];
    expect(text(rowsOf(buildTree(steps), { ...nothing, failedOnly: true }))).toEqual(['each -', '  [2] each[2].book']);
  });

  test('a step whose container is not loaded still has its place', () => {
    const tree = buildTree([step('each[7].check.then.pay', 'running')]);
    expect(text(rowsOf(tree, nothing))).toEqual(['each -', '  [7] each[7].check -', '    each[7].check.then.pay']);
    expect(tree.byKey.get('each')).toMatchObject({ record: undefined, counts: { steps: 1, live: 1 } });
  });
});

test('the way to a step', () => {
  expect(ancestorsOf('each[7].check.then.pay', 'graph')).toEqual(['each', 'each[7]', 'each[7].check', 'each[7].check.then']);
});

test('ten thousand steps are laid out without growing worse than linear', () => {
  const steps = loop(5_000, ['a', 'b']);
  const started = performance.now();
  const rows = rowsOf(buildTree(steps), { ...nothing, chosen: new Map([['each', true]]) });
  expect(rows).toHaveLength(5_001);
  expect(performance.now() - started).toBeLessThan(10_000);
});
