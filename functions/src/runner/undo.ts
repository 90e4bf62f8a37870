import { placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { canonicalJson, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { decideAfterFailure, retryPolicySchema } from '../engine/retry.ts';
import { beginUndoing, undoFailedWrites, undoneKey } from '../ledger/compensation.ts';
import { loadPayload } from '../ledger/payloads.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreConflict } from '../ledger/store.ts';
import { suspend } from '../ledger/transitions.ts';
import type { Outcome } from '../ledger/transitions.ts';
import type { StepConfig } from '../model/definition.ts';
import { BusinessException, KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { effectRecordSchema } from '../model/effect.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import type { AnyStepType } from '../steps/step-type.ts';
import { effectIdempotencyKey } from './attempt.ts';
import type { Resolved } from './inputs.ts';
import { resolveStep, templatesOf } from './inputs.ts';
import { attemptOutcome, claimStep, goOnWaiting, idempotencyKey, LEASE_MARGIN_MS, LOOKS, stillHeld } from './perform.ts';
import type { AttemptOutcome } from './perform.ts';
import { recordLateResult } from './late-result.ts';
import { factsOf, parsedConfig, secretive } from './resolve.ts';
import type { Runtime } from './runtime.ts';
import { readScope } from './scope-reader.ts';
import { quietFor, settledUndo, undoTimeout } from './undo-settling.ts';
import { enterWait } from './waiting.ts';

/** Plans what the run has to undo, and begins with the last effect. */
export async function beginCompensate(runtime: Runtime, held: Held, index: DefinitionIndex): Promise<void> {
  await beginUndoing(runtime, held, index, quietFor(runtime, held, index));
}

/** How a step says that it is undone: a configuration of its own, without id. */
function undoConfig(index: DefinitionIndex, { record }: Held): StepConfig {
  const { step } = placeOf(index, record.stepId);
  if (step.compensate === undefined) throw new KilnError('internal', `"${step.id}" does not say how it is undone`);
  return { ...step.compensate, id: step.id };
}

/** Undoes one effect: an attempt like any other, with the compensation's own retry policy. */
export async function beginUndo(runtime: Runtime, held: Held, index: DefinitionIndex): Promise<void> {
  const config = undoConfig(index, held);
  const type = runtime.stepTypes.get(config.type);
  let resolved: Resolved;
  try {
    resolved = await resolveUndo(runtime, held, index, config, type);
    if (type.kind === 'compute') {
      const { record } = held;
      const input = {
        ref: record,
        config: parsedConfig(type, resolved),
        input: resolved.input,
        run: factsOf(held),
        now: runtime.clock.now(),
      };
      return await conclude(runtime, held, index, { kind: 'succeeded', output: canonicalJson(type.compute(input)) });
    }
    if (config.type === 'wait') throw new KilnError('definition.invalid', 'a compensation cannot wait for a time or an event');
    if (type.kind === 'wait') return await enterWait(runtime, held, type, resolved);
  } catch (error) {
    if (!isExpected(error)) throw error;
    return failed(runtime, held, toErrorRecord(error));
  }
  const timeoutMs = undoTimeout(config);
  const shown = canonicalJson({ ...resolved.config, inputs: resolved.input });
  const claimed = await claimStep(runtime, held, timeoutMs + LEASE_MARGIN_MS, held.record.attempt === 0 ? shown : undefined);
  const idempotent = config.idempotent ?? type.isIdempotent?.(config, runtime.services) ?? type.idempotent;
  await record(runtime, claimed, index, await attemptOutcome(runtime, claimed, type, resolved, timeoutMs), { config, idempotent });
}

function isExpected(error: unknown): boolean {
  return error instanceof BusinessException || (error instanceof KilnError && error.code !== 'internal');
}

/** Templates see what the step itself could see, its own output, and as `{{run.undoes…}}` what is undone. */
async function resolveUndo(runtime: Runtime, held: Held, index: DefinitionIndex, config: StepConfig, type: AnyStepType): Promise<Resolved> {
  const { record } = held;
  const key = undoneKey(record.key);
  const { docs } = await runtime.store.get([paths.step(record.accountId, record.runId, key)]);
  const target = docs[0] === undefined ? undefined : stepRecordSchema.parse(docs[0].data);
  const output = target?.output === undefined ? undefined : parseJson(await loadPayload(runtime.store, record, target.output));
  const templates = templatesOf(config, type.literalFields ?? []);
  const known = new Map<string, Json>([[record.stepId, output ?? null]]);
  const from = { ref: record, index, place: placeOf(index, record.stepId), loops: record.loops };
  const scope = await readScope(runtime.store, from, { references: templates.references, known });
  const undoes: Json = {
    key,
    outcome: target?.state === 'succeeded' ? 'succeeded' : 'unknown',
    idempotencyKey: await keyOfAttempts(runtime, record, target),
  };
  const found = resolveStep(
    config,
    templates,
    (reference) => {
      const value = scope.lookup(reference);
      return reference.root === 'run' && typeof value === 'object' && value !== null && !Array.isArray(value)
        ? { ...value, undoes }
        : value;
    },
    type.secretFields ?? [],
  );
  return secretive(held, found);
}

/** The key that the attempts of the step were handed. */
async function keyOfAttempts(runtime: Runtime, { accountId, runId, key }: StepRecord, target: StepRecord | undefined): Promise<string> {
  const { docs } = target?.effect === undefined ? { docs: [] } : await runtime.store.get([paths.effect(accountId, target.effect)]);
  return docs[0] === undefined
    ? idempotencyKey(runId, undoneKey(key))
    : effectIdempotencyKey(accountId, effectRecordSchema.parse(docs[0].data).key);
}

interface Policy {
  readonly config: StepConfig;
  readonly idempotent: boolean;
}

async function record(runtime: Runtime, claimed: Held, index: DefinitionIndex, outcome: AttemptOutcome, policy: Policy): Promise<void> {
  let held = claimed;
  for (let look = 0; look < LOOKS; look += 1) {
    try {
      if (outcome.kind === 'succeeded') await conclude(runtime, held, index, outcome);
      else if (outcome.kind === 'wait') await goOnWaiting(runtime, held, outcome.entered);
      else await afterError(runtime, held, outcome.error, policy);
      return;
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      const still = await stillHeld(runtime, claimed);
      if (still === undefined) return recordLateResult(runtime, claimed, outcome);
      held = still;
    }
  }
  throw new KilnError('internal', `the result of "${claimed.record.key}" could not be recorded`);
}

async function afterError(runtime: Runtime, held: Held, error: ErrorRecord, { config, idempotent }: Policy): Promise<void> {
  runtime.observe({ kind: 'attempt_failed', step: held.record, error });
  const policy = retryPolicySchema.parse(config.retry ?? {});
  const decision = decideAfterFailure({ error, attempt: held.record.attempt, policy, idempotent, random: runtime.random });
  if (decision.kind !== 'retry') return failed(runtime, held, error);
  const wakeAt = runtime.clock.now() + decision.delayMs;
  await runtime.doorbells.arm(held.record, wakeAt, 0);
  await suspend(runtime, held, { wait: { kind: 'retry' }, wakeAt, error });
}

async function failed(runtime: Runtime, held: Held, error: ErrorRecord): Promise<void> {
  await runtime.store.transaction(async (tx) => {
    for (const write of await undoFailedWrites(runtime, held, error, tx)) tx.write(write);
  });
}

async function conclude(runtime: Runtime, held: Held, index: DefinitionIndex, outcome: Outcome): Promise<void> {
  await runtime.store.transaction(async (tx) => {
    for (const write of await settledUndo(runtime, held, index, outcome, tx)) tx.write(write);
  });
}

/** An undoing whose process died. It is repeated when that is harmless; else somebody has to look. */
export async function undoLost(runtime: Runtime, held: Held, index: DefinitionIndex, error: ErrorRecord): Promise<void> {
  const config = undoConfig(index, held);
  const type = runtime.stepTypes.get(config.type);
  const idempotent = config.idempotent ?? (type.kind === 'effect' && (type.isIdempotent?.(config, runtime.services) ?? type.idempotent));
  const retryable: ErrorRecord = idempotent ? { ...error, class: 'retryable' } : error;
  await afterError(runtime, held, retryable, { config, idempotent });
}
