import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunRecord, RunStatus } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import { closeAttempt } from './attempts.ts';
import { dueField } from './due.ts';
import { cancelStepWrites, completionWrite, LIVE_CHUNK, liveSteps, liveStepsUnder } from './runs.ts';
import { createCompensation, stepPath } from './steps.ts';
import { remove, StoreConflict } from './store.ts';
import type { Snapshot, Transaction, Write } from './store.ts';
import type { Ledger } from './transitions.ts';

export interface Ending {
  readonly status: RunStatus;
  readonly error?: ErrorRecord | undefined;
  /** The step whose guard ended the run: it is recorded as failed, the others as cancelled. */
  readonly failedStep?: string;
}

/** What else belongs to an end, in its transactions. */
export interface EndHooks {
  /** Looks before anything is written. What it throws ends nothing; false means that the end has been taken care of. */
  check?(tx: Transaction, run: RunRecord): Promise<boolean>;
  /** What is written with the last step. */
  last?(tx: Transaction, run: RunRecord): Promise<readonly Write[]>;
}

const CONTINUE_WITHIN_MS = 30_000;

/**
 * Ends a run from outside its path: cancel, deadline, guards. Every live step is ended in the same transaction as the run,
 * so nothing in flight can commit afterwards; with very many live steps it goes in chunks and the last one ends the run.
 * Returns false when the run had ended already.
 */
export async function endRun(ledger: Ledger, ref: RunRef, ending: Ending, hooks: EndHooks = {}): Promise<boolean> {
  for (;;) {
    const progress = await ledger.store.transaction(async (tx) => {
      const path = paths.run(ref.accountId, ref.runId);
      const { docs } = await tx.get([path]);
      if (docs[0] === undefined) return 'already';
      const run = runRecordSchema.parse(docs[0].data);
      if ((await hooks.check?.(tx, run)) === false || terminalRunStatuses.has(run.status)) return 'already';
      const live = await tx.query(liveSteps(ref, LIVE_CHUNK + 1));
      const now = ledger.clock.now();
      const more = live.docs.length > LIVE_CHUNK;
      const also = more ? [] : ((await hooks.last?.(tx, run)) ?? []);
      for (const step of live.docs.slice(0, LIVE_CHUNK)) {
        for (const write of endStepWrites(step, ending, now)) tx.write(write);
      }
      const { status, error } = run.ending ?? ending;
      const stepKey = ending.failedStep === undefined ? {} : { stepKey: ending.failedStep };
      const data = more
        ? {
            status: 'cancelling',
            ending: error === undefined ? { status } : { status, error },
            due: dueField(ref.runId, now + CONTINUE_WITHIN_MS),
          }
        : {
            status,
            due: remove,
            ending: remove,
            ...(status === 'compensating' ? {} : { endedAt: now }),
            ...(error === undefined ? {} : { error: { ...error, ...stepKey } }),
          };
      tx.write({ op: 'update', path, data });
      if (more) return 'more';
      // A run that compensates ends when everything is undone.
      if (status === 'compensating') tx.write(createCompensation({ ...run, key: ending.failedStep ?? '', gate: 'open' }, 0, now));
      else tx.write(completionWrite(ref, status, now));
      for (const write of also) tx.write(write);
      return 'ended';
    });
    if (progress !== 'more') return progress === 'ended';
  }
}

/**
 * Ends what still lives under a prefix: the lanes of a join that fired early. Returns when none is left. Only as long as the join
 * itself has not gone on: what a second call finds there later is the path that follows.
 */
export async function cancelUnder(ledger: Ledger, ref: RunRef, prefix: string, joinKey: string): Promise<void> {
  for (;;) {
    const more = await ledger.store.transaction(async (tx) => {
      const { docs } = await tx.get([paths.step(ref.accountId, ref.runId, joinKey)]);
      if (docs[0]?.data['state'] !== 'ready') throw new StoreConflict(`${joinKey} has gone on`);
      const live = await tx.query(liveStepsUnder(ref, prefix));
      const others = live.docs.filter((step) => step.data['key'] !== joinKey);
      const now = ledger.clock.now();
      for (const step of others) for (const write of cancelStepWrites(step, now)) tx.write(write);
      return live.docs.length >= LIVE_CHUNK;
    });
    if (!more) return;
  }
}

function endStepWrites(snapshot: Snapshot, ending: Ending, now: number): readonly Write[] {
  const { failedStep, error } = ending;
  if (snapshot.data['key'] !== failedStep || error === undefined) return cancelStepWrites(snapshot, now);
  const record = stepRecordSchema.parse(snapshot.data);
  const data = {
    state: 'failed',
    endedAt: now,
    due: remove,
    lease: remove,
    wakeAt: remove,
    error,
    attempts: closeAttempt(record, now, 'failed', error),
  };
  return [{ op: 'update', path: stepPath(record), data, ifUpdateTime: snapshot.updateTime }];
}
