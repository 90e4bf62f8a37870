/** How each step of a definition stands in a run: one mark for all its iterations. Pure. */
import { isLive, type StepRecord } from '@model/step.ts';
import type { Mark } from '../graph/graph-view.tsx';
import type { Catalogue } from '../text/en/index.ts';
import { stepLook } from '../ui/status.tsx';

/** The state that matters most: what failed, then what is going on, then what is done. */
function weight(step: StepRecord): number {
  if (step.state === 'failed' || step.state === 'unresolved') return 3;
  if (isLive(step.state)) return 2;
  return step.state === 'succeeded' ? 1 : 0;
}

export interface Standing {
  readonly step: StepRecord;
  readonly done: number;
  readonly total: number;
}

export function standings(steps: readonly StepRecord[]): ReadonlyMap<string, Standing> {
  const all = new Map<string, Standing>();
  for (const step of steps) {
    if (step.join !== undefined) continue;
    const before = all.get(step.stepId);
    all.set(step.stepId, {
      step: before === undefined || weight(step) >= weight(before.step) ? step : before.step,
      done: (before?.done ?? 0) + (step.state === 'succeeded' ? 1 : 0),
      total: (before?.total ?? 0) + 1,
    });
  }
  return all;
}

export function marksOf(all: ReadonlyMap<string, Standing>, t: Catalogue): ReadonlyMap<string, Mark> {
  return new Map(
    [...all].map(([stepId, { step, done, total }]) => [
      stepId,
      { ...stepLook(step.state), word: t.statuses.step[step.state], note: total > 1 ? t.run.graph.done(done) : '' },
    ]),
  );
}
