import { parseDuration } from '../engine/duration.ts';
import { definitionLimits } from '../model/definition.ts';
import type { Definition } from '../model/definition.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { StepRecord } from '../model/step.ts';

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

/** The run's limit of active time, ms. */
export function activeLimit(definition: Limited): number {
  return definition.timeout === undefined ? DEFAULT_ACTIVE_LIMIT_MS : parseDuration(definition.timeout, 'timeout');
}
