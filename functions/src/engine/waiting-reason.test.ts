import { describe, expect, test } from 'vitest';
import type { RunRecord } from '../model/run.ts';
import { runStatuses, terminalRunStatuses } from '../model/run.ts';
import { liveStepStates } from '../model/step.ts';
import type { StepRecord, Wait } from '../model/step.ts';
import { waitingReason, waitingReasons } from './waiting-reason.ts';

const run = (more: Partial<RunRecord> = {}): RunRecord => ({
  v: 1,
  accountId: 'acme',
  runId: 'r1',
  kind: 'graph',
  workflowId: 'wf',
  version: 1,
  hash: 'h',
  status: 'running',
  pendingApprovals: 0,
  input: { size: 4, digest: 'd'.repeat(64), json: 'null' },
  startedBy: { kind: 'user', id: 'u' },
  createdAt: 1_000,
  startedAt: 1_100,
  chainDepth: 0,
  ...more,
});

const step = (more: Partial<StepRecord> = {}): StepRecord => ({
  v: 1,
  accountId: 'acme',
  runId: 'r1',
  key: 'pay',
  stepId: 'pay',
  type: 'http',
  kind: 'graph',
  workflowId: 'wf',
  version: 1,
  state: 'waiting',
  gate: 'open',
  loops: [],
  seq: 1,
  activeMs: 0,
  attempt: 0,
  attempts: [],
  createdAt: 2_000,
  startedAt: 2_100,
  ...more,
});

const kinds = (more: Partial<StepRecord>): string | undefined => waitingReason({ run: run(), steps: [step(more)] })?.kind;

describe('why a run waits', () => {
  test('a decision: by whom, until when, and what happens then', () => {
    const request = { title: 'Pay 500', eligible: ['ann', 'bob'], deadlineAt: 90_000, onDeadline: 'reject' as const };
    const approvals = new Map([['a1', request]]);
    const steps = [step({ wait: { kind: 'approval', approvalId: 'a1' }, wakeAt: 50_000 })];
    expect(waitingReason({ run: run(), steps, approvals, nameOf: (uid) => uid.toUpperCase() })).toMatchObject({
      kind: 'approval',
      stepKey: 'pay',
      on: 'ANN, BOB',
      since: 2_100,
      until: 90_000,
      then: 'it counts as rejected',
      bellAt: 50_000,
      text: '"pay" waits for a decision on "Pay 500" by ANN, BOB.',
    });
    const claimed = new Map([['a1', { ...request, claimedBy: 'bob' }]]);
    expect(waitingReason({ run: run(), steps, approvals: claimed })?.on).toBe('bob');
  });

  test('a retry: which attempt failed, why, and when the next one is due', () => {
    const error = { code: 'http.server_error', class: 'retryable' as const, message: 'it answered 503' };
    expect(waitingReason({ run: run(), steps: [step({ wait: { kind: 'retry' }, attempt: 2, wakeAt: 7_000, error })] })).toMatchObject({
      kind: 'retry',
      attempt: 2,
      nextAttemptAt: 7_000,
      lastError: { code: 'http.server_error', message: 'it answered 503' },
    });
  });

  test('what an operator may do is what the table of commands allows', () => {
    const reason = waitingReason({ run: run(), steps: [step({ wait: { kind: 'event', waitId: 'w', event: 'paid', key: '7' } })] });
    expect(reason?.on).toBe('"paid" for 7');
    expect(reason?.mayDo.map(({ kind }) => kind)).toEqual(['pause', 'cancel', 'skip', 'override_wait', 'extend_deadline']);
  });

  test('what needs a person comes first', () => {
    const steps = [
      step({ key: 'a', wait: { kind: 'timer' } }),
      step({ key: 'b', wait: { kind: 'approval', approvalId: 'x' } }),
      step({ key: 'c', state: 'unresolved' }),
      step({ key: 'd', wait: { kind: 'children' } }),
      step({ key: 'e', state: 'succeeded' }),
    ];
    expect(waitingReasons({ run: run(), steps }).map(({ stepKey }) => stepKey)).toEqual(['c', 'b', 'a']);
  });

  test.each<[Wait, string]>([
    [{ kind: 'timer' }, 'timer'],
    [{ kind: 'slot', limit: 'acme' }, 'slot'],
    [{ kind: 'run', runId: 'r2' }, 'run'],
    [{ kind: 'document', path: 'orders/1' }, 'document'],
    [{ kind: 'turn' }, 'beginning'],
  ])('%o', (wait, kind) => {
    expect(kinds({ wait })).toBe(kind);
  });

  test('any run that is not over says why, in a sentence; one that is over says nothing', () => {
    for (const status of runStatuses) {
      for (const state of liveStepStates) {
        const reason = waitingReason({ run: run({ status }), steps: [step({ state })] });
        if (terminalRunStatuses.has(status)) expect(reason, status).toBeUndefined();
        else expect(reason?.text, `${status} ${state}`).toMatch(/^.{10,}\.$/);
      }
    }
  });

  test('a run that waits for its turn says in what', () => {
    expect(waitingReason({ run: run({ status: 'pending', queuedFor: 'concurrency of wf' }), steps: [] })).toMatchObject({
      kind: 'slot',
      on: 'concurrency of wf',
    });
    expect(waitingReason({ run: run({ status: 'pending' }), steps: [] })?.kind).toBe('beginning');
  });

  test('a completed run whose outcome is being checked, or differs', () => {
    expect(waitingReason({ run: run({ status: 'completed', reconciliation: 'pending' }), steps: [] })?.kind).toBe('check');
    const mismatch = waitingReason({ run: run({ status: 'completed', reconciliation: 'mismatch' }), steps: [] });
    expect(mismatch?.kind).toBe('mismatch');
    expect(mismatch?.mayDo.map(({ kind }) => kind)).toContain('accept_mismatch');
    expect(waitingReason({ run: run({ status: 'completed', reconciliation: 'reconciled' }), steps: [] })).toBeUndefined();
  });
});

