import { canonicalJson, digest } from '../engine/json.ts';
import { claimEffect, preventedWrite } from '../ledger/effects.ts';
import type { EffectClaim } from '../ledger/effects.ts';
import { limitsOf, releaseSlot, takeSlot } from '../ledger/limits.ts';
import type { HeldSlot } from '../ledger/limits.ts';
import { loadPayload } from '../ledger/payloads.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreConflict } from '../ledger/store.ts';
import type { Write } from '../ledger/store.ts';
import { leaveUnresolved, suspend } from '../ledger/transitions.ts';
import type { Outcome } from '../ledger/transitions.ts';
import type { StepCommon, StepConfig } from '../model/definition.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { StepRecord } from '../model/step.ts';
import type { EffectStepType } from '../steps/step-type.ts';
import type { Resolved } from './inputs.ts';
import { askPermission } from './permission.ts';
import { effectKeyOf, ownFields, parsedConfig } from './resolve.ts';
import type { Runtime } from './runtime.ts';

export interface AdmissionRequest {
  readonly type: EffectStepType<object>;
  readonly step: StepConfig;
  readonly resolved: Resolved;
  /** Whether a run that has read outside content asks before it acts. */
  readonly guardTainted: boolean;
  /** How long a place of a limit is held at most. */
  readonly holdMs: number;
  /** Ends the step without performing it. */
  end(outcome: Outcome, also: readonly Write[]): Promise<void>;
}

export interface Admission {
  /** The effect that was claimed for the attempt. */
  readonly effect?: string;
  /** An earlier attempt may have brought the effect about: look before you act. */
  readonly doubt: boolean;
  /** Gives back what is held during the attempt only. */
  release(): Promise<void>;
}

/** Waiters come back at different times, so that they do not crowd. */
const SLOT_WAIT_MS = { least: 1_000, spread: 2_000 };
const EFFECT_WAIT_MS = { least: 2_000, spread: 3_000 };
const PEOPLE_WAIT_MS = { least: 60_000, spread: 30_000 };
const EFFECT_PATIENCE_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * Everything that must be in order before an attempt begins: permission where outsiders may have had a say, the claim on an effect
 * that must not happen twice, a place of each limit. Undefined when the step does not begin now: it waits, or has ended. Costs
 * nothing where a step uses none of it.
 */
export async function admit(runtime: Runtime, held: Held, request: AdmissionRequest): Promise<Admission | undefined> {
  const { type, step, resolved } = request;
  const config = parsedConfig(type, resolved);
  const guard = request.guardTainted ? type.guard?.(config) : undefined;
  if (guard !== undefined && (await askPermission(runtime, held, { guard, config, input: resolved.input }))) return undefined;
  const key = effectKeyOf(config);
  const claim = key === undefined ? undefined : await claimFor(runtime, held, request, config, key);
  if (claim !== undefined && claim.kind !== 'claimed') {
    await insteadOfActing(runtime, held, request, claim, requestDigest(type, config, resolved));
    return undefined;
  }
  const names = [type.limit, step.limit].filter((name) => name !== undefined);
  const slots = await takePlaces(runtime, held, names, request.holdMs);
  if (slots === undefined) return undefined;
  return {
    ...(claim === undefined ? {} : { effect: claim.id }),
    doubt: claim?.doubt === true || lastAttemptUnknown(held.record),
    release: async () => {
      for (const slot of slots) await releaseSlot(runtime, slot);
    },
  };
}

function claimFor(
  runtime: Runtime,
  { record }: Held,
  { type, step, resolved }: AdmissionRequest,
  config: object & StepCommon,
  key: string,
): Promise<EffectClaim> {
  const idempotent = step.idempotent ?? type.isIdempotent?.(step, runtime.services) ?? type.idempotent;
  return claimEffect(runtime, {
    key,
    step: record,
    attempt: record.attempt + 1,
    request: requestDigest(type, config, resolved),
    canConfirm: idempotent || step.confirm !== undefined,
  });
}

function requestDigest(type: EffectStepType<object>, config: object & StepCommon, { input }: Resolved): string {
  return digest(canonicalJson({ type: type.type, config: ownFields({ ...config }), input }));
}

async function insteadOfActing(
  runtime: Runtime,
  held: Held,
  request: AdmissionRequest,
  claim: Exclude<EffectClaim, { kind: 'claimed' }>,
  asked: string,
): Promise<void> {
  const { record } = held;
  switch (claim.kind) {
    case 'settled': {
      const { runId, stepKey, key, result, request: recorded } = claim.record;
      const output = result === undefined ? 'null' : await loadPayload(runtime.store, claim.record, result);
      // Asked for something else under the same key: shown, since it is likely a mistake, but what has happened has happened.
      const effect = { key, prevented: true, runId, stepKey, ...(recorded === asked ? {} : { differs: true }) };
      return request.end({ kind: 'succeeded', output, details: canonicalJson({ effect }) }, [preventedWrite(record.accountId, claim.id)]);
    }
    case 'busy':
      if (runtime.clock.now() - record.createdAt > EFFECT_PATIENCE_MS)
        throw new KilnError('effect.busy', `another run has held the effect of "${record.key}" for too long`);
      return comeBack(runtime, held, 'effect', claim.people ? PEOPLE_WAIT_MS : EFFECT_WAIT_MS);
    case 'unknown': {
      const { key, runId, stepKey } = claim.record;
      const message = `nobody knows whether the effect "${key}" happened: step "${stepKey}" of run ${runId} ended without an answer`;
      return leaveUnresolved(runtime, held, toErrorRecord(new KilnError('effect.unknown', message, { data: { runId, stepKey } })));
    }
  }
}

/** A place of each limit, or undefined when one of them is full. Limits are a brake: when they cannot be asked, nothing stands still. */
async function takePlaces(
  runtime: Runtime,
  held: Held,
  names: readonly string[],
  holdMs: number,
): Promise<readonly HeldSlot[] | undefined> {
  const slots: HeldSlot[] = [];
  const { accountId, runId, key } = held.record;
  for (const name of names) {
    let slot: HeldSlot | undefined | 'open';
    try {
      const count = Object.entries(await limitsOf(runtime, accountId)).find(([known]) => known === name)?.[1];
      if (count === undefined) throw new KilnError('limit.unknown', `the account has no limit "${name}"`);
      slot = await takeSlot(runtime, { accountId, name, count, kind: 'call', holder: `${runId}/${key}`, holdMs });
    } catch (error) {
      if (error instanceof KilnError || error instanceof StoreConflict) throw error;
      runtime.observe({ kind: 'limiter_failed', step: held.record, limit: name, message: toErrorRecord(error).message });
      slot = 'open';
    }
    if (slot === undefined) {
      for (const taken of slots) await releaseSlot(runtime, taken);
      await comeBack(runtime, held, name, SLOT_WAIT_MS);
      return undefined;
    }
    if (slot !== 'open') slots.push(slot);
  }
  return slots;
}

/** Waits without holding anything. */
async function comeBack(
  runtime: Runtime,
  held: Held,
  limit: string,
  wait: { readonly least: number; readonly spread: number },
): Promise<void> {
  const wakeAt = Math.round(runtime.clock.now() + wait.least + runtime.random() * wait.spread);
  await runtime.doorbells.arm(held.record, wakeAt, 0);
  await suspend(runtime, held, { wait: { kind: 'slot', limit }, wakeAt });
}

function lastAttemptUnknown({ attempts }: StepRecord): boolean {
  const last = attempts.at(-1);
  return last?.outcome === 'lost' || last?.error?.class === 'unknown_outcome';
}
