import { parseJson } from '../engine/json.ts';
import { endingWrites, storedOutput } from '../ledger/transitions.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { stepPath } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { remove } from '../ledger/store.ts';
import type { Transaction, Write } from '../ledger/store.ts';
import { closeAttempt } from '../ledger/attempts.ts';
import { KilnError } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { beforeFirst } from '../runner/runs.ts';
import { idempotencyKey } from '../runner/perform.ts';
import type { Runtime } from '../runner/runtime.ts';
import { attemptStep, timeoutOf } from './attempt.ts';
import { decodeBaton, encodeHead } from './baton.ts';
import { markDiverged } from './divergence.ts';
import { countEntries } from './journal.ts';
import { runFunction } from './perform-effect.ts';
import { DEFAULT_ACTIVE_LIMIT_MS } from '../runner/guards.ts';
import type { Ready, Replayer } from './replayer.ts';
import { latestJournal } from './run-reader.ts';
import type { StepOutcome, UndoContext } from './step-api.ts';
import { compensatedWrites, undoKey, undoStep } from './turn.ts';

/** Carries out one compensation, and creates the one before it. */
export async function undoOne(replayer: Replayer, runtime: Runtime, held: Held): Promise<void> {
  const ready = await replayer.ready(runtime, runtime.store, held);
  const { execution, opened } = ready;
  const n = decodeBaton(held.record).undo ?? -1;
  const compensation = execution.compensations[n];
  if (compensation === undefined || undoKey(compensation.key) !== held.record.key) {
    const found = execution.compensations.map(({ key }) => `"${key}"`).join(', ');
    const divergence = execution.divergence ?? {
      position: opened.entries.length,
      recorded: `compensation ${n + 1}, "${held.record.key}"`,
      found: `the code registers ${found || 'none'}`,
    };
    return markDiverged(runtime, held, divergence);
  }
  // What was limited is the run; undoing it is not held up by its limits.
  const timeoutMs = timeoutOf(compensation.options, DEFAULT_ACTIVE_LIMIT_MS);
  const outcomeOf = (step: string): StepOutcome | undefined => recordedOutcome(ready, step);
  const idempotencyKeyOf = (step: string): string => idempotencyKey(held.record.runId, step);
  await attemptStep(runtime, held, {
    timeoutMs,
    perform: (claimed) =>
      runFunction(
        runtime,
        claimed,
        replayer.functionOf(claimed.record, (context) =>
          compensation.fn({ ...context, outcomeOf, idempotencyKeyOf } satisfies UndoContext),
        ),
        timeoutMs,
      ),
    conclude: async (now, outcome) => {
      if (outcome.kind === 'failed') return undoFailed(runtime, now, outcome.error);
      await runtime.store.commit(undoneWrites(runtime, now, outcome, ready));
    },
  });
}

/** A compensation ended well, or a person says that it needs none: the one before it is next. */
export function undoneWrites(runtime: Runtime, held: Held, outcome: Outcome, { execution, opened }: Ready): readonly Write[] {
  const now = runtime.clock.now();
  const { record } = held;
  const n = decodeBaton(record).undo ?? 0;
  const ended = endingWrites(held, outcome, storedOutput(record, outcome), now, held.updateTime);
  if (n === 0) return [...ended, ...compensatedWrites(record, now)];
  const going: Write = { op: 'update', path: paths.run(record.accountId, record.runId), data: { status: 'compensating' } };
  return [...ended, going, undoStep({ execution, from: record, activeMs: record.activeMs, now, opened }, n - 1)];
}

/** A compensation that cannot be carried out is left to a person; nothing before it is undone meanwhile. */
export async function undoFailed(runtime: Runtime, held: Held, error: ErrorRecord): Promise<void> {
  const { record } = held;
  const data = {
    state: 'unresolved',
    error,
    lease: remove,
    wakeAt: remove,
    due: remove,
    attempts: closeAttempt(record, runtime.clock.now(), 'failed', error),
  };
  await runtime.store.commit([
    { op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime },
    { op: 'update', path: paths.run(record.accountId, record.runId), data: { status: 'needs_resolution' } },
  ]);
}

/**
 * Undoes a run that has ended, on command: the latest registered compensation first.
 *
 * @throws KilnError `request.invalid` when there is nothing to undo, or the run is not over
 */
export async function compensateRun(replayer: Replayer, runtime: Runtime, ref: RunRef): Promise<void> {
  await runtime.store.transaction(async (tx) => {
    const { docs } = await tx.get([paths.run(ref.accountId, ref.runId)]);
    if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${ref.runId} does not exist`);
    for (const write of await compensationWrites(replayer, runtime, runRecordSchema.parse(docs[0].data), tx)) tx.write(write);
  });
}

/** The same as the writes of somebody else's transaction. */
export async function compensationWrites(replayer: Replayer, runtime: Runtime, run: RunRecord, tx: Transaction): Promise<readonly Write[]> {
  if (!terminalRunStatuses.has(run.status) || run.status === 'compensated' || run.status === 'rejected') {
    throw new KilnError('request.invalid', `the run is ${run.status}; only a run that has ended and was not compensated can be undone`);
  }
  const workflow = replayer.registry.find(run.workflowId, run.version);
  if (workflow === undefined) throw new KilnError('code.version_missing', replayer.missing(run.workflowId, run.version));
  const journal = await latestJournal(tx, replayer.reader, run);
  const opened = await replayer.reader.openJournal(tx, run, journal);
  const execution = replayer.execution(runtime, workflow, opened);
  await execution.replay();
  const last = execution.compensations.length - 1;
  if (last < 0) throw new KilnError('request.invalid', 'the run has registered no compensation; there is nothing to undo');
  const now = runtime.clock.now();
  const from = { ...beforeFirst(run, undefined), key: '' };
  const head = encodeHead({ journal, live: [], activeMs: 0 }, countEntries(journal));
  return [
    { op: 'set', path: paths.journal(run.accountId, run.runId, 'head'), data: head },
    { op: 'update', path: paths.run(run.accountId, run.runId), data: { status: 'compensating', endedAt: remove } },
    undoStep({ execution, from, activeMs: 0, now, opened }, last),
  ];
}

function recordedOutcome({ opened }: Ready, step: string): StepOutcome | undefined {
  const result = opened.entries.find((entry) => entry.key === step)?.result;
  switch (result?.kind) {
    case 'value':
      return { status: 'succeeded', value: parseJson(result.json) };
    case 'error':
      return { status: 'failed', code: result.error.code, message: result.error.message };
    case 'stored':
    case undefined:
      return undefined;
  }
}
