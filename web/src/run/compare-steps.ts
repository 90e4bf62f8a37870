/** Two runs step by step. Pure. */
import type { StepRecord } from '@model/step.ts';

export interface Compared {
  readonly key: string;
  readonly there: StepRecord | undefined;
  readonly here: StepRecord | undefined;
  readonly same: boolean;
}

/** In the order of the original; what is only in the fork follows. Joins are left out. */
export function compareSteps(original: readonly StepRecord[], fork: readonly StepRecord[]): readonly Compared[] {
  const here = new Map(fork.filter((step) => step.join === undefined).map((step) => [step.key, step]));
  const there = original.filter((step) => step.join === undefined);
  const known = new Set(there.map((step) => step.key));
  const both = there.map((step) => compared(step.key, step, here.get(step.key)));
  const added = [...here.values()].filter((step) => !known.has(step.key)).map((step) => compared(step.key, undefined, step));
  return [...both, ...added];
}

function compared(key: string, there: StepRecord | undefined, here: StepRecord | undefined): Compared {
  return {
    key,
    there,
    here,
    same: there !== undefined && here !== undefined && there.state === here.state && there.output?.digest === here.output?.digest,
  };
}
