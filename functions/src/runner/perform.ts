import { placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { parseDuration } from '../engine/duration.ts';
import { canonicalJson } from '../engine/json.ts';
import { decideAfterFailure, retryPolicySchema } from '../engine/retry.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreConflict, StoreRefusal } from '../ledger/store.ts';
import { finish, leaveUnresolved, suspend } from '../ledger/transitions.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { StepConfig } from '../model/definition.ts';
import type { EffectStepType, Entered } from '../steps/step-type.ts';
import { admit } from './admission.ts';
import { attemptOutcome, claimStep, stillHeld } from './attempt.ts';
import type { AttemptOutcome } from './attempt.ts';
import { confirmedOutcome } from './confirm.ts';
import { withEdits } from './edited-input.ts';
import { activeLimit } from './guards.ts';
import { recordLateResult } from './late-result.ts';
import type { Resolved } from './inputs.ts';
import { ownFields, resolveConfig } from './resolve.ts';
import { runOutputOf } from './run-output.ts';
import type { Runtime } from './runtime.ts';

export { attemptOutcome, claimStep, idempotencyKey, stillHeld } from './attempt.ts';
export type { AttemptOutcome } from './attempt.ts';

export const DEFAULT_STEP_TIMEOUT_MS = 60_000;
/** A step may not ask for longer than a function lives, less the time to record its end. */
export const MAX_STEP_TIMEOUT_MS = 500_000;
/** How much longer the lease lasts than the attempt: clock error, and the time to record the result. */
export const LEASE_MARGIN_MS = 15_000;

/** Claims the step, performs it, records what came of it. Three writes when it succeeds: claim, result, next step. */
export async function performAttempt(runtime: Runtime, held: Held, index: DefinitionIndex, type: EffectStepType<object>): Promise<void> {
  const { record } = held;
  const step = placeOf(index, record.stepId).step;
  const resolved = await withEdits(runtime, held, type, await resolveConfig(runtime, held, index, type));
  const timeoutMs = timeoutOf(step, activeLimit(index.definition) - record.activeMs);
  const admission = await admit(runtime, held, {
    type,
    step,
    resolved,
    guardTainted: index.definition.guardTainted ?? true,
    holdMs: 2 * timeoutMs + LEASE_MARGIN_MS,
    end: (outcome, also) => finish(runtime, held, { index, outcome, also, runOutput: runOutputOf(runtime, held, index) }),
  });
  if (admission === undefined) return;
  const { confirm } = admission.doubt ? step : {};
  const leaseMs = (confirm === undefined ? 1 : 2) * timeoutMs + LEASE_MARGIN_MS;
  let claimed: Held;
  let outcome: AttemptOutcome;
  try {
    const fresh = record.attempt === 0 || record.editedInput !== undefined;
    claimed = await claimStep(runtime, held, leaseMs, fresh ? canonicalJson(shownInput(type, resolved)) : undefined, admission.effect);
    const confirmed = confirm === undefined ? undefined : await confirmedOutcome(runtime, claimed, index, confirm, timeoutMs);
    outcome = confirmed ?? (await attemptOutcome(runtime, claimed, type, resolved, timeoutMs));
  } finally {
    await admission.release();
  }
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

/** How often a result looks for its place when something else touched the step. */
export const LOOKS = 8;

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
      if (outcome.kind === 'error') await afterError(runtime, held, index, step, outcome, type);
      else if (outcome.kind === 'wait') await goOnWaiting(runtime, held, outcome.entered);
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
      if (still === undefined) return recordLateResult(runtime, claimed, outcome);
      held = still;
    }
  }
  throw new KilnError('internal', `the result of "${claimed.record.key}" could not be recorded`);
}

/** The attempt is over; what it found out is now with a person, or with time. */
export async function goOnWaiting(runtime: Runtime, held: Held, entered: Entered): Promise<void> {
  if (entered.wakeAt !== undefined) await runtime.doorbells.arm(held.record, entered.wakeAt, 0, held.updateTime);
  await suspend(runtime, held, {
    wait: entered.wait,
    also: entered.writes,
    attemptOver: true,
    ...(entered.wakeAt === undefined ? {} : { wakeAt: entered.wakeAt }),
    ...(entered.details === undefined ? {} : { details: canonicalJson(entered.details) }),
  });
}

async function afterError(
  runtime: Runtime,
  held: Held,
  index: DefinitionIndex,
  step: StepConfig,
  outcome: Extract<AttemptOutcome, { kind: 'error' }>,
  type: EffectStepType<object>,
): Promise<void> {
  const { record } = held;
  const { error } = outcome;
  const details = outcome.details === undefined ? {} : { details: outcome.details };
  runtime.observe({ kind: 'attempt_failed', step: record, error });
  const idempotent = step.idempotent ?? type.isIdempotent?.(step, runtime.services) ?? type.idempotent;
  const policy = retryPolicySchema.parse(step.retry ?? {});
  // With a way to look it up, an unknown outcome is tried again: the next attempt begins by looking.
  const canConfirm = step.confirm !== undefined;
  const found = decideAfterFailure({
    error,
    attempt: record.attempt,
    policy,
    idempotent: idempotent || canConfirm,
    random: runtime.random,
  });
  const decision = found.kind === 'fail' && error.class === 'unknown_outcome' && !idempotent ? ({ kind: 'unresolved' } as const) : found;
  switch (decision.kind) {
    case 'retry': {
      const wakeAt = runtime.clock.now() + decision.delayMs;
      await runtime.doorbells.arm(record, wakeAt, 0);
      await suspend(runtime, held, { wait: { kind: 'retry' }, wakeAt, error, ...details });
      return;
    }
    case 'unresolved':
      return leaveUnresolved(runtime, held, error);
    case 'fail':
    case 'exception':
      return finish(runtime, held, { index, outcome: { kind: 'failed', error, ...details }, runOutput: runOutputOf(runtime, held, index) });
  }
}
