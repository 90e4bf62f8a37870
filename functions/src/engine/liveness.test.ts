import { expect, test } from 'vitest';
import type { RunRecord } from '../model/run.ts';
import { stepStates } from '../model/step.ts';
import type { StepRecord, Wait } from '../model/step.ts';
import { isStuck, wakerOf } from './liveness.ts';
import type { Waker } from './liveness.ts';

const step = (given: Partial<StepRecord>): StepRecord => ({ state: 'waiting', gate: 'open', ...given }) as StepRecord;
const waits = {
  timer: { kind: 'timer' },
  retry: { kind: 'retry' },
  slot: { kind: 'slot', limit: 'l' },
  children: { kind: 'children' },
  approval: { kind: 'approval', approvalId: 'a' },
  event: { kind: 'event', waitId: 'w', event: 'e' },
  run: { kind: 'run', runId: 'r' },
  document: { kind: 'document', path: 'p' },
  turn: { kind: 'turn' },
} satisfies { readonly [K in Wait['kind']]: Wait & { kind: K } };

test('whoever has a due time is woken by the clock', () => {
  for (const state of stepStates) expect(wakerOf(step({ state, due: 'x' }))).toBe('clock');
});

test.each<[Partial<StepRecord>, Waker | undefined]>([
  [{ state: 'unresolved' }, 'person'],
  [{ state: 'ready' }, undefined],
  [{ state: 'ready', gate: 'paused' }, 'operator'],
  [{ state: 'running', gate: 'paused' }, undefined],
  [{ state: 'succeeded', gate: 'paused' }, undefined],
  [{ wait: waits.children }, 'others'],
  [{ wait: waits.run }, 'child'],
  [{ wait: waits.retry }, undefined],
  [{ wait: waits.retry, gate: 'paused' }, 'operator'],
  [{ wait: waits.slot }, undefined],
  [{ wait: waits.slot, gate: 'paused' }, 'operator'],
  [{ wait: waits.timer, gate: 'paused' }, undefined],
  [{ wait: waits.approval, gate: 'paused' }, undefined],
  [{ wait: waits.event, gate: 'paused' }, undefined],
  [{ wait: waits.document, gate: 'paused' }, undefined],
  [{ wait: waits.turn, gate: 'paused' }, undefined],
  [{ gate: 'paused' }, undefined],
])('without one, %j is moved on by %s', (given, waker) => {
  expect(wakerOf(step(given))).toBe(waker);
});

test.each<[RunRecord['status'], string | undefined, readonly Partial<StepRecord>[], boolean]>([
  ['pending', 'x', [], false],
  ['pending', undefined, [], true],
  ['cancelling', 'x', [], false],
  ['cancelling', undefined, [{ due: 'x' }], true],
  ['running', 'x', [], true],
  ['running', undefined, [{ due: 'x' }], false],
  ['running', undefined, [{ state: 'succeeded', due: 'x' }], true],
  ['running', undefined, [{ wait: waits.children }], true],
  ['running', undefined, [{ wait: waits.children }, { state: 'unresolved' }], false],
  ['running', undefined, [{ state: 'running' }, { wait: waits.timer }], true],
  ['compensating', undefined, [{ wait: waits.run }], false],
  ['compensating', undefined, [], true],
  ['paused', undefined, [], false],
  ['needs_resolution', undefined, [], false],
  ['diverged', undefined, [], false],
  ['completed', undefined, [], false],
  ['failed', undefined, [], false],
  ['cancelled', undefined, [], false],
  ['rejected', undefined, [], false],
  ['compensated', undefined, [], false],
])('a run that is %s, due %s, with the steps %j stands still for good: %j', (status, due, steps, expected) => {
  expect(isStuck({ status, due }, steps.map(step))).toBe(expected);
});
