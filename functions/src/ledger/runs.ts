import type { ErrorRecord } from '../model/errors.ts';
import type { CompletionRecord } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import type { Payload } from '../model/payload.ts';
import type { RunRef } from '../model/paths.ts';
import type { RunStatus } from '../model/run.ts';
import { liveStepStates, stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { dueField } from './due.ts';
import { effectDoubtWrites } from './effects.ts';
import { storePayload } from './payloads.ts';
import { createCompensation, stepPath } from './steps.ts';
import type { Origin } from './steps.ts';
import { increment, remove } from './store.ts';
import type { Query, Snapshot, Write } from './store.ts';

/** How soon the reconciler looks at a document that a trigger should have attended. */
const ATTEND_WITHIN_MS = 60_000;

/** Live steps that one transaction touches. */
export const LIVE_CHUNK = 400;

export function liveSteps(ref: RunRef, limit = LIVE_CHUNK): Query {
  return { from: paths.steps(ref.accountId, ref.runId), where: [['state', 'in', liveStepStates]], limit };
}

/** Live steps whose key lies under a prefix: the lanes of a loop or parallel. */
export function liveStepsUnder(ref: RunRef, prefix: string, limit = LIVE_CHUNK): Query {
  return {
    from: paths.steps(ref.accountId, ref.runId),
    where: [
      ['state', 'in', liveStepStates],
      ['key', '>=', prefix],
      ['key', '<', `${prefix}\uf8ff`],
    ],
    orderBy: [['key', 'asc']],
    limit,
  };
}

/** Everything that happens after a run hangs on the creation of this document. */
export function completionWrite(ref: RunRef, status: RunStatus, now: number): Write {
  const data: CompletionRecord = {
    v: 1,
    accountId: ref.accountId,
    runId: ref.runId,
    status,
    at: now,
    due: dueField(ref.runId, now + ATTEND_WITHIN_MS),
  };
  return { op: 'create', path: paths.completion(ref.accountId, ref.runId), data };
}

/** `same`: where the output is stored already. `guard`: who may read it. */
export function completeRunWrites(
  ref: RunRef,
  output: string,
  now: number,
  { same, guard }: { readonly same?: Payload | undefined; readonly guard?: object | undefined } = {},
): readonly Write[] {
  const stored = same === undefined ? storePayload(ref, '$output', output, guard) : { payload: same, writes: [] };
  const data = { status: 'completed', output: stored.payload, endedAt: now, due: remove };
  return [{ op: 'update', path: paths.run(ref.accountId, ref.runId), data }, ...stored.writes, completionWrite(ref, 'completed', now)];
}

/** The path that failed was the run's only one; guards inside lanes end the others through `endRun`. A run that compensates ends later. */
export function failRunWrites(
  from: Origin,
  error: ErrorRecord | undefined,
  now: number,
  compensate: { readonly seq: number } | undefined,
): readonly Write[] {
  const path = paths.run(from.accountId, from.runId);
  const why = { due: remove, ...(error === undefined ? {} : { error: { ...error, stepKey: from.key } }) };
  return compensate === undefined
    ? [{ op: 'update', path, data: { status: 'failed', endedAt: now, ...why } }, completionWrite(from, 'failed', now)]
    : [{ op: 'update', path, data: { status: 'compensating', ...why } }, createCompensation(from, compensate.seq, now)];
}

/** Ends one live step from outside, and closes what it waits for. */
export function cancelStepWrites(snapshot: Snapshot, now: number): readonly Write[] {
  const record = stepRecordSchema.parse(snapshot.data);
  const writes: Write[] = [
    {
      op: 'update',
      path: stepPath(record),
      data: { state: 'cancelled', endedAt: now, due: remove, lease: remove, wakeAt: remove },
      ifUpdateTime: snapshot.updateTime,
    },
  ];
  // What it holds may have happened, or happen still.
  return [...writes, ...effectDoubtWrites(record), ...closeWaitWrites(record, now)];
}

/** Closes what a step waits for, when the step ends without it. A child run is cancelled. */
export function closeWaitWrites({ accountId, runId, wait }: StepRecord, now: number): readonly Write[] {
  switch (wait?.kind) {
    case 'approval':
      return [
        { op: 'update', path: paths.approval(accountId, wait.approvalId), data: { status: 'cancelled', endedAt: now, due: remove } },
        { op: 'update', path: paths.run(accountId, runId), data: { pendingApprovals: increment(-1) } },
      ];
    case 'event':
      return [{ op: 'update', path: paths.wait(accountId, wait.waitId), data: { state: 'closed', endedAt: now } }];
    case 'run': {
      const path = paths.command(accountId, wait.runId, 'cancel-by-parent');
      return [{ op: 'set', path, data: commandData(accountId, wait.runId, runId, now) }];
    }
    case 'timer':
    case 'retry':
    case 'slot':
    case 'children':
    case 'document':
    case 'turn':
    case undefined:
      return [];
  }
}

function commandData(accountId: string, runId: string, parentRunId: string, now: number): object {
  return {
    v: 1,
    accountId,
    runId,
    kind: 'cancel',
    by: `run:${parentRunId}`,
    reason: 'the parent run ended',
    at: now,
    status: 'pending',
    due: dueField(runId, now + ATTEND_WITHIN_MS),
  };
}
