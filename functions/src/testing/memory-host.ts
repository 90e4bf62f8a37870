import { DatabaseClock, observed } from '../ledger/clock.ts';
import { MemoryStore } from '../ledger/memory-store.ts';
import type { MemoryStoreHooks } from '../ledger/memory-store.ts';
import type { Snapshot } from '../ledger/store.ts';
import type { StepRef } from '../model/paths.ts';
import type { Doorbells, Runtime } from '../runner/runtime.ts';

/** What a creation trigger of the deployed functions would do with a new document. */
export type Route = (runtime: Runtime, snapshot: Snapshot) => Promise<void>;

interface Ring {
  readonly ref: StepRef;
  readonly at: number;
  readonly hop: number;
}

/**
 * Runs the real runner in memory: creations are delivered in order, doorbells ring when the moved clock reaches them. No real
 * time passes.
 */
export class MemoryHost {
  readonly store: MemoryStore;
  readonly clock: DatabaseClock;
  readonly runtime: Runtime;
  /** Deliveries made so far, by collection. */
  readonly deliveries = new Map<string, number>();
  #now: number;
  #created: Snapshot[] = [];
  #rings: Ring[] = [];
  readonly #names = new Set<string>();
  readonly #routes: Readonly<Record<string, Route>>;
  readonly #ring: (runtime: Runtime, ref: StepRef, hop: number) => Promise<void>;
  readonly #redelivers: (error: unknown) => boolean;
  readonly #concurrent: boolean;
  /** Called before each ring, at its time. */
  onRing: ((ref: StepRef) => Promise<void>) | undefined;

  constructor(options: {
    readonly now: number;
    readonly routes: Readonly<Record<string, Route>>;
    readonly ring: (runtime: Runtime, ref: StepRef, hop: number) => Promise<void>;
    readonly runtime: (base: Pick<Runtime, 'store' | 'clock' | 'doorbells'>) => Runtime;
    /** Around each I/O operation of the store: for faults and for counting. */
    readonly hooks?: Pick<MemoryStoreHooks, 'before' | 'after'>;
    /** Whether a delivery that ended in this error is made again, as the platform does. Default: the error is the test's. */
    readonly redelivers?: (error: unknown) => boolean;
    /** How far ahead a doorbell can be armed; the service has such a limit. Default: no limit. */
    readonly maxHopMs?: number;
    /** Whether creations that wait for delivery are delivered all at once, as the platform does. Default: one after the other. */
    readonly concurrent?: boolean;
  }) {
    this.#now = options.now;
    this.#redelivers = options.redelivers ?? (() => false);
    this.#concurrent = options.concurrent ?? false;
    this.#routes = options.routes;
    this.#ring = options.ring;
    this.store = new MemoryStore(() => this.#now, { ...options.hooks, created: (snapshot) => void this.#created.push(snapshot) });
    this.clock = new DatabaseClock(() => this.#now);
    const doorbells: Doorbells = {
      arm: (ref, at, hop, state = '') => {
        const name = `${ref.accountId}/${ref.runId}/${ref.key}@${at}#${hop}${state}`;
        if (!this.#names.has(name)) this.#rings.push({ ref, at: Math.min(at, this.#now + (options.maxHopMs ?? Infinity)), hop });
        this.#names.add(name);
        return Promise.resolve();
      },
    };
    this.runtime = options.runtime({ store: observed(this.store, this.clock), clock: this.clock, doorbells });
  }

  get now(): number {
    return this.#now;
  }

  /** Delivers every creation, and what those cause, until nothing is left to do now. */
  async settle(): Promise<void> {
    while (this.#created.length > 0) {
      const batch = this.#created.splice(0, this.#concurrent ? this.#created.length : 1);
      await Promise.all(batch.map((snapshot) => this.#deliverCreation(snapshot)));
    }
  }

  async #deliverCreation(snapshot: Snapshot): Promise<void> {
    const collection = snapshot.path.split('/').at(-2) ?? '';
    this.deliveries.set(collection, (this.deliveries.get(collection) ?? 0) + 1);
    await this.#deliver(
      () => this.#routes[collection]?.(this.runtime, snapshot) ?? Promise.resolve(),
      () => this.#created.push(snapshot),
    );
  }

  async #deliver(work: () => Promise<void>, again: () => void): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#redelivers(error)) throw error;
      again();
    }
  }

  /** Moves the clock; doorbells ring in the order of their times, each followed by all that it causes. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settle();
    for (;;) {
      this.#rings.sort((a, b) => a.at - b.at);
      const next = this.#rings[0];
      if (next === undefined || next.at > until) break;
      this.#rings.shift();
      this.#now = Math.max(this.#now, next.at);
      await this.onRing?.(next.ref);
      await this.#deliver(
        () => this.#ring(this.runtime, next.ref, next.hop),
        () => this.#rings.push({ ...next, at: this.#now }),
      );
      await this.settle();
    }
    this.#now = until;
  }

  /** Moves the clock and rings nothing: what is due now is for others to find. */
  leap(ms: number): void {
    this.#now += ms;
  }

  /** Forgets every doorbell that is armed: only the reconciler is left. */
  loseRings(): void {
    this.#rings = [];
  }

  /** When the next doorbell rings, if one is armed. */
  get nextRing(): number | undefined {
    return this.#rings.length === 0 ? undefined : Math.min(...this.#rings.map((ring) => ring.at));
  }
}
