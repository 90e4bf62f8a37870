import { parseDuration } from '../engine/duration.ts';
import { decideAfterFailure, retryPolicySchema } from '../engine/retry.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreConflict, StoreRefusal } from '../ledger/store.ts';
import { leaveUnresolved, suspend } from '../ledger/transitions.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import {
  claimStep,
  DEFAULT_STEP_TIMEOUT_MS,
  goOnWaiting,
  LEASE_MARGIN_MS,
  LOOKS,
  MAX_STEP_TIMEOUT_MS,
  stillHeld,
} from '../runner/perform.ts';
import { recordLateResult } from '../runner/late-result.ts';
import type { AttemptOutcome } from '../runner/perform.ts';
import type { Runtime } from '../runner/runtime.ts';
import { policyOf } from './baton.ts';
import type { StepOptions } from './step-api.ts';

export interface Attempt {
  readonly timeoutMs: number;
  /** Canonical JSON that people see as the step's input. */
  readonly input?: string;
  /** The effect that was claimed for it. */
  readonly effect?: string;
  perform(claimed: Held): Promise<AttemptOutcome>;
  /** Records an outcome that stands: success, or a failure that is not tried again. */
  conclude(held: Held, outcome: Outcome): Promise<void>;
}

/** Claims the step, performs it, and records what came of it. */
export async function attemptStep(runtime: Runtime, held: Held, attempt: Attempt): Promise<void> {
  const input = held.record.attempt === 0 ? attempt.input : undefined;
  const claimed = await claimStep(runtime, held, attempt.timeoutMs + LEASE_MARGIN_MS, input, attempt.effect);
  await recordOutcome(runtime, claimed, await attempt.perform(claimed), (now, outcome) => attempt.conclude(now, outcome));
}

type Conclude = (held: Held, outcome: Outcome) => Promise<void>;

/** Records what an attempt came to, however often something else touches the step meanwhile, as long as the lease is still ours. */
export async function recordOutcome(runtime: Runtime, claimed: Held, outcome: AttemptOutcome, conclude: Conclude): Promise<void> {
  let held = claimed;
  let current = outcome;
  for (let look = 0; look < LOOKS; look += 1) {
    try {
      if (current.kind === 'error') await afterError(runtime, held, current.error, conclude);
      else if (current.kind === 'wait') await goOnWaiting(runtime, held, current.entered);
      else await conclude(held, current);
      return;
    } catch (error) {
      if (error instanceof StoreRefusal) {
        current = { kind: 'failed', error: toErrorRecord(new KilnError('payload.too_large', error.message)) };
        continue;
      }
      if (!(error instanceof StoreConflict)) throw error;
      const still = await stillHeld(runtime, claimed);
      if (still === undefined) return recordLateResult(runtime, claimed, current);
      held = still;
    }
  }
  throw new KilnError('internal', `the result of "${claimed.record.key}" could not be recorded`);
}

async function afterError(runtime: Runtime, held: Held, error: ErrorRecord, conclude: Conclude): Promise<void> {
  const { record } = held;
  runtime.observe({ kind: 'attempt_failed', step: record, error });
  const { idempotent, retry } = policyOf(record);
  const policy = retryPolicySchema.parse(retry ?? {});
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
      return conclude(held, { kind: 'failed', error });
  }
}

/** The limit of one attempt: what the step asks for, within what the platform and the run's active time leave. */
export function timeoutOf(options: StepOptions, activeLeft: number): number {
  const wanted = options.timeout === undefined ? DEFAULT_STEP_TIMEOUT_MS : parseDuration(options.timeout, 'timeout');
  return Math.max(1, Math.min(wanted, MAX_STEP_TIMEOUT_MS, activeLeft));
}
