import { placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { parseDuration } from '../engine/duration.ts';
import { canonicalJson, digest } from '../engine/json.ts';
import { decideAfterFailure, retryPolicySchema } from '../engine/retry.ts';
import { heldStep, stepPath } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreConflict, StoreRefusal } from '../ledger/store.ts';
import { claim, finish, leaveUnresolved, suspend } from '../ledger/transitions.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { StepConfig } from '../model/definition.ts';
import type { EffectStepType, Performed } from '../steps/step-type.ts';
import { CallSecrets } from './call-secrets.ts';
import { activeLimit } from './guards.ts';
import type { Resolved } from './inputs.ts';
import { lookupsFor } from './lookups.ts';
import { factsOf, ownFields, parsedConfig, resolveConfig } from './resolve.ts';
import { runOutputOf } from './run-output.ts';
import type { Runtime } from './runtime.ts';

export const DEFAULT_STEP_TIMEOUT_MS = 60_000;
/** A step may not ask for longer than a function lives, less the time to record its end. */
export const MAX_STEP_TIMEOUT_MS = 500_000;
/** How much longer the lease lasts than the attempt: clock error, and the time to record the result. */
export const LEASE_MARGIN_MS = 15_000;

/** Claims the step, performs it, records what came of it. Three writes when it succeeds: claim, result, next step. */
export async function performAttempt(runtime: Runtime, held: Held, index: DefinitionIndex, type: EffectStepType<object>): Promise<void> {
  const { record } = held;
  const step = placeOf(index, record.stepId).step;
  const resolved = await resolveConfig(runtime, held, index, type);
  const timeoutMs = timeoutOf(step, activeLimit(index.definition) - record.activeMs);
  const claimed = await claimStep(
    runtime,
    held,
    timeoutMs + LEASE_MARGIN_MS,
    record.attempt === 0 ? canonicalJson(shownInput(type, resolved)) : undefined,
  );
  const outcome = await attemptOutcome(runtime, claimed, type, resolved, timeoutMs);
  await recordOutcome(runtime, claimed, index, step, outcome, type);
}

/** What people see as the step's input: its mapped inputs and its own fields, filled in; secrets stay references. */
function shownInput(type: EffectStepType<object>, { config, input }: Resolved): object {
  const shown = Object.entries(ownFields(config)).filter(([field]) => field !== 'type' && type.literalFields?.includes(field) !== true);
  return { ...Object.fromEntries(shown), ...(Object.keys(input).length === 0 ? {} : { inputs: input }) };
}

function timeoutOf(step: StepConfig, activeLeft: number): number {
  const wanted = step.timeout === undefined ? DEFAULT_STEP_TIMEOUT_MS : parseDuration(step.timeout, `${step.id}.timeout`);
  return Math.max(1, Math.min(wanted, MAX_STEP_TIMEOUT_MS, activeLeft));
}

/** A claim whose answer was lost is found again by its token; the client library may have sent it twice, which looks like a conflict. */
export async function claimStep(runtime: Runtime, held: Held, leaseMs: number, input: string | undefined): Promise<Held> {
  const token = runtime.token();
  try {
    return await claim(runtime, held, { token, leaseMs, ...(input === undefined ? {} : { input }) });
  } catch (error) {
    if (error instanceof StoreRefusal) throw error;
    const { docs } = await runtime.store.get([stepPath(held.record)]);
    const now = docs[0] === undefined ? undefined : heldStep(docs[0]);
    if (now?.record.state === 'running' && now.record.lease?.token === token) return now;
    throw error;
  }
}

/** How often a result looks for its place when something else touched the step. */
export const LOOKS = 8;

export type AttemptOutcome = Outcome | { readonly kind: 'error'; readonly error: ErrorRecord };

