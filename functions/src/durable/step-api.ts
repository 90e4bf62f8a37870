import type { Json } from '../engine/json.ts';
import type { RetryPolicy } from '../engine/retry.ts';
import type { CodeWorkflow } from './define-workflow.ts';
import type { StepTransaction } from './step-transaction.ts';

/** Milliseconds, or text such as "90s", "1h30m", "7d". */
export type Duration = number | string;

export interface StepOptions {
  /** Attempts and the time between them; what is left out has its default. */
  readonly retry?: Partial<RetryPolicy>;
  /** Limit of one attempt. Default 60 s, at most 500 s. */
  readonly timeout?: Duration;
}

export interface RunOptions extends StepOptions {
  /**
   * Whether the step may be repeated after an attempt that ended without an answer (the process died). Default true: hand
   * `idempotencyKey` to the target, so that a repetition changes nothing. With false such a step waits for a person.
   */
  readonly idempotent?: boolean;
}

export interface StepContext {
  /** The same for every attempt of this step, different for every other step and run. */
  readonly idempotencyKey: string;
  /** From 1. */
  readonly attempt: number;
  /** Aborted when the attempt's time is over. */
  readonly signal: AbortSignal;
}

export interface UndoContext extends StepContext {
  /** What a step came to: its value, its error, or undefined while nobody knows whether it happened. */
  readonly outcomeOf: (step: string) => StepOutcome | undefined;
  /** The idempotency key that a step's attempts were handed: look the effect up by it. */
  readonly idempotencyKeyOf: (step: string) => string;
}

export type StepOutcome =
  { readonly status: 'succeeded'; readonly value: Json } | { readonly status: 'failed'; readonly code: string; readonly message: string };

export interface EventWait {
  /** The event's name. */
  readonly event: string;
  /** Only events with this key. */
  readonly key?: string;
  /** CEL over `event` and `vars`. */
  readonly match?: string;
  readonly vars?: { readonly [name: string]: Json };
  /** Default 30 days. */
  readonly timeout?: Duration;
  /** How far back an event may have come. Default: the start of the run, or 30 days where a key or match is given. */
  readonly lookback?: Duration;
}

export interface ReceivedEvent<P> {
  readonly id: string;
  readonly name: string;
  readonly key: string | null;
  readonly receivedAt: number;
  readonly payload: P;
}

export interface OutgoingEvent {
  readonly event: string;
  readonly key?: string;
  /** Addressed to one run only. */
  readonly runId?: string;
  readonly payload?: Json;
}

export interface DocumentWait {
  /** The step's name; by default it is made from the path. */
  readonly name?: string;
  /** Default 30 days. */
  readonly timeout?: Duration;
  /** How often the document is looked at when no trigger watches its path. Default 5 minutes. */
  readonly every?: Duration;
}

/** A document as a predicate sees it; undefined while it does not exist. */
export type DocumentData = { readonly [field: string]: unknown } | undefined;

export interface ApprovalDecision {
  readonly approved: boolean;
  /** `approve`, `reject`, another declared outcome, or `expired`. */
  readonly outcome: string;
  /** Everything that the approval step records: decisions, comments, times, digests. */
  readonly record: Json;
  /** The values as the approvers corrected them, where the request has a form. */
  readonly values: Json;
}

/** Convenience for a single role, department or person; the fields of the approval step may be used as well. */
export interface ApprovalOptions {
  readonly title?: string;
  readonly approvers: {
    readonly role?: string;
    readonly department?: string;
    readonly user?: string;
    readonly roles?: readonly string[];
    readonly departments?: readonly string[];
    readonly users?: readonly string[];
  };
  readonly deadline?: Duration;
  /** Each value is shown to the approver under its name. */
  readonly show?: { readonly [title: string]: unknown };
  /** Any other field of the approval step. */
  readonly [field: string]: unknown;
}

export interface InvokeOptions {
  readonly version?: number;
}

export interface Winner<B> {
  readonly winner: keyof B & string;
  readonly value: Awaited<B[keyof B]>;
}

