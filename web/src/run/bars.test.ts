import { expect, test } from 'vitest';
import type { StepRecord } from '@model/step.ts';
import { activityOf, barsOf } from './bars.ts';

function step(fields: Partial<StepRecord>): StepRecord {
  return {
    v: 1,
    accountId: 'a',
    runId: 'r',
    key: 'k',
    stepId: 'k',
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
    createdAt: 0,
    ...fields,
  };
}
const shape = (record: StepRecord, now = 1_000): string[] => barsOf(record, now).map((bar) => `${bar.kind} ${bar.from}-${bar.to}`);

test('queue time, attempts and the pauses between them are apart', () => {
  const attempts = [
    { n: 1, startedAt: 10, endedAt: 20, outcome: 'failed' as const },
    { n: 2, startedAt: 50, endedAt: 60, outcome: 'succeeded' as const },
  ];
  expect(shape(step({ startedAt: 10, endedAt: 60, attempts }))).toEqual(['queue 0-10', 'bad 10-20', 'wait 20-50', 'good 50-60']);
});

test('what goes on reaches to now', () => {
  expect(shape(step({ state: 'running', startedAt: 5, attempts: [{ n: 1, startedAt: 5 }] }))).toEqual(['queue 0-5', 'run 5-1000']);
  expect(shape(step({ state: 'waiting', type: 'approval', startedAt: 5, wait: { kind: 'approval', approvalId: 'a' } }))).toEqual([
    'queue 0-5',
    'wait 5-1000',
  ]);
  expect(shape(step({ state: 'ready' }))).toEqual(['queue 0-1000', 'run 1000-1000']);
});

test('waiting for people is no activity, and a container is only a frame', () => {
  expect(activityOf(step({ type: 'approval', startedAt: 5, endedAt: 900 }), 1_000)).toEqual([{ kind: 'queue', from: 0, to: 5 }]);
  expect(activityOf(step({ type: 'loop', startedAt: 5, endedAt: 900 }), 1_000)).toEqual([]);
});
