import { digest } from '../engine/json.ts';
import { StoredAnswers } from '../ledger/answers.ts';
import { heldStep, stepPath } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreRefusal } from '../ledger/store.ts';
import { claim } from '../ledger/transitions.ts';
import type { Outcome } from '../ledger/transitions.ts';
import type { StepCommon } from '../model/definition.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { StepRecord } from '../model/step.ts';
import type { EffectStepType, Entered, Performed } from '../steps/step-type.ts';
import { CallSecrets } from './call-secrets.ts';
import type { Resolved } from './inputs.ts';
import { lookupsFor } from './lookups.ts';
import { AttemptProgress } from './progress.ts';
import { effectKeyOf, factsOf, parsedConfig } from './resolve.ts';
import type { Runtime } from './runtime.ts';

const OWN_DEADLINE_MS = 250;

/** A claim whose answer was lost is found again by its token; the client library may have sent it twice, which looks like a conflict. */
export async function claimStep(runtime: Runtime, held: Held, leaseMs: number, input: string | undefined, effect?: string): Promise<Held> {
  const token = runtime.token();
  try {
    return await claim(runtime, held, {
      token,
      leaseMs,
      ...(input === undefined ? {} : { input }),
      ...(effect === undefined ? {} : { effect }),
    });
  } catch (error) {
    if (error instanceof StoreRefusal) throw error;
    const { docs } = await runtime.store.get([stepPath(held.record)]);
    const now = docs[0] === undefined ? undefined : heldStep(docs[0]);
    if (now?.record.state === 'running' && now.record.lease?.token === token) return now;
    throw error;
  }
}

/** What an attempt came to: an outcome, an error, or that the step goes on waiting for something (a person, for example). */
export type AttemptOutcome =
  | Outcome
  | { readonly kind: 'error'; readonly error: ErrorRecord; readonly details?: string }
  | { readonly kind: 'wait'; readonly entered: Entered };

export type SettledOutcome = Exclude<AttemptOutcome, { readonly kind: 'wait' }>;

/** For a configuration that stands inside a step (a compensation, a check), where nobody can be waited for. */
export function settled(outcome: AttemptOutcome): SettledOutcome {
  if (outcome.kind !== 'wait') return outcome;
  return {
    kind: 'error',
    error: toErrorRecord(new KilnError('step.failed', 'the step would have to wait for a person, which it cannot do here')),
  };
}

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
  const progress = new AttemptProgress(runtime, held);
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
        idempotencyKey: keyFor(record, config),
        signal,
        // The adapters know whether a call had left when its time was over; so their deadline comes first.
        timeoutMs: Math.max(1, timeoutMs - OWN_DEADLINE_MS),
        ...lookupsFor(runtime, held),
        secrets,
        ...(config.sensitive === true ? {} : { progress: (text) => progress.show(secrets.plain(text)) }),
        answers: new StoredAnswers(runtime.store, record, config.sensitive === true),
      });
      return performed.finally(() => (underWay = false));
    };
    const performed = await runtime.limitTime(timeoutMs, perform, stillOurs);
    if ('wait' in performed) return { kind: 'wait', entered: performed.wait };
    if ('failure' in performed) {
      const error = secrets.error(toErrorRecord(performed.failure));
      return { kind: 'error', error, details: secrets.text(performed.details) };
    }
    const { output, details, writes } = performed;
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
  } finally {
    await progress.close();
  }
}

/** The same for every attempt; for an effect with a business key, the same in every run. */
function keyFor({ accountId, runId, key }: StepRecord, config: StepCommon): string {
  const effectKey = effectKeyOf(config);
  return effectKey === undefined ? idempotencyKey(runId, key) : effectIdempotencyKey(accountId, effectKey);
}

export function effectIdempotencyKey(accountId: string, effectKey: string): string {
  return `kiln_${digest(`effect/${accountId}/${effectKey}`).slice(0, 40)}`;
}

/** The same for every attempt, different for every step run. */
export function idempotencyKey(runId: string, key: string): string {
  return `kiln_${digest(`${runId}/${key}`).slice(0, 40)}`;
}

/** Something touched the step meanwhile (a pause, progress). The lease's token says whether it is still ours. */
export async function stillHeld(runtime: Runtime, claimed: Held): Promise<Held | undefined> {
  const { docs } = await runtime.store.get([stepPath(claimed.record)]);
  const now = docs[0] === undefined ? undefined : heldStep(docs[0]);
  return now?.record.state === 'running' && now.record.lease?.token === claimed.record.lease?.token ? now : undefined;
}
