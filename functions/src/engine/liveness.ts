import type { RunRecord } from '../model/run.ts';
import { isLive } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';

/** Who moves a live step on. `others`: it waits for steps of its own, so it is no reason to think that the run goes on. */
export type Waker = 'clock' | 'person' | 'operator' | 'child' | 'others';

/** Undefined when nothing will ever look at the step again. */
export function wakerOf(step: StepRecord): Waker | undefined {
  if (step.due !== undefined) return 'clock';
  switch (step.state) {
    case 'unresolved':
      return 'person';
    case 'ready':
      return step.gate === 'paused' ? 'operator' : undefined;
    case 'waiting':
      return waitWaker(step);
    case 'running':
    case 'succeeded':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return undefined;
  }
}

function waitWaker(step: StepRecord): Waker | undefined {
  switch (step.wait?.kind) {
    case 'children':
      return 'others';
    case 'run':
      return 'child';
    case 'retry':
    case 'slot':
      return step.gate === 'paused' ? 'operator' : undefined;
    case 'timer':
    case 'approval':
    case 'event':
    case 'document':
    case 'turn':
    case undefined:
      return undefined;
  }
}

/** Whether the run, with these live steps, stands still for good: nothing outside will come and move it. */
export function isStuck(run: Pick<RunRecord, 'status' | 'due'>, steps: readonly StepRecord[]): boolean {
  switch (run.status) {
    case 'pending':
    case 'cancelling':
      return run.due === undefined;
    case 'running':
    case 'compensating':
      return !steps.some((step) => isLive(step.state) && !['others', undefined].includes(wakerOf(step)));
    case 'paused':
    case 'needs_resolution':
    case 'diverged':
    case 'completed':
    case 'failed':
    case 'cancelled':
    case 'rejected':
    case 'compensated':
      return false;
  }
}
