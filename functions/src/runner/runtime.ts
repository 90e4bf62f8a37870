import type { DefinitionIndex } from '../engine/definition-index.ts';
import type { DatabaseClock } from '../ledger/clock.ts';
import type { Deliver } from '../ledger/outbox.ts';
import type { Store } from '../ledger/store.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { OutboxRecord } from '../model/outbox.ts';
import type { RunRecord } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import type { StepRef } from '../model/paths.ts';
import type { StepServices } from '../steps/step-type.ts';
import type { StepRegistry } from '../steps/registry.ts';
import type { CodePlanner } from './code-planner.ts';

/** Rings `attend` for a step at a time. Rings may come early, late, twice or never. */
export interface Doorbells {
  /**
   * `hop` makes the name fresh when a ring is armed again for the same time. So does `state`, the state of the step from which a wait
   * is entered: a step that was paused on the way enters it again later, when the first ring may be long over.
   */
  arm(ref: StepRef, at: number, hop: number, state?: string): Promise<void>;
}

/**
 * Work with a time limit; the signal is aborted when it is over. Throws `step.timeout`. While the work is long, `wanted` is asked
 * now and then; when it says no (the run was cancelled, the lease lost), the signal is aborted too.
 */
export type TimeLimit = <T>(ms: number, work: (signal: AbortSignal) => Promise<T>, wanted: () => Promise<boolean>) => Promise<T>;

/** Pinned versions; immutable, so cached. */
export interface Definitions {
  get(accountId: string, workflowId: string, version: number): Promise<DefinitionIndex>;
  /** The newest version, for new runs. Throws definition.not_found. */
  latest(accountId: string, workflowId: string): Promise<PinnedVersion>;
  /** That very version. Throws definition.not_found. */
  pinned(accountId: string, workflowId: string, version: number): Promise<PinnedVersion>;
}

export interface PinnedVersion {
  readonly kind: 'graph' | 'code';
  readonly version: number;
  readonly hash: string;
}

export interface Control {
  /** True while the kill switch is on. At most 30 s old. */
  halted(): Promise<boolean>;
}

/** Called at least once for each run that ended. */
export type RunFollower = (runtime: Runtime, run: RunRecord) => Promise<void>;

export type RunnerEvent =
  | { readonly kind: 'step_ended'; readonly step: StepRecord; readonly outcome: 'succeeded' | 'failed'; readonly error?: ErrorRecord }
  | { readonly kind: 'attempt_failed'; readonly step: StepRecord; readonly error: ErrorRecord }
  | { readonly kind: 'attempt_lost'; readonly step: StepRecord }
  | { readonly kind: 'late_result'; readonly step: StepRecord }
  | { readonly kind: 'limiter_failed'; readonly step: StepRecord; readonly limit: string; readonly message: string }
  | { readonly kind: 'unreadable'; readonly path: string; readonly message: string }
  | { readonly kind: 'repaired'; readonly what: string; readonly path: string };

/** What the runner needs of the world; production, the test kit and the simulator each hand in their own. */
export interface Runtime {
  readonly store: Store;
  readonly clock: DatabaseClock;
  readonly random: () => number;
  /** An unguessable token of at least 96 bits. */
  readonly token: () => string;
  readonly doorbells: Doorbells;
  readonly limitTime: TimeLimit;
  readonly definitions: Definitions;
  readonly stepTypes: StepRegistry;
  readonly services: StepServices;
  readonly code: CodePlanner;
  readonly control: Control;
  /** How each kind of outbox document is delivered. */
  readonly deliveries: Readonly<Partial<Record<OutboxRecord['kind'], Deliver>>>;
  /** What happens after a run has ended, each idempotent: destinations, metrics, traces. */
  readonly followers: readonly RunFollower[];
  readonly observe: (event: RunnerEvent) => void;
}
