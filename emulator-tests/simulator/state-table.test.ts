import { describe, expect, test } from 'vitest';
import { decideApproval } from '../../functions/src/ledger/approvals.ts';
import { attendCommand } from '../../functions/src/ledger/commands.ts';
import { attendEvent, eventRecord } from '../../functions/src/ledger/events.ts';
import { storePayload } from '../../functions/src/ledger/payloads.ts';
import { heldStep } from '../../functions/src/ledger/steps.ts';
import type { Snapshot } from '../../functions/src/ledger/store.ts';
import type { ApprovalRecord } from '../../functions/src/model/approval.ts';
import { commandDocument, decisionDocument } from '../../functions/src/model/client-documents.ts';
import type { CommandKind } from '../../functions/src/model/command.ts';
import { KilnError } from '../../functions/src/model/errors.ts';
import { paths } from '../../functions/src/model/paths.ts';
import { attend } from '../../functions/src/runner/attend.ts';
import { attendCompletion, attendRun } from '../../functions/src/runner/runs.ts';
import type { Action } from '../../functions/src/steps/action-registry.ts';
import { ACCOUNT, person, Stage } from './stage.ts';

const HOUR = 3_600_000;
const anything = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as Action['input'];
const base = { input: anything, output: anything } as const;
const actions: readonly Action[] = [
  { ...base, name: 'keyed', idempotent: true, run: () => 'done' },
  { ...base, name: 'charge', run: () => 'done' },
  {
    ...base,
    name: 'busy',
    idempotent: true,
    run: () => {
      throw new KilnError('http.server_error', '503');
    },
  },
];

/** The step that the table is about, and how far it has come. */
interface Row {
  readonly step: object;
  readonly to: (stage: Stage, runId: string) => Promise<void>;
}

const key = 'x';
const refOf = (runId: string) => ({ accountId: ACCOUNT, runId, key });

/** Begins the run, and the step so far that it stands before its first operation of that name. */
async function begun(stage: Stage, runId: string): Promise<void> {
  await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
}

async function entered(stage: Stage, runId: string): Promise<void> {
  await begun(stage, runId);
  await stage.perform((runtime) => attend(runtime, refOf(runId), { kind: 'trigger' }));
}

async function dying(stage: Stage, runId: string): Promise<void> {
  await begun(stage, runId);
  const doomed = await stage.enter((runtime) => attend(runtime, refOf(runId), { kind: 'trigger' }));
  await doomed.until('call');
  doomed.die();
}

const later =
  (to: Row['to'], ms: number): Row['to'] =>
  async (stage, runId) => {
    await to(stage, runId);
    stage.now += ms;
  };
const paused =
  (to: Row['to']): Row['to'] =>
  async (stage, runId) => {
    await to(stage, runId);
    await order(stage, runId, 'pause');
  };
const act = (action: string): object => ({ type: 'action', action, timeout: '20s' });
const timer = { type: 'wait', for: '1h' };
const paid = { type: 'wait', event: { name: 'paid' }, timeout: '1h' };
const ask = {
  type: 'approval',
  title: 'Pay?',
  approvers: { users: ['ann'] },
  fourEyes: false,
  deadline: '1h',
  onDeadline: 'reject',
  onReject: 'continue',
};
const fan = { type: 'parallel', branches: { left: [{ id: 'inner', ...timer }] } };
const child = { type: 'subworkflow', workflow: 'child' };

const rows: Readonly<Record<string, Row>> = {
  ready: { step: act('keyed'), to: begun },
  'ready, paused': { step: act('keyed'), to: paused(begun) },
  'running, lease lives': { step: act('keyed'), to: dying },
  'running, lease is over': { step: act('keyed'), to: later(dying, HOUR) },
  'running, lease is over, may not be repeated': { step: act('charge'), to: later(dying, HOUR) },
  'waits for its next attempt': { step: act('busy'), to: entered },
  'next attempt is due': { step: act('busy'), to: later(entered, HOUR) },
  'next attempt is due, paused': { step: act('busy'), to: later(paused(entered), HOUR) },
  'timer ahead': { step: timer, to: entered },
  'timer over': { step: timer, to: later(entered, HOUR) },
  'timer over, paused': { step: timer, to: later(paused(entered), HOUR) },
  'waits for an event': { step: paid, to: entered },
  'wait is over': { step: paid, to: later(entered, HOUR) },
  'waits for a decision': { step: ask, to: entered },
  'deadline has passed': { step: ask, to: later(entered, HOUR) },
  'waits for its lanes': { step: fan, to: entered },
  'waits for a child run': { step: child, to: entered },
  unresolved: {
    step: act('charge'),
    to: async (stage, runId) => {
      await later(dying, HOUR)(stage, runId);
      await stage.perform((runtime) => attend(runtime, refOf(runId), { kind: 'reconciler' }));
    },
  },
  succeeded: { step: act('keyed'), to: entered },
  cancelled: {
    step: timer,
    to: async (stage, runId) => {
      await entered(stage, runId);
      await order(stage, runId, 'cancel');
    },
  },
};

