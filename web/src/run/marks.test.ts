import { expect, test } from 'vitest';
import type { StepRecord, StepState } from '@model/step.ts';
import { standings } from './marks.ts';

function step(key: string, stepId: string, state: StepState): StepRecord {
  return {
    v: 1,
    accountId: 'a',
    runId: 'r',
    key,
    stepId,
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
  };
}

test('a failure shows before work, work before what is done, and iterations are counted', () => {
  const all = standings([
    step('e[0].a', 'a', 'succeeded'),
    step('e[1].a', 'a', 'failed'),
    step('e[2].a', 'a', 'running'),
    step('b', 'b', 'waiting'),
    step('c', 'c', 'skipped'),
  ]);
  expect([...all].map(([id, { step: shown, done, total }]) => `${id} ${shown.state} ${done}/${total}`)).toEqual([
    'a failed 1/3',
    'b waiting 0/1',
    'c skipped 0/1',
  ]);
});
