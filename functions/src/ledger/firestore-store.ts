import { FieldValue, Timestamp } from '@google-cloud/firestore';
import type { DocumentSnapshot, Firestore, Query as FirestoreQuery, QueryDocumentSnapshot, Transaction as FirestoreTransaction } from '@google-cloud/firestore';
import { StoreConflict, StoreRefusal } from './store.ts';
import type { CommitResult, Fields, Query, QueryResult, ReadResult, Snapshot, Store, Transaction, Write } from './store.ts';

const TRANSACTION_TRIES = 12;

/** gRPC status codes that mean "a precondition did not hold". */
const CONFLICT_CODES: ReadonlySet<number> = new Set([5 /* NOT_FOUND */, 6 /* ALREADY_EXISTS */, 9 /* FAILED_PRECONDITION */]);
const INVALID_ARGUMENT = 3;

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
    const found = await buildQuery(this.#db, query).get();
    return { docs: found.docs.map(snapshotOfExisting), readTime: found.readTime.toMillis() };
  }

  async commit(writes: readonly Write[]): Promise<CommitResult> {
    const batch = this.#db.batch();
    for (const write of writes) {
      const ref = this.#db.doc(write.path);
      if (write.op === 'create') batch.create(ref, encode(write.data));
      else if (write.op === 'set') batch.set(ref, encode(write.data));
      else if (write.op === 'update') batch.update(ref, encode(write.data), precondition(write.ifUpdateTime));
      else batch.delete(ref, write.ifUpdateTime === undefined ? {} : precondition(write.ifUpdateTime));
    }
    const results = await batch.commit().catch(rethrow);
    const last = results[0];
    if (last === undefined) return { time: 0, updateTime: '' };
    return { time: last.writeTime.toMillis(), updateTime: token(last.writeTime) };
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#db.runTransaction(async (tx) => work(new FirestoreTransactionView(this.#db, tx)), { maxAttempts: TRANSACTION_TRIES }).catch(rethrow);
  }
}

class FirestoreTransactionView implements Transaction {
  readonly #db: Firestore;
  readonly #tx: FirestoreTransaction;

  constructor(db: Firestore, tx: FirestoreTransaction) {
    this.#db = db;
    this.#tx = tx;
  }

  async get(paths: readonly string[]): Promise<ReadResult> {
    if (paths.length === 0) return { docs: [], readTime: 0 };
    return readResult(await this.#tx.getAll(...paths.map((path) => this.#db.doc(path))));
  }

  async query(query: Query): Promise<QueryResult> {
    const found = await this.#tx.get(buildQuery(this.#db, query));
    return { docs: found.docs.map(snapshotOfExisting), readTime: found.readTime.toMillis() };
  }

  write(write: Write): void {
    const ref = this.#db.doc(write.path);
    if (write.op === 'create') this.#tx.create(ref, encode(write.data));
    else if (write.op === 'set') this.#tx.set(ref, encode(write.data));
    else if (write.op === 'update') this.#tx.update(ref, encode(write.data), precondition(write.ifUpdateTime));
    else this.#tx.delete(ref);
  }
}

function buildQuery(db: Firestore, query: Query): FirestoreQuery {
  let built: FirestoreQuery = typeof query.from === 'string' ? db.collection(query.from) : db.collectionGroup(query.from.group);
  for (const [field, op, value] of query.where) built = built.where(field, op, value);
  for (const [field, direction] of query.orderBy ?? []) built = built.orderBy(field, direction);
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
  return {
    path: doc.ref.path,
    id: doc.id,
    data: doc.data(),
    createTime: doc.createTime.toMillis(),
    updateTime: token(doc.updateTime),
  };
}

function token(time: Timestamp): string {
  return `${time.seconds}.${time.nanoseconds}`;
}

function precondition(updateTime: string | undefined): { lastUpdateTime: Timestamp } | { exists: true } {
  if (updateTime === undefined) return { exists: true };
  const [seconds, nanoseconds] = updateTime.split('.');
  return { lastUpdateTime: new Timestamp(Number(seconds), Number(nanoseconds)) };
}

function encode(data: Fields): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(data)) {
    if (value === undefined) continue;
    if (isSentinel(value, '$remove')) out[field] = FieldValue.delete();
    else if (isSentinel(value, '$increment')) out[field] = FieldValue.increment(Number(value.$increment));
    else out[field] = withoutUndefined(value);
  }
  return out;
}

function isSentinel<K extends string>(value: unknown, key: K): value is Record<K, unknown> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

/** Records are shallow (payloads are text), so recursion is bounded. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== 'object' || value === null || value instanceof Timestamp || value instanceof FieldValue) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([field, inner]) => (inner === undefined ? [] : [[field, withoutUndefined(inner)]])));
}

function rethrow(error: unknown): never {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (typeof code === 'number' && CONFLICT_CODES.has(code)) throw new StoreConflict(message, { cause: error });
  if (code === INVALID_ARGUMENT) throw new StoreRefusal(message, { cause: error });
  throw error;
}
