import type { Readable } from 'node:stream';
import { firestorePackage, adminAppPackage, type Firestore } from '../functions-packages.ts';
import { asArray, asObject, asString } from '../services/json-fields.ts';

/** A request to Firestore, or a part of its answer, in the units in which it is billed. */
export interface UsageEvent {
  readonly projectId: string;
  /** The function that made it, where that is known. */
  readonly functionName: string;
  readonly method: string;
  /** 0 where this is a further part of an answer that comes in parts. */
  readonly requests: number;
  readonly reads: number;
  readonly writes: number;
  readonly deletes: number;
  /** A commit whose precondition or transaction did not hold. */
  readonly refused: boolean;
  /** Documents written or deleted, without the database's prefix. */
  readonly documents: readonly string[];
  readonly atMs: number;
}

export interface Usage {
  reads: number;
  writes: number;
  deletes: number;
  requests: number;
  refusedCommits: number;
}

const nothing: Usage = { reads: 0, writes: 0, deletes: 0, requests: 0, refusedCommits: 0 };

/** Adds up requests, per function and per document. */
export class UsageCounter {
  readonly #perFunction = new Map<string, Usage>();
  /** When each document was written: shows hot spots. */
  readonly #writeTimes = new Map<string, number[]>();

  add(event: UsageEvent): void {
    const usage = this.#perFunction.get(event.functionName) ?? { ...nothing };
    usage.reads += event.reads;
    usage.writes += event.writes;
    usage.deletes += event.deletes;
    usage.requests += event.requests;
    if (event.refused) usage.refusedCommits += 1;
    this.#perFunction.set(event.functionName, usage);
    for (const document of event.documents) {
      const times = this.#writeTimes.get(document) ?? [];
      times.push(event.atMs);
      this.#writeTimes.set(document, times);
    }
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

/** The part of the Firestore client through which every request goes, whatever API made it. */
interface ClientPool {
  run: (this: ClientPool, tag: string, usesGrpc: boolean, work: (client: object) => Promise<unknown>) => Promise<unknown>;
}

type Report = (event: Omit<UsageEvent, 'projectId' | 'functionName' | 'atMs'>, database: string) => void;

const none = { requests: 0, reads: 0, writes: 0, deletes: 0, refused: false, documents: [] as readonly string[] };

function documentPath(name: string): string {
  return name.replace(/^projects\/[^/]+\/databases\/[^/]+\/documents\//, '');
}

function ofCommit(request: unknown): Pick<UsageEvent, 'writes' | 'deletes' | 'documents'> {
  let writes = 0;
  let deletes = 0;
  const documents: string[] = [];
  for (const write of asArray(asObject(request)?.['writes'])) {
    const fields = asObject(write);
    const deleted = asString(fields?.['delete']);
    const changed = asString(asObject(fields?.['update'])?.['name']) ?? asString(asObject(fields?.['transform'])?.['document']);
    if (typeof deleted === 'string' && deleted !== '') deletes += 1;
    else if (changed !== undefined) writes += 1;
    const name = deleted || changed;
    if (name !== undefined && name !== '') documents.push(documentPath(name));
  }
  return { writes, deletes, documents };
}

const unary = new Set(['commit', 'batchWrite', 'listDocuments']);
const streamed = new Set(['batchGetDocuments', 'runQuery', 'runAggregationQuery', 'executePipeline']);

function databaseOf(request: unknown): string {
  const fields = asObject(request);
  return asString(fields?.['database']) ?? asString(fields?.['parent']) ?? '';
}

async function watchUnary(method: string, request: unknown, answer: Promise<unknown>, report: Report): Promise<void> {
  try {
    const response = asArray(await answer)[0];
    if (method === 'listDocuments')
      report({ ...none, method, requests: 1, reads: Math.max(1, asArray(response).length) }, databaseOf(request));
    else report({ ...none, method, requests: 1, ...ofCommit(request) }, databaseOf(request));
  } catch {
    // The caller gets the error; here it only counts.
    report({ ...none, method, requests: 1, refused: true }, databaseOf(request));
  }
}

/**
 * Listens beside the caller, as the client library itself does for its log. This listener is the first one, so that a
 * document is counted before the caller has it; a caller may well stop listening before the stream ends.
 */
function watchStream(method: string, request: unknown, stream: Readable, report: Report): void {
  const database = databaseOf(request);
  let counted = 0;
  let found = 0;
  report({ ...none, method, requests: 1 }, database);
  stream.on('data', (chunk: unknown) => {
    const fields = asObject(chunk);
    const isDocument =
      asObject(fields?.['found']) !== undefined || Boolean(asString(fields?.['missing'])) || asObject(fields?.['document']) !== undefined;
    found += (isDocument ? 1 : 0) + asArray(fields?.['results']).length;
    // An answer that finds nothing is billed as one read.
    const reads = Math.max(1, found) - counted;
    counted += reads;
    if (reads > 0) report({ ...none, method, reads }, database);
  });
}

function watched(client: object, report: Report): object {
  return new Proxy(client, {
    get: (target, property) => {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function') return member;
      const method = String(property);
      if (!unary.has(method) && !streamed.has(method)) return member.bind(target) as unknown;
      return (request: unknown, ...rest: unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, [request, ...rest]);
        if (unary.has(method)) void watchUnary(method, request, result as Promise<unknown>, report);
        else watchStream(method, request, result as Readable, report);
        return result;
      };
    },
  });
}

function poolOf(firestore: Firestore): ClientPool {
  const { _clientPool: pool } = firestore as unknown as { readonly _clientPool?: ClientPool };
  if (pool === undefined) throw new Error('This version of @google-cloud/firestore has no client pool to count at: adapt host/usage.ts.');
  return pool;
}

function projectOf(database: string): string {
  return /^projects\/([^/]+)/.exec(database)?.[1] ?? '';
}

function intercept(target: ClientPool, observe: () => ((event: UsageEvent) => void) | undefined, functionName: () => string): () => void {
  const own = Object.hasOwn(target, 'run');
  const { run } = target;
  target.run = function counted(this: ClientPool, tag, usesGrpc, work) {
    const listener = observe();
    if (listener === undefined) return run.call(this, tag, usesGrpc, work);
    const name = functionName();
    const report: Report = (event, database) =>
      listener({ ...event, projectId: projectOf(database), functionName: name, atMs: Date.now() });
    return run.call(this, tag, usesGrpc, (client) => work(watched(client, report)));
  };
  return () => {
    if (own) target.run = run;
    else Reflect.deleteProperty(target, 'run');
  };
}

export interface AttachedCounter {
  readonly usage: UsageCounter;
  readonly detach: () => void;
}

/** Counts what this client reads and writes from now on, below every API of the library, retried transactions included. */
export function attachCounter(firestore: Firestore): AttachedCounter {
  const usage = new UsageCounter();
  const detach = intercept(
    poolOf(firestore),
    () => (event) => usage.add(event),
    () => '',
  );
  return { usage, detach };
}

/**
 * Counts on every client of the functions' own copy of the library, those not yet made included. `scope` says for which
 * function the code runs at the moment; what runs for none is not counted.
 */
export function countAllClients(
  scope: () => { readonly functionName: string; readonly listener: (event: UsageEvent) => void } | undefined,
): () => void {
  const { initializeApp, deleteApp } = adminAppPackage();
  // The class of the pool is not exported: a client that is never used leads to it.
  const app = initializeApp({ projectId: 'usage' }, `usage-${Math.random().toString(36).slice(2)}`);
  const prototype = Object.getPrototypeOf(poolOf(firestorePackage().getFirestore(app))) as ClientPool;
  void deleteApp(app);
  return intercept(
    prototype,
    () => scope()?.listener,
    () => scope()?.functionName ?? '',
  );
}
