import { parseDuration } from '../engine/duration.ts';
import { definitionLimits } from '../model/definition.ts';
import type { Definition } from '../model/definition.ts';
import type { Held } from '../ledger/steps.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import type { Runtime } from './runtime.ts';

export const DEFAULT_ACTIVE_LIMIT_MS = 5 * 60_000;

/** What limits a run, of either kind. */
export type Limited = Pick<Definition, 'timeout' | 'limits'>;

/** The limit that a step about to begin has run into, if any: it ends the whole run. */
export function guardOf(record: StepRecord, definition: Limited, now: number): ErrorRecord | undefined {
  if (record.deadlineAt !== undefined && now >= record.deadlineAt) {
    return toErrorRecord(new KilnError('run.deadline', `the run's deadline passed before "${record.key}" began`));
  }
  const limit = activeLimit(definition);
  if (record.activeMs >= limit) {
    return toErrorRecord(
      new KilnError('run.active_timeout', `the run was active for ${Math.round(record.activeMs)} ms; its limit is ${limit} ms`),
    );
  }
  const maxSteps = definition.limits?.maxSteps ?? definitionLimits.maxSteps;
  if (record.seq > maxSteps) {
    return toErrorRecord(new KilnError('run.too_many_steps', `the run reached its limit of ${maxSteps} steps at "${record.key}"`));
  }
  return undefined;
}

/**
 * The same for a step as it is held. Where the deadline that the step carries has passed, the run is asked: an operator may have
 * given it more time, which the step and those after it take over.
 */
export async function guarded(runtime: Pick<Runtime, 'store' | 'clock'>, held: Held, limits: Limited): Promise<Guarded> {
  const guard = guardOf(held.record, limits, runtime.clock.now());
  if (guard?.code !== 'run.deadline') return { held, guard };
  const { accountId, runId } = held.record;
  const { docs } = await runtime.store.get([paths.run(accountId, runId)]);
  const deadlineAt = docs[0] === undefined ? undefined : runRecordSchema.parse(docs[0].data).deadlineAt;
  if (deadlineAt === undefined || runtime.clock.now() >= deadlineAt) return { held, guard };
  const extended: Held = { ...held, record: { ...held.record, deadlineAt } };
  return { held: extended, guard: guardOf(extended.record, limits, runtime.clock.now()) };
}

export interface Guarded {
  readonly held: Held;
  readonly guard: ErrorRecord | undefined;
}

/** The run's limit of active time, ms. */
export function activeLimit(definition: Limited): number {
  return definition.timeout === undefined ? DEFAULT_ACTIVE_LIMIT_MS : parseDuration(definition.timeout, 'timeout');
}
