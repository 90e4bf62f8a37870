import { StoreConflict } from '../../functions/src/ledger/store.ts';
import type { MemoryStore } from '../../functions/src/ledger/memory-store.ts';
import type { Snapshot, Store } from '../../functions/src/ledger/store.ts';
import type { Runtime } from '../../functions/src/runner/runtime.ts';
import type { Ring } from '../../functions/src/timers/ring.ts';
import type { FaultRates } from './faults.ts';
import { ClientRetries } from './gated-store.ts';
import type { Fate } from './gated-store.ts';
import type { Instance } from './instance.ts';
import { GrpcError } from './task-queue.ts';

/** The handlers that deliveries lead to: the same functions that the deployed triggers call. */
export interface Doors {
  /** Whether a deployed function is called for new documents of this path. */
  listens(path: string): boolean;
  created(runtime: Runtime, snapshot: Snapshot, complete: boolean): Promise<void>;
  ring(runtime: Runtime, ring: Ring): Promise<void>;
  reconcile(runtime: Runtime): Promise<void>;
  runtime(instance: Instance, invocation: Invocation): Runtime;
}

/** A store that goes along with the memory store. */
export interface Backend extends Store {
  /** Resolves when every handler has come to its next gate, or to its end. */
  settled(): Promise<void>;
}

/** Between two gates there is nothing but microtasks, where the store is in memory. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

export interface WorldOptions {
  readonly tracing?: boolean;
  readonly faults?: Partial<FaultRates>;
  /** How late the reconciler is. */
  readonly reconcilerLagMs?: number;
  /** For replays: another store that goes along with the memory store. */
  readonly backend?: (memory: MemoryStore) => Backend;
  /** For sweeps: exactly one fault, at the operation with this number. */
  readonly planned?: { readonly at: number; readonly fault: 'crash before' | 'crash after' | 'lost reply' } | undefined;
}

export type Job =
  | { readonly kind: 'trigger'; readonly snapshot: Snapshot; readonly complete: boolean; readonly tries: number }
  | { readonly kind: 'task'; readonly ring: Ring; readonly tries: number; readonly first: boolean }
  | { readonly kind: 'reconcile' }
  /** A request to the API. Whoever sent it sends it again when it fails. */
  | { readonly kind: 'call'; readonly label: string; readonly handle: (runtime: Runtime) => Promise<void>; readonly tries: number }
  /** Something outside: a person at a keyboard, an alarm clock. */
  | { readonly kind: 'outside'; readonly label: string; readonly act: () => void };

export interface Pending {
  readonly at: number;
  readonly job: Job;
}

export type GateKind = 'read' | 'commit' | 'task' | 'call' | 'answer';

export interface Gate {
  readonly kind: GateKind;
  readonly what: string;
  readonly invocation: Invocation;
  readonly open: (fate: Fate) => void;
  readonly fail: (error: Error) => void;
}

/** One handler under way. It stands still before each I/O operation until the scheduler lets it go on. */
export interface Invocation {
  readonly id: number;
  readonly label: string;
  readonly job: Job;
  readonly instance: Instance;
  /** The account that it may touch; undefined for the reconciler, which serves all. */
  readonly account: string | undefined;
  state: 'running' | 'done' | 'dead';
}

/** For traces. */
export function labelOf(job: Exclude<Job, { kind: 'outside' }>): string {
  switch (job.kind) {
    case 'trigger':
      return job.snapshot.path;
    case 'task':
      return `ring ${job.ring.key}`;
    case 'call':
      return job.label;
    case 'reconcile':
      return 'reconcile';
  }
}

/** The account that a delivery is about; the reconciler serves all. */
export function accountOf(job: Exclude<Job, { kind: 'outside' }>): string | undefined {
  if (job.kind === 'trigger') return job.snapshot.path.split('/')[1];
  return job.kind === 'task' ? job.ring.accountId : undefined;
}

/** A fault of the engine, not of the world. */
export class UnexpectedError extends Error {
  override readonly name = 'UnexpectedError';

  constructor(label: string, cause: unknown) {
    super(`the handler of ${label} threw ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`);
  }
}

/** Errors that a handler may end with: the platform delivers again. */
export function isOfTheWorld(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isOfTheWorld);
  return error instanceof StoreConflict || error instanceof GrpcError || error instanceof ClientRetries;
}