const events = ['trigger', 'doorbell', 'reconciler', 'event', 'decision', 'child ends', 'pause', 'resume', 'cancel'] as const;
type Event = (typeof events)[number];

/** By row, what each event makes of it: `step state / run status`. Left out: nothing changes. */
const expected: Readonly<Record<keyof typeof rows, Partial<Record<Event, string>>>> = {
  ready: {
    trigger: 'succeeded / running',
    doorbell: 'succeeded / running',
    reconciler: 'succeeded / running',
    pause: 'ready / paused',
    cancel: 'cancelled / cancelled',
  },
  'ready, paused': { resume: 'succeeded / running', cancel: 'cancelled / cancelled' },
  'running, lease lives': { pause: 'running / paused', cancel: 'cancelled / cancelled' },
  'running, lease is over': {
    trigger: 'waiting / running',
    doorbell: 'waiting / running',
    reconciler: 'waiting / running',
    pause: 'running / paused',
    cancel: 'cancelled / cancelled',
  },
  'running, lease is over, may not be repeated': {
    trigger: 'unresolved / running',
    doorbell: 'unresolved / running',
    reconciler: 'unresolved / running',
    pause: 'running / paused',
    cancel: 'cancelled / cancelled',
  },
  'waits for its next attempt': { pause: 'waiting / paused', cancel: 'cancelled / cancelled' },
  // The second attempt fails as the first did.
  'next attempt is due': { pause: 'waiting / paused', cancel: 'cancelled / cancelled' },
  'next attempt is due, paused': { resume: 'waiting / running', cancel: 'cancelled / cancelled' },
  'timer ahead': { pause: 'waiting / paused', cancel: 'cancelled / cancelled' },
  'timer over': {
    trigger: 'succeeded / running',
    doorbell: 'succeeded / running',
    reconciler: 'succeeded / running',
    pause: 'waiting / paused',
    cancel: 'cancelled / cancelled',
  },
  // A timer keeps its time; what follows it is created paused.
  'timer over, paused': {
    trigger: 'succeeded / paused',
    doorbell: 'succeeded / paused',
    reconciler: 'succeeded / paused',
    resume: 'succeeded / running',
    cancel: 'cancelled / cancelled',
  },
  'waits for an event': { event: 'succeeded / running', pause: 'waiting / paused', cancel: 'cancelled / cancelled' },
  'wait is over': {
    trigger: 'succeeded / running',
    doorbell: 'succeeded / running',
    reconciler: 'succeeded / running',
    event: 'succeeded / running',
    pause: 'waiting / paused',
    cancel: 'cancelled / cancelled',
  },
  'waits for a decision': { decision: 'succeeded / running', pause: 'waiting / paused', cancel: 'cancelled / cancelled' },
  'deadline has passed': {
    trigger: 'succeeded / running',
    doorbell: 'succeeded / running',
    reconciler: 'succeeded / running',
    // It is refused, and the deadline takes effect: the outcome is the deadline's.
    decision: 'succeeded / running',
    pause: 'waiting / paused',
    cancel: 'cancelled / cancelled',
  },
  'waits for its lanes': { pause: 'waiting / paused', cancel: 'cancelled / cancelled' },
  'waits for a child run': { 'child ends': 'succeeded / running', pause: 'waiting / paused', cancel: 'cancelled / cancelled' },
  unresolved: { pause: 'unresolved / paused', cancel: 'cancelled / cancelled' },
  succeeded: { pause: 'succeeded / paused', cancel: 'succeeded / cancelled' },
  cancelled: {},
};

