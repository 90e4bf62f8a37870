import type { Readable } from 'node:stream';
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

/** A read-write transaction that began, or that its client ended. Until it ends it holds locks. */
export interface TransactionEvent {
  /** base64. */
  readonly id: string;
  readonly open: boolean;
}

export interface WireListener {
  readonly usage: (event: UsageEvent) => void;
  readonly transaction?: (event: TransactionEvent) => void;
}

/** The part of the Firestore client through which every request goes, whatever API made it. */
export interface ClientPool {
  run: (this: ClientPool, tag: string, usesGrpc: boolean, work: (client: object) => Promise<unknown>) => Promise<unknown>;
}

interface Report {
  usage(event: Omit<UsageEvent, 'projectId' | 'functionName' | 'atMs'>, database: string): void;
  transaction(id: unknown, open: boolean): void;
}

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

const unary = new Set(['commit', 'batchWrite', 'listDocuments', 'beginTransaction', 'rollback']);
const streamed = new Set(['batchGetDocuments', 'runQuery', 'runAggregationQuery', 'executePipeline']);

function databaseOf(request: unknown): string {
  const fields = asObject(request);
  return asString(fields?.['database']) ?? asString(fields?.['parent']) ?? '';
}

async function watchUnary(method: string, request: unknown, answer: Promise<unknown>, report: Report): Promise<void> {
  const database = databaseOf(request);
  try {
    const response = asArray(await answer)[0];
    if (method === 'listDocuments') report.usage({ ...none, method, requests: 1, reads: Math.max(1, asArray(response).length) }, database);
    else report.usage({ ...none, method, requests: 1, ...ofCommit(request) }, database);
    report.transaction(asObject(response)?.['transaction'], true);
  } catch {
    // The caller gets the error; here it only counts.
    report.usage({ ...none, method, requests: 1, refused: true }, database);
  } finally {
    if (method === 'commit' || method === 'rollback') report.transaction(asObject(request)?.['transaction'], false);
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
  report.usage({ ...none, method, requests: 1 }, database);
  stream.on('data', (chunk: unknown) => {
    const fields = asObject(chunk);
    const isDocument =
      asObject(fields?.['found']) !== undefined || Boolean(asString(fields?.['missing'])) || asObject(fields?.['document']) !== undefined;
    found += (isDocument ? 1 : 0) + asArray(fields?.['results']).length;
    // An answer that finds nothing is billed as one read.
    const reads = Math.max(1, found) - counted;
    counted += reads;
    if (reads > 0) report.usage({ ...none, method, reads }, database);
    report.transaction(fields?.['transaction'], true);
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

function projectOf(database: string): string {
  return /^projects\/([^/]+)/.exec(database)?.[1] ?? '';
}

/** Watches the requests of a pool, or of all pools by their prototype. Without a listener a request passes unseen. */
export function intercept(
  target: ClientPool,
  listen: () => { readonly functionName: string; readonly listener: WireListener } | undefined,
): () => void {
  const own = Object.hasOwn(target, 'run');
  const { run } = target;
  target.run = function counted(this: ClientPool, tag, usesGrpc, work) {
    const found = listen();
    if (found === undefined) return run.call(this, tag, usesGrpc, work);
    const { functionName, listener } = found;
    const report: Report = {
      usage: (event, database) => listener.usage({ ...event, projectId: projectOf(database), functionName, atMs: Date.now() }),
      transaction: (id, open) => {
        if (id instanceof Uint8Array && id.length > 0) listener.transaction?.({ id: Buffer.from(id).toString('base64'), open });
      },
    };
    return run.call(this, tag, usesGrpc, (client) => work(watched(client, report)));
  };
  return () => {
    if (own) target.run = run;
    else Reflect.deleteProperty(target, 'run');
  };
}
