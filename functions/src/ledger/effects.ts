import { didNothing } from '../engine/harmless.ts';
import { z } from 'zod';
import { canonicalJson, digest } from '../engine/json.ts';
import { effectRecordSchema } from '../model/effect.ts';
import type { EffectRecord } from '../model/effect.ts';
import { KilnError } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { Payload } from '../model/payload.ts';
import { paths } from '../model/paths.ts';
import { isLive } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { appendAudit } from './history.ts';
import { storePayload } from './payloads.ts';
import { heldStep } from './steps.ts';
import { increment, remove, StoreConflict } from './store.ts';
import type { Transaction, Write } from './store.ts';
import type { DatabaseClock } from './clock.ts';
import type { Store } from './store.ts';

interface Ledger {
  readonly store: Store;
  readonly clock: DatabaseClock;
}

export interface EffectRequest {
  readonly key: string;
  readonly step: Pick<StepRecord, 'accountId' | 'runId' | 'key'>;
  /** The attempt about to begin. */
  readonly attempt: number;
  /** Digest of what is asked. */
  readonly request: string;
  /** Whether the step can look up if an effect happened. */
  readonly canConfirm: boolean;
}

export type EffectClaim =
  /** Ours. `doubt`: an attempt of somebody else may have brought it about; look first. */
  | { readonly kind: 'claimed'; readonly id: string; readonly doubt: boolean }
  /** It happened before: this is what came of it. */
  | { readonly kind: 'settled'; readonly id: string; readonly record: EffectRecord }
  /** Somebody else is at it. `people`: what holds it up is a person. */
  | { readonly kind: 'busy'; readonly people: boolean }
  /** Nobody knows whether it happened, and nothing can look it up. */
  | { readonly kind: 'unknown'; readonly record: EffectRecord };

/** The document of an effect. Business keys are any text, so their digest names it. */
export function effectId(key: string): string {
  return digest(key);
}

/** Claims an effect before it is brought about. Runs before the step itself is claimed: a claim of an attempt that never began is void. */
export function claimEffect(ledger: Ledger, request: EffectRequest): Promise<EffectClaim> {
  const { accountId } = request.step;
  const id = effectId(request.key);
  const path = paths.effect(accountId, id);
  return ledger.store.transaction(async (tx): Promise<EffectClaim> => {
    const { docs } = await tx.get([path, paths.step(accountId, request.step.runId, request.step.key)]);
    // A late caller, whose step has moved on, must not touch what the step holds by now.
    const step = docs[1] === undefined ? undefined : heldStep(docs[1]).record;
    if (step === undefined || !isLive(step.state) || step.attempt !== request.attempt - 1) throw new StoreConflict('the step has moved on');
    const now = ledger.clock.now();
    const before = docs[0] === undefined ? undefined : effectRecordSchema.parse(docs[0].data);
    const take = (doubt: boolean): EffectClaim => {
      const record: EffectRecord = {
        v: 1,
        accountId,
        key: request.key,
        state: 'claimed',
        runId: request.step.runId,
        stepKey: request.step.key,
        attempt: request.attempt,
        request: request.request,
        prevented: before?.prevented ?? 0,
        claimedAt: now,
      };
      tx.write({ op: 'set', path, data: record });
      return { kind: 'claimed', id, doubt };
    };
    if (before === undefined) return take(false);
    if (before.state === 'settled') return { kind: 'settled', id, record: before };
    const own = before.runId === request.step.runId && before.stepKey === request.step.key;
    // What is known of an own earlier attempt stands on the step: whoever begins it again has decided that.
    if (own) return take(false);
    switch (await otherHolder(tx, before)) {
      case 'nothing_done':
        return take(false);
      case 'working':
        return { kind: 'busy', people: false };
      case 'people':
        if (!request.canConfirm) return { kind: 'busy', people: true };
        // What the person says of the other step no longer moves the effect: our look-up does.
        tx.write({ op: 'update', path: paths.step(accountId, before.runId, before.stepKey), data: { effect: remove } });
        return take(true);
      case 'unknown':
        return request.canConfirm ? take(true) : { kind: 'unknown', record: before };
    }
  });
}

/** What has become of the step that holds the effect. */
async function otherHolder(tx: Transaction, effect: EffectRecord): Promise<'nothing_done' | 'working' | 'people' | 'unknown'> {
  const { docs } = await tx.get([paths.step(effect.accountId, effect.runId, effect.stepKey)]);
  if (docs[0] === undefined) return 'unknown';
  const { record } = heldStep(docs[0]);
  const began = record.attempt >= effect.attempt;
  if (isLive(record.state)) return record.state === 'unresolved' ? 'people' : 'working';
  return began ? 'unknown' : 'nothing_done';
}

/** One more time that an effect was not repeated. */
export function preventedWrite(accountId: string, id: string): Write {
  return { op: 'update', path: paths.effect(accountId, id), data: { prevented: increment(1) } };
}

/**
 * What the end of a step means for the effect that it holds; written in the same commit. A success settles it, a failure that did
 * nothing gives it back, and where nobody knows, that is said.
 */
export function effectEndWrites(record: StepRecord, end: { result: Payload } | { error: ErrorRecord }, now: number): readonly Write[] {
  const { accountId, effect } = record;
  if (effect === undefined) return [];
  const path = paths.effect(accountId, effect);
  if ('result' in end) return [{ op: 'update', path, data: { state: 'settled', result: end.result, settledAt: now } }];
  return didNothing(end.error) ? [{ op: 'delete', path }] : effectDoubtWrites(record);
}

/** Nobody knows whether the effect of the step happened. */
export function effectDoubtWrites({ accountId, effect }: Pick<StepRecord, 'accountId' | 'effect'>): readonly Write[] {
  return effect === undefined ? [] : [{ op: 'update', path: paths.effect(accountId, effect), data: { state: 'unknown' } }];
}

export const settleEffectInput = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{64}$/),
  /** What the person found in the target system. */
  happened: z.boolean(),
  /** The result, where it happened: what later runs get. */
  result: z.json().optional(),
  reason: z.string().min(1).max(1_000),
});

/** A person looked, and says whether an effect happened whose step has ended without an answer. */
export async function settleEffect(
  ledger: Ledger,
  actor: { readonly accountId: string; readonly uid: string },
  { id, happened, result, reason }: z.infer<typeof settleEffectInput>,
): Promise<void> {
  const path = paths.effect(actor.accountId, id);
  await ledger.store.transaction(async (tx) => {
    const { docs } = await tx.get([path]);
    if (docs[0] === undefined) throw new KilnError('request.invalid', 'there is no such effect in this account');
    const effect = effectRecordSchema.parse(docs[0].data);
    if (effect.state !== 'unknown') throw new KilnError('request.invalid', `the effect is ${effect.state}; nothing is left to settle`);
    const now = ledger.clock.now();
    const text = `"${effect.key}" ${happened ? 'happened' : 'did not happen'}: ${reason}`;
    const audit = await appendAudit(tx, actor.accountId, [{ kind: 'effect_settled', by: actor.uid, text, data: { id, happened } }], now);
    const stored = storePayload(effect, `effect~${id.slice(0, 16)}`, canonicalJson(result ?? null));
    if (happened) tx.write({ op: 'update', path, data: { state: 'settled', result: stored.payload, settledAt: now } });
    else tx.write({ op: 'delete', path });
    for (const write of [...(happened ? stored.writes : []), ...audit]) tx.write(write);
  });
}
