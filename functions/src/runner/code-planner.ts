import type { Held } from '../ledger/steps.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { StepRecord } from '../model/step.ts';
import type { Runtime } from './runtime.ts';

/** Attends a step of a code workflow; the durable room provides it. */
export interface CodePlanner {
  /** Performs the one step it was woken for (ready, or its wait is over) and creates what follows. */
  begin(runtime: Runtime, held: Held): Promise<void>;
  /** Ends a step of a code run as failed, and lets the code see it. */
  fail(runtime: Runtime, held: Held, error: ErrorRecord): Promise<void>;
  /** Whether a lost attempt of the step may be repeated. */
  idempotent(step: StepRecord): boolean;
}
