import type { Held } from '../ledger/steps.ts';
import type { Json } from '../engine/json.ts';
import type { Snapshot, Transaction, Write } from '../ledger/store.ts';
import type { Outcome } from '../ledger/transitions.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { RunRef } from '../model/paths.ts';
import type { RunRecord, StartedBy } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import type { DeclaredTrigger } from '../model/trigger.ts';
import type { Declared } from './declared.ts';
import type { Runtime } from './runtime.ts';

export interface ForkOptions {
  readonly by: StartedBy;
  /** The step that is done anew, with all that follows it. Default: where the run stands. */
  readonly from?: string;
  /** Default: the newest. */
  readonly version?: number;
}

/** Attends a step of a code workflow; the durable room provides it. */
export interface CodePlanner {
  /** The writes that begin a pending code run: the run's update (fenced by the snapshot) and its first step or steps, or its end. */
  start(runtime: Runtime, run: RunRecord, snapshot: Snapshot, input: Json): Promise<readonly Write[]>;
  /** Performs the one step it was woken for (ready, or its wait is over) and creates what follows. */
  begin(runtime: Runtime, held: Held): Promise<void>;
  /** Ends a step of a code run as failed, and lets the code see it. */
  fail(runtime: Runtime, held: Held, error: ErrorRecord): Promise<void>;
  /**
   * The writes that record a waiting step's result from outside. The code sees it when it is replayed: the writes create or wake
   * what replays it.
   */
  settle(runtime: Runtime, held: Held, outcome: Outcome, tx: Transaction): Promise<readonly Write[]>;
  /** The writes that begin to undo a run that has ended. Throws `request.invalid` when it has registered nothing to undo. */
  compensate(runtime: Runtime, run: RunRecord, tx: Transaction): Promise<readonly Write[]>;
  /** Starts a run that takes over what another has done up to a step. Throws StoreConflict when a run of that id is there. */
  fork(runtime: Runtime, ref: RunRef, options: ForkOptions & { readonly runId: string }): Promise<unknown>;
  /** What a version of a workflow declares about its runs; undefined when it is not deployed. */
  declared(workflowId: string, version: number): Declared | undefined;
  /** What starts runs by itself, of the newest version of each workflow. */
  triggers(): readonly DeclaredTrigger[];
  /** Ends a run that has reached a limit of its own; it compensates if it has what to undo. */
  expire(runtime: Runtime, ref: RunRef, error: ErrorRecord): Promise<void>;
  /** Whether a lost attempt of the step may be repeated. */
  idempotent(step: StepRecord): boolean;
  /** The retry policy that the code gave the step; what it left out has its default. */
  retry(step: StepRecord): object;
}