/** All that is said about one step or run, without what an operator may do. */
function told(facts: Parameters<typeof waitingReason>[0]): unknown {
  const reason = waitingReason(facts);
  if (reason === undefined) return undefined;
  const { mayDo, ...rest } = reason;
  expect(mayDo.every(({ allowed }) => allowed)).toBe(true);
  return rest;
}

describe('what is said of a step', () => {
  const error = { code: 'http.server_error', class: 'retryable' as const, message: 'it answered 503' };
  const lastError = { code: error.code, message: error.message };

  test.each<[Partial<StepRecord>, object]>([
    [
      { wait: { kind: 'timer' }, wakeAt: 9_000 },
      { kind: 'timer', until: 9_000, bellAt: 9_000, text: '"pay" waits for its time to come.', then: 'the run goes on' },
    ],
    [
      { wait: { kind: 'timer' }, startedAt: undefined, type: '$compensate' },
      { kind: 'timer', since: 2_000, text: 'The compensation of "pay" waits for its time to come.', then: 'the run goes on' },
    ],
    [
      { wait: { kind: 'slot', limit: 'model calls' }, wakeAt: 9_000 },
      {
        kind: 'slot',
        on: 'model calls',
        until: 9_000,
        bellAt: 9_000,
        text: '"pay" waits for a free slot of model calls.',
        then: 'it asks again',
      },
    ],
    [
      { wait: { kind: 'run', runId: 'r2' }, wakeAt: 9_000 },
      { kind: 'run', on: 'r2', bellAt: 9_000, text: '"pay" waits for its child run r2.', then: 'the step ends with the child run' },
    ],
    [
      { wait: { kind: 'document', path: 'orders/1' }, wakeAt: 9_000 },
      { kind: 'document', on: 'orders/1', until: 9_000, bellAt: 9_000, text: '"pay" waits for a change of orders/1.' },
    ],
    [{ wait: { kind: 'turn' } }, { kind: 'beginning', text: '"pay" has its result; the code is about to see it.' }],
    [
      { wait: { kind: 'event', waitId: 'w', event: 'paid' }, wakeAt: 9_000 },
      {
        kind: 'event',
        on: '"paid"',
        until: 9_000,
        bellAt: 9_000,
        text: '"pay" waits for the event "paid".',
        then: 'the step goes on without the event, or fails, as its workflow says',
      },
    ],
    [
      { wait: { kind: 'retry' }, attempt: 2, error, wakeAt: 9_000 },
      {
        kind: 'retry',
        attempt: 2,
        lastError,
        until: 9_000,
        bellAt: 9_000,
        nextAttemptAt: 9_000,
        text: 'Attempt 2 of "pay" failed: it answered 503. It is tried again.',
      },
    ],
    [
      { wait: { kind: 'retry' }, attempt: 1 },
      { kind: 'retry', attempt: 1, text: 'Attempt 1 of "pay" failed. It is tried again.' },
    ],
    [
      { state: 'running', attempt: 1, lease: { token: 'x', until: 8_000 } },
      {
        kind: 'performing',
        attempt: 1,
        until: 8_000,
        text: '"pay" is being performed, attempt 1.',
        then: 'without an answer by then the attempt counts as lost',
      },
    ],
    [
      { state: 'running', attempt: 1 },
      { kind: 'performing', attempt: 1, text: '"pay" is being performed, attempt 1.' },
    ],
    [{ state: 'ready' }, { kind: 'beginning', text: '"pay" is about to begin.' }],
    [
      { state: 'unresolved', error, attempt: 1, attempts: [{ n: 1, startedAt: 2_200, endedAt: 2_900 }] },
      {
        kind: 'unresolved',
        since: 2_900,
        attempt: 1,
        lastError,
        text: 'Nobody knows whether "pay" took effect (it answered 503). Look in the target system, then settle it.',
      },
    ],
    [
      { state: 'unresolved' },
      { kind: 'unresolved', text: 'Nobody knows whether "pay" took effect. Look in the target system, then settle it.' },
    ],
    [{ wait: { kind: 'approval', approvalId: 'gone' } }, { kind: 'approval', text: '"pay" waits for a decision.' }],
  ])('%j', (more, expected) => {
    expect(told({ run: run(), steps: [step(more)] })).toEqual({ stepKey: 'pay', since: 2_100, ...expected });
  });

  test.each([
    ['approve', 'it counts as approved'],
    ['reject', 'it counts as rejected'],
    ['fail', 'the step fails'],
    ['escalate', 'it is passed on'],
  ] as const)('a decision whose deadline passes: %s', (onDeadline, then) => {
    const approvals = new Map([['a1', { title: 'Pay', eligible: [], deadlineAt: 90_000, onDeadline }]]);
    const steps = [step({ wait: { kind: 'approval', approvalId: 'a1' } })];
    expect(told({ run: run(), steps, approvals })).toEqual({
      kind: 'approval',
      stepKey: 'pay',
      since: 2_100,
      on: 'nobody: no member may decide',
      until: 90_000,
      then,
      text: '"pay" waits for a decision on "Pay" by nobody: no member may decide.',
    });
  });
});

