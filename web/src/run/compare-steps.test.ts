import { expect, test } from 'vitest';
import type { StepRecord } from '@model/step.ts';
import { compareSteps } from './compare-steps.ts';

function step(key: string, output: string, rest: Partial<StepRecord> = {}): StepRecord {
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
    state: 'succeeded',
    gate: 'open',
    loops: [],
    seq: 1,
    activeMs: 0,
    attempt: 1,
    attempts: [],
    createdAt: 1,
    output: { size: 1, digest: output.padEnd(64, '0'), json: output },
    ...rest,
  };
}

test('says what is the same, what differs, and what is only in one of them', () => {
  const rows = compareSteps([step('a', '1'), step('b', '1'), step('c', '1')], [step('b', '2'), step('a', '1'), step('d', '1')]);
  expect(rows.map((row) => `${row.key} ${row.there === undefined ? '-' : 't'}${row.here === undefined ? '-' : 'h'} ${row.same}`)).toEqual([
    'a th true',
    'b th false',
    'c t- false',
    'd -h false',
  ]);
});

test('the same output with another end is a difference', () => {
  expect(compareSteps([step('a', '1')], [step('a', '1', { state: 'failed' })])[0]?.same).toBe(false);
});
