import { alertOnce } from '../ledger/alerts.ts';
import { remove } from '../ledger/store.ts';
import type { Write } from '../ledger/store.ts';
import { stepPath } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { storePayload } from '../ledger/payloads.ts';
import { closeAttempt } from '../ledger/attempts.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { Divergence } from './replay.ts';
import type { Reader } from './run-reader.ts';
import type { EndedStep } from './turn.ts';

export function divergedError(divergence: Divergence): KilnError {
  const { position, recorded, found } = divergence;
  return new KilnError(
    'run.diverged',
    `the code no longer matches what the run has recorded. At entry ${position + 1} of its journal the run has ${recorded}; ${found}`,
    { data: { ...divergence } },
  );
}

/** Stops the run where its code no longer fits. The step is left to an operator: deploy the old code and retry it, fork, or cancel. */
export async function markDiverged(runtime: Runtime, held: Held, divergence: Divergence): Promise<void> {
  const error = toErrorRecord(divergedError(divergence));
  const { record } = held;
  const step = {
    state: 'unresolved',
    error,
    due: remove,
    wakeAt: remove,
    lease: remove,
    attempts: closeAttempt(record, runtime.clock.now(), 'lost', error),
  };
  await runtime.store.commit([
    { op: 'update', path: stepPath(record), data: step, ifUpdateTime: held.updateTime },
    runDiverged(held, divergence),
    ...(await divergenceAlert(runtime, runtime.store, held, divergence)),
  ]);
}

/** The same for steps whose outcome is known: it is kept, so that nothing that happened is done again. */
export async function divergedWrites(
  runtime: Runtime,
  divergence: Divergence,
  ended: readonly EndedStep[],
  reader: Reader,
): Promise<readonly Write[]> {
  const error = toErrorRecord(divergedError(divergence));
  const [first] = ended;
  const told = first === undefined ? [] : await divergenceAlert(runtime, reader, first.held, divergence);
  const writes = ended.flatMap(({ held, outcome, also }) => [
    ...heldOutcomeWrites(runtime, held, outcome, { state: 'unresolved', error, due: remove, wakeAt: remove }),
    ...(also ?? []),
    runDiverged(held, divergence),
  ]);
  return [...writes, ...told];
}

/** People are told once a place in the journal, however many steps meet it. */
async function divergenceAlert(runtime: Runtime, reader: Reader, { record }: Held, divergence: Divergence): Promise<readonly Write[]> {
  const { accountId, runId, workflowId, version, key } = record;
  const breach = { accountId, runId, workflowId, version, kind: 'unresolved', breach: `diverged@${divergence.position}` } as const;
  const title = `The code of ${workflowId} no longer fits a run`;
  return alertOnce(reader, { ...breach, stepKey: key, title, text: divergedError(divergence).message }, runtime.clock.now());
}

/** Keeps an outcome on its step, which stays live until the code has seen it. */
export function heldOutcomeWrites(runtime: Runtime, held: Held, outcome: Outcome, state: object): readonly Write[] {
  const { record } = held;
  const now = runtime.clock.now();
  const stored = outcome.output === undefined ? undefined : storePayload(record, `${record.key}~output`, outcome.output);
  const failed = outcome.kind === 'failed' ? { turnError: outcome.error } : {};
  const data = {
    turn: true,
    lease: remove,
    attempts: closeAttempt(record, now, outcome.kind, outcome.kind === 'failed' ? outcome.error : undefined),
    ...(stored === undefined ? {} : { output: stored.payload }),
    ...(outcome.details === undefined ? {} : { details: outcome.details }),
    ...failed,
    ...state,
  };
  return [
    { op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime },
    ...(stored?.writes ?? []),
    ...(outcome.also ?? []),
  ];
}

function runDiverged({ record }: Held, divergence: Divergence): Write {
  const error = { ...toErrorRecord(divergedError(divergence)), stepKey: record.key };
  return { op: 'update', path: paths.run(record.accountId, record.runId), data: { status: 'diverged', error } };
}