async function order(stage: Stage, runId: string, kind: CommandKind): Promise<void> {
  const id = `c${[...stage.store.all()].length}`;
  const data = commandDocument({ accountId: ACCOUNT, runId, by: 'bob', at: stage.now, kind, reason: 'test' });
  await stage.write({ op: 'create', path: paths.command(ACCOUNT, runId, id), data });
  await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, id));
}

function find(stage: Stage, collection: string): Snapshot | undefined {
  return [...stage.store.all()].find(({ path }) => path.split('/').at(-2) === collection);
}

async function happen(stage: Stage, runId: string, event: Event, created: Snapshot | undefined): Promise<void> {
  switch (event) {
    case 'trigger':
      // As it was when it was created, which may be long ago.
      await stage.perform((runtime) =>
        attend(runtime, refOf(runId), { kind: 'trigger', ...(created === undefined ? {} : { held: heldStep(created) }) }),
      );
      return;
    case 'doorbell':
      await stage.perform((runtime) => attend(runtime, refOf(runId), { kind: 'doorbell', hop: 0 }));
      return;
    case 'reconciler':
      await stage.perform((runtime) => attend(runtime, refOf(runId), { kind: 'reconciler' }));
      return;
    case 'event': {
      const { payload } = storePayload({ accountId: ACCOUNT, runId: 'e1' }, 'p', '{}');
      const data = eventRecord(ACCOUNT, { eventId: 'e1', name: 'paid', payload: {}, source: 'test' }, payload, stage.now);
      await stage.write({ op: 'create', path: paths.event(ACCOUNT, 'e1'), data });
      await stage.perform((runtime) => attendEvent(runtime, ACCOUNT, 'e1'));
      return;
    }
    case 'decision': {
      const approval = find(stage, 'approvals')?.data as ApprovalRecord | undefined;
      if (approval === undefined) return;
      const { approvalId, digest } = approval;
      const data = decisionDocument({ accountId: ACCOUNT, approvalId, by: 'ann', at: stage.now, outcome: 'approve', digest });
      await stage.write({ op: 'create', path: paths.decision(ACCOUNT, approvalId, 'ann'), data });
      await stage.perform((runtime) => decideApproval(runtime, { accountId: ACCOUNT, approvalId, uid: 'ann' }));
      return;
    }
    case 'child ends': {
      const childId = stage.step(runId, key)?.wait;
      if (childId?.kind !== 'run') return;
      await stage.write({ op: 'update', path: paths.run(ACCOUNT, childId.runId), data: { status: 'completed', endedAt: stage.now } });
      await stage.write({
        op: 'set',
        path: paths.completion(ACCOUNT, childId.runId),
        data: { v: 1, accountId: ACCOUNT, runId: childId.runId, status: 'completed', at: stage.now },
      });
      await stage.perform((runtime) => attendCompletion(runtime, { accountId: ACCOUNT, runId: childId.runId }));
      return;
    }
    case 'pause':
    case 'resume':
    case 'cancel':
      return order(stage, runId, event);
  }
}

const stateOf = (stage: Stage, runId: string): string => `${stage.step(runId, key)?.state ?? 'none'} / ${stage.run(runId).status}`;

describe.each(Object.keys(rows))('%s', (name) => {
  test.each(events)('%s', async (event) => {
    const row = rows[name];
    if (row === undefined) throw new Error(name);
    const after = { id: 'b', type: 'wait', for: '1h' };
    const stage = new Stage({ wf: [{ id: key, ...row.step }, after], child: [{ id: 'c', ...timer }] }, actions, [person('ann')]);
    const runId = await stage.start('wf');
    await begun(stage, runId);
    const created = stage.store.peek(paths.step(ACCOUNT, runId, key));
    await row.to(stage, runId);
    const before = stateOf(stage, runId);
    await happen(stage, runId, event, created);
    expect(stateOf(stage, runId)).toBe(expected[name]?.[event] ?? before);
    // What follows exists exactly when the step has succeeded; nothing is done twice.
    expect(stage.step(runId, 'b') !== undefined).toBe(stage.step(runId, key)?.state === 'succeeded');
    expect(stage.effects.length).toBeLessThanOrEqual(2);
  });
});
