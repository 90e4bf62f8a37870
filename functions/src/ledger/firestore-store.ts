import { FieldPath, FieldValue, Timestamp } from '@google-cloud/firestore';
import type {
  DocumentData,
  DocumentReference,
  DocumentSnapshot,
  Firestore,
  Query as FirestoreQuery,
  QueryDocumentSnapshot,
  Transaction as FirestoreTransaction,
  WriteResult,
} from '@google-cloud/firestore';
import { StoreConflict, StoreRefusal } from './store.ts';
import type { CommitResult, Query, QueryResult, ReadResult, Snapshot, Store, Transaction, Write } from './store.ts';
import { checkQuery, checkReadsFirst, isIncrement, isRemove, storedBatches } from './stored-fields.ts';
import type { StoredFields, StoredWrite } from './stored-fields.ts';
import { readable } from './stored-version.ts';

const TRANSACTION_TRIES = 12;

/** gRPC status codes that mean "a precondition did not hold", or "others were quicker, nothing was written". */
const CONFLICT_CODES: ReadonlySet<number> = new Set([
  5 /* NOT_FOUND */, 6 /* ALREADY_EXISTS */, 9 /* FAILED_PRECONDITION */, 10 /* ABORTED */,
]);
const INVALID_ARGUMENT = 3;
/** The server gave a transaction up that took too long: nothing is wrong with the data, and another try can succeed. */
const lostTransaction = /transaction (?:is invalid or closed|has expired)/i;

/** The store on Firestore, by the Admin SDK's client. */
export class FirestoreStore implements Store {
  readonly #db: Firestore;

  constructor(db: Firestore) {
    this.#db = db;
  }

  async get(paths: readonly string[]): Promise<ReadResult> {
    if (paths.length === 0) return { docs: [], readTime: 0 };
    const found = await this.#db.getAll(...paths.map((path) => this.#db.doc(path)));
    return readResult(found);
  }