/**
 * What a workflow does durably. Each call is remembered under its name: on replay it returns what it came to. Everything between
 * the calls must be the same on each replay: no clock, no randomness, no I/O.
 */
export interface StepApi {
  /** Runs `fn` once its turn has come, with retries; its result is remembered. */
  run<T>(name: string, fn: (context: StepContext) => Promise<T> | T): Promise<T>;
  run<T>(name: string, options: RunOptions, fn: (context: StepContext) => Promise<T> | T): Promise<T>;
  sleep(name: string, duration: Duration): Promise<void>;
  /** A date in the past continues at once. */
  sleepUntil(name: string, date: Date | string): Promise<void>;
  /** An event that came earlier counts as well. Null when none comes in time. */
  waitForEvent<P = Json>(name: string, wait: EventWait): Promise<ReceivedEvent<P> | null>;
  /** A rejection and an expiry are outcomes, not errors. */
  waitForApproval(name: string, options: ApprovalOptions): Promise<ApprovalDecision>;
  /**
   * Waits until the predicate holds for the document at a path; true now counts. Returns the document's data, or null when the
   * time is over.
   */
  waitForDocument<D = Json>(path: string, predicate: (data: DocumentData) => boolean, options?: DocumentWait): Promise<D | null>;
  /** The result and the writes of `fn` commit together, exactly once. `fn` may be run several times before it commits. */
  transaction<T>(name: string, fn: (tx: StepTransaction) => Promise<T> | T): Promise<T>;
  transaction<T>(name: string, options: StepOptions, fn: (tx: StepTransaction) => Promise<T> | T): Promise<T>;
  /** Asks a language model; the fields of the recipe step. */
  recipe<T = Json>(name: string, config: { readonly prompt: string; readonly [field: string]: unknown }): Promise<T>;
  /** Any registered step type by its name, with its configuration as in a graph workflow. */
  use<T = Json>(name: string, type: string, config: { readonly [field: string]: unknown }): Promise<T>;
  /** Starts a child run and waits for its output. Cancelling this run cancels it. */
  invoke<I, O, P>(name: string, workflow: CodeWorkflow<I, O, P>, input: P, options?: InvokeOptions): Promise<O>;
  invoke<T = Json>(name: string, workflow: string, input: unknown, options?: InvokeOptions): Promise<T>;
  /** Starts a run that goes its own way. */
  startRun<I, O, P>(name: string, workflow: CodeWorkflow<I, O, P>, input: P, options?: InvokeOptions): Promise<{ runId: string }>;
  startRun(name: string, workflow: string, input: unknown, options?: InvokeOptions): Promise<{ runId: string }>;
  /** The event is stored in the commit that records this. */
  sendEvent(name: string, event: OutgoingEvent): Promise<{ eventId: string }>;
  /**
   * The first of several steps to end. The others are closed in the same commit: they take no event, ring no timer and start no
   * attempt any more. (Promise.race works too, but leaves the others open until the run ends.)
   */
  race<B extends Readonly<Record<string, Promise<unknown>>>>(branches: B): Promise<Winner<B>>;
  /** Milliseconds since 1970 by the database's clock, remembered. */
  now(): number;
  /** A number in [0, 1), remembered. */
  random(): number;
  /** A random UUID, remembered. */
  uuid(): string;
  /** True for runs that reach this line first with the code that has it; false for runs that were past it before. */
  patched(id: string): boolean;
  /**
   * How to undo what follows. Register it before the step it undoes: also a step that nobody knows the outcome of is then undone.
   * Compensations run in reverse order when the run fails, or on command; each is a step of its own with its own retries.
   */
  onCompensate(name: string, fn: (context: UndoContext) => unknown): void;
  onCompensate(name: string, options: StepOptions, fn: (context: UndoContext) => unknown): void;
  /** The key that a step's attempts are handed. */
  idempotencyKey(step: string): string;
  /** Moves the run to a business state. */
  setState(state: string): void;
}
