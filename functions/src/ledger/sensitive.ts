import type { DefinitionIndex } from '../engine/definition-index.ts';
import { canonicalJson } from '../engine/json.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { StepRecord } from '../model/step.ts';
import { storePayload } from './payloads.ts';
import type { Write } from './store.ts';
import type { Outcome } from './transitions.ts';

/** What members read instead. */
export const HIDDEN = '(sensitive)';

/** Marks payloads that the rules keep for operators; undefined where everybody may read them. */
export function guardOf({ sensitive }: Pick<StepRecord, 'sensitive'>): { readonly sensitive: true } | undefined {
  return sensitive === undefined ? undefined : { sensitive: true };
}

/** Whether a run's output is for operators: its template says so, or the step whose output it is. */
export function outputGuard(
  { definition, sensitivity }: DefinitionIndex,
  { sensitive }: StepRecord,
): { readonly sensitive: true } | undefined {
  const hidden = sensitive === 'run' || (definition.output === undefined ? sensitive !== undefined : sensitivity.output);
  return hidden ? { sensitive: true } : undefined;
}

/**
 * What everybody may know of the failure of a sensitive step: that it failed, and how to act on it. What it says may repeat what
 * the step was given; that is kept for operators in a payload, which `data.kept` names.
 */
export function shownError(record: StepRecord, error: ErrorRecord): { readonly error: ErrorRecord; readonly writes: readonly Write[] } {
  const guard = guardOf(record);
  if (guard === undefined || error.message === HIDDEN) return { error, writes: [] };
  const stored = storePayload(record, `${record.key}~error~${record.attempt}`, canonicalJson(error), guard);
  const { code, class: kind, retryAfterMs } = error;
  const shown = { code, class: kind, message: HIDDEN, data: { kept: `${stored.payload.partsId ?? ''}~0` } };
  return { error: { ...shown, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }, writes: stored.writes };
}

/** An end as everybody may see it. */
export function shownEnd<E extends { readonly outcome: Outcome; readonly also?: readonly Write[] | undefined }>(
  record: StepRecord,
  end: E,
): E {
  if (end.outcome.kind !== 'failed') return end;
  const { error, writes } = shownError(record, end.outcome.error);
  return { ...end, outcome: { ...end.outcome, error }, also: [...(end.also ?? []), ...writes] };
}