  async query(query: Query): Promise<QueryResult> {
    const found = await buildQuery(this.#db, query).get().catch(rethrow);
    return { docs: found.docs.map(snapshotOfExisting), readTime: found.readTime.toMillis() };
  }

  async commit(writes: readonly Write[]): Promise<CommitResult> {
    const batches = storedBatches(writes);
    const last = batches.pop() ?? [];
    for (const batch of batches) await this.#commitBatch(batch);
    const results = await this.#commitBatch(last);
    const [first] = results;
    if (first === undefined) return { time: 0, updateTime: '' };
    const time = Math.max(...results.map((result) => result.writeTime.toMillis()));
    return { time, updateTime: token(first.writeTime) };
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#db
      .runTransaction(
        async (tx) => {
          const view = new FirestoreTransactionView(this.#db, tx);
          const result = await work(view);
          const batches = storedBatches(view.writes);
          const last = batches.pop() ?? [];
          for (const batch of batches) await this.#commitBatch(batch);
          for (const write of last) apply(tx, this.#db.doc(write.path), write);
          return result;
        },
        { maxAttempts: TRANSACTION_TRIES },
      )
      .catch(rethrow);
  }

  async #commitBatch(writes: readonly StoredWrite[]): Promise<readonly WriteResult[]> {
    const batch = this.#db.batch();
    for (const write of writes) apply(batch, this.#db.doc(write.path), write);
    return batch.commit().catch(rethrow);
  }
}

/** What a batch and a transaction have in common. */
interface Target {
  create(ref: DocumentReference, data: object): unknown;
  set(ref: DocumentReference, data: object): unknown;
  update(ref: DocumentReference, data: object, precondition: { lastUpdateTime: Timestamp } | { exists: true }): unknown;
  delete(ref: DocumentReference, precondition?: { lastUpdateTime: Timestamp }): unknown;
}

function apply(target: Target, ref: DocumentReference, write: StoredWrite): void {
  switch (write.op) {
    case 'create':
      target.create(ref, encode(write.fields));
      return;
    case 'set':
      target.set(ref, encode(write.fields));
      return;
    case 'update':
      target.update(
        ref,
        encode(write.fields),
        write.ifUpdateTime === undefined ? { exists: true } : { lastUpdateTime: timeOf(write.ifUpdateTime) },
      );
      return;
    case 'delete':
      if (write.ifUpdateTime === undefined) target.delete(ref);
      else target.delete(ref, { lastUpdateTime: timeOf(write.ifUpdateTime) });
  }
}

class FirestoreTransactionView implements Transaction {
  readonly #db: Firestore;
  readonly #tx: FirestoreTransaction;
  readonly #known = new Map<string, DocumentSnapshot>();
  readonly writes: Write[] = [];

  constructor(db: Firestore, tx: FirestoreTransaction) {
    this.#db = db;
    this.#tx = tx;
  }

  async get(paths: readonly string[]): Promise<ReadResult> {
    checkReadsFirst(this.writes);
    const missing = [...new Set(paths)].filter((path) => !this.#known.has(path));
    if (missing.length > 0) {
      const found = await this.#tx.getAll(...missing.map((path) => this.#db.doc(path)));
      missing.forEach((path, i) => found[i] !== undefined && this.#known.set(path, found[i]));
    }
    return readResult(paths.flatMap((path) => this.#known.get(path) ?? []));
  }

  async query(query: Query): Promise<QueryResult> {
    checkReadsFirst(this.writes);
    const found = await this.#tx.get(buildQuery(this.#db, query));
    return { docs: found.docs.map(snapshotOfExisting), readTime: found.readTime.toMillis() };
  }

  write(write: Write): void {
    this.writes.push(write);
  }
}

function buildQuery(db: Firestore, query: Query): FirestoreQuery {
  checkQuery(query);
  let built: FirestoreQuery = typeof query.from === 'string' ? db.collection(query.from) : db.collectionGroup(query.from.group);
  for (const [field, op, value] of query.where) built = built.where(field, op, value);
  for (const [field, direction] of query.orderBy ?? []) built = built.orderBy(field, direction);
  if (query.startAfter !== undefined) {
    built = built.orderBy(FieldPath.documentId(), query.orderBy?.at(-1)?.[1] ?? 'asc').startAfter(...query.startAfter);
  }
  return built.limit(query.limit);
}

function readResult(found: readonly DocumentSnapshot[]): ReadResult {
  return { docs: found.map(snapshotOf), readTime: found[0]?.readTime.toMillis() ?? 0 };
}

/** A trigger's or a read's snapshot in the port's form; undefined when the document does not exist. */
export function snapshotOf(doc: DocumentSnapshot): Snapshot | undefined {
  return doc.exists ? snapshotOfExisting(doc as QueryDocumentSnapshot) : undefined;
}

function snapshotOfExisting(doc: QueryDocumentSnapshot): Snapshot {
  return readable({
    path: doc.ref.path,
    id: doc.id,
    data: withoutTtl(doc.data()),
    createTime: doc.createTime.toMillis(),
    changeTime: doc.updateTime.toMillis(),
    updateTime: token(doc.updateTime),
  });
}

function token(time: Timestamp): string {
  return `${time.seconds}.${time.nanoseconds}`;
}

function timeOf(updateTime: string): Timestamp {
  const [seconds, nanoseconds] = updateTime.split('.');
  return new Timestamp(Number(seconds), Number(nanoseconds));
}

function encode(fields: StoredFields): Record<string, unknown> {
  const encoded = Object.fromEntries(
    Object.entries(fields).map(([field, value]): [string, unknown] => {
      if (isRemove(value)) return [field, FieldValue.delete()];
      return [field, isIncrement(value) ? FieldValue.increment(value.$increment) : value];
    }),
  );
  const { expiresAt } = fields;
  return typeof expiresAt === 'number' ? { ...encoded, [TTL_FIELD]: Timestamp.fromMillis(expiresAt) } : encoded;
}

/**
 * Firestore deletes documents by a field that holds a timestamp, while everything here is in milliseconds: so `expiresAt` is
 * written once more in the form that its TTL policy reads, and that copy is not shown to anybody.
 */
const TTL_FIELD = 'ttl';

function withoutTtl(data: DocumentData): DocumentData {
  if (!(data[TTL_FIELD] instanceof Timestamp)) return data;
  const { [TTL_FIELD]: _ttl, ...rest } = data;
  return rest;
}

function rethrow(error: unknown): never {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  const conflict = typeof code === 'number' && CONFLICT_CODES.has(code);
  if (conflict || (code === INVALID_ARGUMENT && lostTransaction.test(message))) throw new StoreConflict(message, { cause: error });
  if (code === INVALID_ARGUMENT) throw new StoreRefusal(message, { cause: error });
  throw error;
}
