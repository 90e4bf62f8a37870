import { firestorePackage, adminAppPackage, type Firestore } from '../functions-packages.ts';
import { intercept, type ClientPool, type UsageEvent, type WireListener } from './wire.ts';

export interface Usage {
  /** Calls of the function, those that failed included. */
  invocations: number;
  reads: number;
  writes: number;
  deletes: number;
  requests: number;
  refusedCommits: number;
}

const nothing: Usage = { invocations: 0, reads: 0, writes: 0, deletes: 0, requests: 0, refusedCommits: 0 };

/** Adds up requests, per function and per document. */
export class UsageCounter {
  readonly #perFunction = new Map<string, Usage>();
  /** When each document was written: shows hot spots. */
  readonly #writeTimes = new Map<string, number[]>();
  /** Wall time that event handlers took, summed up. */
  busyMs = 0;

  invoked(functionName: string): void {
    this.#of(functionName).invocations += 1;
  }

  add(event: UsageEvent): void {
    const usage = this.#of(event.functionName);
    usage.reads += event.reads;
    usage.writes += event.writes;
    usage.deletes += event.deletes;
    usage.requests += event.requests;
    if (event.refused) usage.refusedCommits += 1;
    for (const document of event.documents) {
      const times = this.#writeTimes.get(document) ?? [];
      times.push(event.atMs);
      this.#writeTimes.set(document, times);
    }
  }

  #of(functionName: string): Usage {
    const usage = this.#perFunction.get(functionName) ?? { ...nothing };
    this.#perFunction.set(functionName, usage);
    return usage;
  }

  total(): Usage {
    const sum = { ...nothing };
    for (const usage of this.#perFunction.values()) {
      for (const key of Object.keys(sum) as (keyof Usage)[]) sum[key] += usage[key];
    }
    return sum;
  }

  byFunction(): Record<string, Usage> {
    return Object.fromEntries([...this.#perFunction].map(([name, usage]) => [name, { ...usage }]));
  }

  writesOf(document: string): number {
    return this.#writeTimes.get(document)?.length ?? 0;
  }

  /** The documents with the most writes within any window of `windowMs`, worst first. */
  hottest(windowMs: number, count = 10): { readonly document: string; readonly writes: number }[] {
    const peaks = [...this.#writeTimes].map(([document, times]) => ({ document, writes: peak(times, windowMs) }));
    return peaks.sort((a, b) => b.writes - a.writes).slice(0, count);
  }

  reset(): void {
    this.#perFunction.clear();
    this.#writeTimes.clear();
    this.busyMs = 0;
  }
}

function peak(times: readonly number[], windowMs: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  sorted.forEach((time, index) => {
    while (first < index && time - (sorted[first] ?? time) >= windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

function poolOf(firestore: Firestore): ClientPool {
  const { _clientPool: pool } = firestore as unknown as { readonly _clientPool?: ClientPool };
  if (pool === undefined) throw new Error('This version of @google-cloud/firestore has no client pool to count at: adapt host/usage.ts.');
  return pool;
}

export interface AttachedCounter {
  readonly usage: UsageCounter;
  readonly detach: () => void;
}

/** Counts what this client reads and writes from now on, below every API of the library, retried transactions included. */
export function attachCounter(firestore: Firestore): AttachedCounter {
  const usage = new UsageCounter();
  const listener = { usage: (event: UsageEvent): void => usage.add(event) };
  const detach = intercept(poolOf(firestore), () => ({ functionName: '', listener }));
  return { usage, detach };
}

/**
 * Watches every client of the functions' own copy of the library, those not yet made included. `scope` says for which
 * function the code runs at the moment; what runs for none is not seen.
 */
export function watchAllClients(scope: () => { readonly functionName: string; readonly listener: WireListener } | undefined): () => void {
  const { initializeApp, deleteApp } = adminAppPackage();
  // The class of the pool is not exported: a client that is never used leads to it.
  const app = initializeApp({ projectId: 'usage' }, `usage-${Math.random().toString(36).slice(2)}`);
  const prototype = Object.getPrototypeOf(poolOf(firestorePackage().getFirestore(app))) as ClientPool;
  void deleteApp(app);
  return intercept(prototype, scope);
}
