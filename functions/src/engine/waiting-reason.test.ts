import { describe, expect, test } from 'vitest';
import type { RunRecord, RunStatus } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import { runStatuses, terminalRunStatuses } from '../model/run.ts';
import { describeWaiting, waitingReason, waitingReasons } from './waiting-reason.ts';

const now = 1_800_000_000_000;
const digest = 'a'.repeat(64);

function run(status: RunStatus = 'running'): RunRecord {
  return {
    v: 1,
    accountId: 'acme',
    runId: 'r1',
    kind: 'graph',
    workflowId: 'w',
    version: 1,
    hash: digest,
    status,
    pendingApprovals: 0,
    input: { size: 2, digest, json: '{}' },
    startedBy: { kind: 'user', id: 'u' },
    createdAt: now - 60_000,
    startedAt: now - 59_000,
    chainDepth: 0,
  };
}

function step(key: string, fields: Partial<StepRecord>): StepRecord {
  return {
    v: 1,
    accountId: 'acme',
    runId: 'r1',
    key,
    stepId: key,
    type: 'action',
    kind: 'graph',
    workflowId: 'w',
    version: 1,
    state: 'waiting',
    gate: 'open',
    loops: [],
    seq: 1,
    activeMs: 0,
    attempt: 1,
    attempts: [],
    createdAt: now - 30_000,
    ...fields,
  };
}

describe('one step', () => {
  test('waits for people until their deadline, and says what follows', () => {
    const asked = step('release', { wait: { kind: 'approval', approvalId: 'a1' }, wakeAt: now + 1 });
    const approvals = new Map([['a1', { title: 'Pay', onDeadline: 'escalate' as const, deadlineAt: now + 5_000, names: ['Ada'] }]]);
    const reason = waitingReason({ run: run(), steps: [asked], approvals, now });
    expect(reason).toMatchObject({ waits: { on: 'people', title: 'Pay', names: ['Ada'] }, stepKey: 'release', until: now + 5_000, then: 'escalate' });
    expect(reason?.may).toContain('extend_deadline');
    expect(reason?.may).not.toContain('skip');
  });

  test('waits for its next attempt, with the error of the last one', () => {
    const error = { code: 'http.rate_limited', class: 'retryable' as const, message: 'slow down' };
    const failed = { n: 2, startedAt: now - 9_000, endedAt: now - 8_000, outcome: 'failed' as const, error };
    const retrying = step('call', { wait: { kind: 'retry' }, attempt: 2, attempts: [failed], error, wakeAt: now + 4_000 });
    expect(waitingReason({ run: run(), steps: [retrying], now })).toMatchObject({
      waits: { on: 'retry', attempt: 3, error },
      since: now - 8_000,
      until: now + 4_000,
      then: 'tries_again',
    });
  });

  test('that is being performed says since when, and when it counts as lost', () => {
    const working = step('call', { state: 'running', attempts: [{ n: 1, startedAt: now - 3_000 }], lease: { token: 't', until: now + 60_000 } });
    expect(waitingReason({ run: run(), steps: [working], now })).toMatchObject({ waits: { on: 'attempt', attempt: 1 }, since: now - 3_000, then: 'lost' });
  });

  test('whose time is long over says so, and when the reconciler looks', () => {
    const late = step('sleep', { wait: { kind: 'timer' }, wakeAt: now - 120_000, due: `2|${String(now - 120_000)}` });
    expect(waitingReason({ run: run(), steps: [late], now })).toMatchObject({ overdueMs: 120_000, lookedAt: now - 120_000 });
    expect(waitingReason({ run: run(), steps: [{ ...late, wakeAt: now - 1_000 }], now })?.overdueMs).toBeUndefined();
  });

  test('that was held while the run goes on waits for an operator', () => {
    const held = step('call', { state: 'ready', gate: 'paused' });
    expect(waitingReason({ run: run(), steps: [held], now })?.waits).toEqual({ on: 'operator' });
  });

  test.each([
    [{ kind: 'event', waitId: 'w', event: 'paid', key: '7' }, 'event'],
    [{ kind: 'timer' }, 'time'],
    [{ kind: 'slot', limit: 'llm' }, 'slot'],
    [{ kind: 'run', runId: 'r2' }, 'run'],
    [{ kind: 'document', path: 'orders/1' }, 'document'],
    [{ kind: 'children' }, 'inner_steps'],
  ] as const)('%o', (wait, on) => {
    expect(waitingReason({ run: run(), steps: [step('s', { wait })], now })?.waits.on).toBe(on);
  });
});

describe('a whole run', () => {
  test.each(runStatuses)('%s has an answer exactly while it has not ended', (status) => {
    expect(waitingReasons({ run: run(status), steps: [], now }).length > 0).toBe(!terminalRunStatuses.has(status));
  });

  test('names what people must settle first, and a container only when nothing inside it lives', () => {
    const steps = [
      step('each', { wait: { kind: 'children' } }),
      step('each[0].call', { state: 'running' }),
      step('each[1].ask', { wait: { kind: 'approval', approvalId: 'a' } }),
      step('each[2].pay', { state: 'unresolved' }),
      step('eachother', { wait: { kind: 'children' } }),
    ];
    expect(waitingReasons({ run: run(), steps, now }).map((reason) => reason.stepKey)).toEqual(['each[2].pay', 'each[1].ask', 'each[0].call', 'eachother']);
  });
});

test('each answer is a sentence', () => {
  const sleeping = step('cooldown', { wait: { kind: 'timer' }, wakeAt: now + 3_600_000 });
  const reason = waitingReason({ run: run(), steps: [sleeping], now });
  expect(reason === undefined ? '' : describeWaiting(reason, now)).toBe('"cooldown" sleeps for 30s until 2027-01-15T09:00:00.000Z; then the run goes on.');
});
