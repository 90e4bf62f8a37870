import type { StepRecord } from '../model/step.ts';
import type { LoopFrame } from '../model/step.ts';
import type { DefinitionIndex } from './definition-index.ts';
import { didNothing } from './harmless.ts';

/** One effect to undo. */
export interface Undo {
  /** The key of the step whose effect it is. */
  readonly key: string;
  readonly stepId: string;
  readonly loops: readonly LoopFrame[];
  /** When the step's last attempt began, where nobody saw its end: it may still be at work. */
  readonly openSince?: number;
  /** What is undone was sensitive; so is undoing it. */
  readonly sensitive?: true;
}

/**
 * What a run has to undo, the first to be undone first: the steps that declare a compensation and took effect, or may have, in
 * the reverse order of their ends. A step registers by beginning, not by succeeding: one that nobody knows the outcome of is
 * undone as well.
 */
export function planCompensation(index: DefinitionIndex, steps: readonly StepRecord[]): readonly Undo[] {
  return steps
    .filter((step) => index.places.get(step.stepId)?.step.compensate !== undefined && !step.type.startsWith('$') && mayHaveActed(step))
    .sort((a, b) => endOf(b) - endOf(a) || b.seq - a.seq || (a.key < b.key ? 1 : -1))
    .map((step) => {
      const last = step.attempts.at(-1);
      const open = last !== undefined && last.endedAt === undefined;
      return {
        key: step.key,
        stepId: step.stepId,
        loops: step.loops,
        ...(open ? { openSince: last.startedAt } : {}),
        ...(step.sensitive === undefined ? {} : { sensitive: true as const }),
      };
    });
}

/** A skipped step did nothing itself. A failed one may have, unless each of its attempts ended in an answer that rules it out. */
export function mayHaveActed(step: StepRecord): boolean {
  if (step.state === 'succeeded') return true;
  if (step.state === 'skipped') return false;
  return step.attempts.some(({ outcome, error }) => outcome !== 'failed' || error === undefined || !didNothing(error));
}

function endOf(step: StepRecord): number {
  return step.endedAt ?? step.attempts.at(-1)?.endedAt ?? step.createdAt;
}