describe('what is said of a run', () => {
  test.each<[Partial<RunRecord>, object | undefined]>([
    [
      { status: 'paused', pausedAt: 3_000 },
      { kind: 'paused', since: 3_000, text: 'An operator has paused the run; it goes on when it is resumed.' },
    ],
    [{ status: 'paused' }, { kind: 'paused', since: 1_100, text: 'An operator has paused the run; it goes on when it is resumed.' }],
    [
      { status: 'pending', startedAt: undefined, queuedFor: 'concurrency' },
      { kind: 'slot', since: 1_000, on: 'concurrency', text: 'The run waits for its turn in concurrency.', then: 'it asks again' },
    ],
    [{ status: 'pending' }, { kind: 'beginning', since: 1_100, text: 'The run is about to be checked and begun.' }],
    [{ status: 'cancelling' }, { kind: 'ending', since: 1_100, text: 'The run is being ended; 0 steps are left.' }],
    [{ status: 'compensating' }, { kind: 'undoing', since: 1_100, text: 'What the run did is being undone, the latest first.' }],
    [
      { status: 'completed', endedAt: 5_000, reconciliation: 'pending' },
      { kind: 'check', since: 5_000, text: 'The run has completed; whether the target system agrees is being checked.' },
    ],
    [
      { status: 'completed', reconciliation: 'mismatch' },
      { kind: 'mismatch', since: 1_000, text: 'The target system shows something else than the run did; somebody has to look.' },
    ],
    [{ status: 'completed', reconciliation: 'accepted' }, undefined],
    [{ status: 'running' }, undefined],
  ])('%j', (more, expected) => {
    expect(told({ run: run(more), steps: [] })).toEqual(expected);
  });

  test('the most pressing comes first, of alike ones the oldest', () => {
    const waits: readonly Partial<StepRecord>[] = [
      { state: 'ready' },
      { state: 'running' },
      { wait: { kind: 'timer' } },
      { wait: { kind: 'retry' } },
      { wait: { kind: 'slot', limit: 'x' } },
      { wait: { kind: 'document', path: 'x' } },
      { wait: { kind: 'run', runId: 'x' } },
      { wait: { kind: 'event', waitId: 'x', event: 'x' }, key: 'new', startedAt: 3_000 },
      { wait: { kind: 'event', waitId: 'x', event: 'x' }, key: 'old' },
      { wait: { kind: 'approval', approvalId: 'x' } },
      { state: 'unresolved' },
    ];
    const reasons = (status: RunRecord['status']): readonly (string | undefined)[] =>
      waitingReasons({ run: run({ status }), steps: waits.map(step) }).map(({ kind, stepKey }) => (kind === 'event' ? stepKey : kind));
    const ordered = ['approval', 'old', 'new', 'run', 'document', 'slot', 'retry', 'timer', 'performing', 'beginning'];
    expect(reasons('paused')).toEqual(['unresolved', 'paused', ...ordered]);
    expect(reasons('compensating')).toEqual(['unresolved', ...ordered, 'undoing']);
    expect(reasons('cancelling')).toEqual(['unresolved', ...ordered, 'ending']);
  });
});