/** Performs a step type once, within its time. What it throws becomes a record. */
export async function attemptOutcome(
  runtime: Runtime,
  held: Held,
  type: EffectStepType<object>,
  resolved: Resolved,
  timeoutMs: number,
): Promise<AttemptOutcome> {
  const { record } = held;
  const secrets = new CallSecrets(runtime.services.secrets);
  let underWay = false;
  try {
    const { config, input } = secrets.fillFields(type, parsedConfig(type, resolved), resolved.input);
    const stillOurs = async (): Promise<boolean> => (await stillHeld(runtime, held)) !== undefined;
    const perform = (signal: AbortSignal): Promise<Performed> => {
      underWay = true;
      const performed = type.perform({
        ref: record,
        config,
        input,
        run: factsOf(held),
        now: runtime.clock.now(),
        attempt: record.attempt,
        idempotencyKey: idempotencyKey(record.runId, record.key),
        signal,
        timeoutMs,
        ...lookupsFor(runtime, held),
        secrets,
      });
      return performed.finally(() => (underWay = false));
    };
    const { output, details, writes } = await runtime.limitTime(timeoutMs, perform, stillOurs);
    return {
      kind: 'succeeded',
      output: secrets.text(output),
      ...(details === undefined ? {} : { details: secrets.text(details) }),
      ...(writes === undefined ? {} : { also: writes }),
    };
  } catch (thrown) {
    const error = secrets.error(toErrorRecord(thrown));
    // Given up on while it was under way: what it did, or will still do, nobody knows. A service that answers speaks for itself.
    return { kind: 'error', error: underWay ? { ...error, class: 'unknown_outcome' } : error };
  }
}

/** The same for every attempt, different for every step run. */
export function idempotencyKey(runId: string, key: string): string {
  return `kiln_${digest(`${runId}/${key}`).slice(0, 40)}`;
}

async function recordOutcome(
  runtime: Runtime,
  claimed: Held,
  index: DefinitionIndex,
  step: StepConfig,
  outcome: AttemptOutcome,
  type: EffectStepType<object>,
): Promise<void> {
  let held = claimed;
  for (let look = 0; look < LOOKS; look += 1) {
    try {
      if (outcome.kind === 'error') await afterError(runtime, held, index, step, outcome.error, type);
      else await finish(runtime, held, { index, outcome, runOutput: runOutputOf(runtime, held, index) });
      return;
    } catch (error) {
      if (error instanceof StoreRefusal) {
        await finish(runtime, held, {
          index,
          outcome: { kind: 'failed', error: toErrorRecord(new KilnError('payload.too_large', error.message)) },
        });
        return;
      }
      if (!(error instanceof StoreConflict)) throw error;
      const still = await stillHeld(runtime, claimed);
      if (still === undefined) {
        runtime.observe({ kind: 'late_result', step: claimed.record });
        return;
      }
      held = still;
    }
  }
  throw new KilnError('internal', `the result of "${claimed.record.key}" could not be recorded`);
}

/** Something touched the step meanwhile (a pause, progress). The lease's token says whether it is still ours. */
export async function stillHeld(runtime: Runtime, claimed: Held): Promise<Held | undefined> {
  const { docs } = await runtime.store.get([stepPath(claimed.record)]);
  const now = docs[0] === undefined ? undefined : heldStep(docs[0]);
  return now?.record.state === 'running' && now.record.lease?.token === claimed.record.lease?.token ? now : undefined;
}

async function afterError(
  runtime: Runtime,
  held: Held,
  index: DefinitionIndex,
  step: StepConfig,
  error: ErrorRecord,
  type: EffectStepType<object>,
): Promise<void> {
  const { record } = held;
  runtime.observe({ kind: 'attempt_failed', step: record, error });
  const idempotent = step.idempotent ?? type.isIdempotent?.(step, runtime.services) ?? type.idempotent;
  const policy = retryPolicySchema.parse(step.retry ?? {});
  const decision = decideAfterFailure({ error, attempt: record.attempt, policy, idempotent, random: runtime.random });
  switch (decision.kind) {
    case 'retry': {
      const wakeAt = runtime.clock.now() + decision.delayMs;
      await runtime.doorbells.arm(record, wakeAt, 0);
      await suspend(runtime, held, { wait: { kind: 'retry' }, wakeAt, error });
      return;
    }
    case 'unresolved':
      return leaveUnresolved(runtime, held, error);
    case 'fail':
    case 'exception':
      return finish(runtime, held, { index, outcome: { kind: 'failed', error }, runOutput: runOutputOf(runtime, held, index) });
  }
}
