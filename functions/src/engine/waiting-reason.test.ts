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
