import { sameValue, selected } from './memory-query.ts';
import { StoreConflict, StoreRefusal } from './store.ts';
import type { CommitResult, Query, QueryResult, ReadResult, Snapshot, Store, Transaction, Value, Write } from './store.ts';
import { checkQuery, checkReadsFirst, DOCUMENT_MAX_BYTES, documentBytes, isIncrement, isRemove, storedBatches } from './stored-fields.ts';
import type { StoredFields, StoredWrite } from './stored-fields.ts';
import { readable } from './stored-version.ts';

interface Doc {
  readonly path: string;
  readonly id: string;
  readonly collection: string;
  readonly data: Readonly<Record<string, Value>>;
  readonly createTime: number;
  /** Of the last change, ms. */
  readonly changeTime: number;
  /** Number of the commit that changed it last. */
  readonly version: number;
}

export type StoreOperation =
  | { readonly kind: 'get'; readonly paths: readonly string[] }
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'commit'; readonly writes: readonly Write[] };

export interface MemoryStoreHooks {
  /** Awaited before each I/O operation; throwing means that it never happened. */
  before?(operation: StoreOperation): Promise<void>;
  /** Awaited after each I/O operation; throwing means that it happened and its answer was lost. */
  after?(operation: StoreOperation): Promise<void>;
  /** Called in commit order for each document created. */
  created?(snapshot: Snapshot): void;
}

const TRANSACTION_TRIES = 12;

/**
 * A store in memory with Firestore's rules: preconditions, create-once, serialisable transactions, limits, the order of queries.
 * Documents are frozen: whoever changes what was read or written finds out at once.
 */
export class MemoryStore implements Store {
  readonly #docs: Map<string, Doc>;
  readonly #collections: Map<string, Set<string>>;
  readonly #version: { last: number };
  readonly #now: () => number;
  readonly #hooks: MemoryStoreHooks;

  constructor(now: () => number, hooks: MemoryStoreHooks = {}, shared?: MemoryStore) {
    this.#now = now;
    this.#hooks = hooks;
    this.#docs = shared === undefined ? new Map<string, Doc>() : shared.#docs;
    this.#collections = shared === undefined ? new Map<string, Set<string>>() : shared.#collections;
    this.#version = shared === undefined ? { last: 0 } : shared.#version;
  }

  /** The same documents as another caller sees them: its operations go through hooks of its own. */
  view(hooks: MemoryStoreHooks): MemoryStore {
    const created = (snapshot: Snapshot): void => this.#hooks.created?.(snapshot);
    return new MemoryStore(this.#now, { created, ...hooks }, this);
  }

  async get(paths: readonly string[]): Promise<ReadResult> {
    await this.#hooks.before?.({ kind: 'get', paths });
    const result = { docs: paths.map((path) => this.peek(path)), readTime: paths.length === 0 ? 0 : this.#now() };
    await this.#hooks.after?.({ kind: 'get', paths });
    return result;
  }

  async query(query: Query): Promise<QueryResult> {
    await this.#hooks.before?.({ kind: 'query', query });
    const result = { docs: this.#select(query), readTime: this.#now() };
    await this.#hooks.after?.({ kind: 'query', query });
    return result;
  }

  async commit(writes: readonly Write[]): Promise<CommitResult> {
    const batches = storedBatches(writes);
    const last = batches.pop() ?? [];
    for (const batch of batches) await this.#operation(writes, () => this.#apply(batch));
    return this.#operation(writes, () => this.#apply(last));
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; attempt <= TRANSACTION_TRIES; attempt += 1) {
      const view = new MemoryTransaction(this);
      const result = await work(view);
      const batches = storedBatches(view.writes);
      const last = batches.pop() ?? [];
      for (const batch of batches) await this.#operation(view.writes, () => this.#apply(batch));
      const done = await this.#operation(view.writes, () => {
        if (view.isStale()) return false;
        this.#apply(last);
        return true;
      });
      if (done) return result;
    }
    throw new StoreConflict('the transaction found no quiet moment');
  }

  /** Every document, for tests and invariant checks. */
  *all(): IterableIterator<Snapshot> {
    for (const doc of this.#docs.values()) yield snapshotOf(doc);
  }

  peek(path: string): Snapshot | undefined {
    const doc = this.#docs.get(path);
    return doc === undefined ? undefined : snapshotOf(doc);
  }

  /** The answer of a query without its I/O. */
  #select(query: Query): Snapshot[] {
    checkQuery(query);
    const { from } = query;
    const collections =
      typeof from === 'string'
        ? [from]
        : [...this.#collections.keys()].filter((path) => path === from.group || path.endsWith(`/${from.group}`));
    const docs = collections.flatMap((collection) =>
      [...(this.#collections.get(collection) ?? [])].flatMap((path) => this.#docs.get(path) ?? []),
    );
    return selected(docs, query).map(snapshotOf);
  }

  /** What a query finds, as one text that differs when the answer does. */
  fingerprint(query: Query): string {
    return this.#select(query)
      .map((doc) => `${doc.path}@${doc.updateTime}`)
      .join('\n');
  }

  async #operation<T>(writes: readonly Write[], work: () => T): Promise<T> {
    await this.#hooks.before?.({ kind: 'commit', writes });
    const result = work();
    await this.#hooks.after?.({ kind: 'commit', writes });
    return result;
  }

  /** All writes, one after the other, or none. Update times are compared with those before the commit. */
  #apply(writes: readonly StoredWrite[]): CommitResult {
    const [first] = writes;
    if (first === undefined) return { time: 0, updateTime: '' };
    const now = this.#now();
    const version = this.#version.last + 1;
    const staged = new Map<string, Doc | undefined>();
    for (const write of writes) {
      const before = staged.has(write.path) ? staged.get(write.path) : this.#docs.get(write.path);
      this.#checkPrecondition(write, before);
      staged.set(write.path, write.op === 'delete' ? undefined : changed(before, write, { now, version }));
    }
    this.#version.last = version;
    const created: Doc[] = [];
    for (const [path, doc] of staged) {
      const before = this.#docs.get(path);
      if (doc === undefined) this.#drop(path);
      else this.#put(doc);
      if (doc !== undefined && before === undefined) created.push(doc);
    }
    for (const doc of created) this.#hooks.created?.(snapshotOf(doc));
    const docs = [...staged.values()];
    const time = Math.max(...docs.map((doc) => doc?.changeTime ?? now));
    return { time, updateTime: String(docs[0]?.version ?? version) };
  }

  #checkPrecondition(write: StoredWrite, before: Doc | undefined): void {
    if (write.op === 'create' && before !== undefined) throw new StoreConflict(`${write.path} exists already`);
    if (write.op === 'update' && before === undefined) throw new StoreConflict(`${write.path} does not exist`);
    const fence = write.op === 'update' || write.op === 'delete' ? write.ifUpdateTime : undefined;
    if (fence !== undefined && String(this.#docs.get(write.path)?.version) !== fence) throw new StoreConflict(`${write.path} has changed`);
  }

  #put(doc: Doc): void {
    this.#docs.set(doc.path, doc);
    let members = this.#collections.get(doc.collection);
    if (members === undefined) this.#collections.set(doc.collection, (members = new Set()));
    members.add(doc.path);
  }

  #drop(path: string): void {
    const doc = this.#docs.get(path);
    if (doc === undefined) return;
    this.#docs.delete(path);
    this.#collections.get(doc.collection)?.delete(path);
  }
}

/** Remembers what it read, so that the commit can see whether any of it has changed, and reads it only once. */
class MemoryTransaction implements Transaction {
  readonly #store: MemoryStore;
  readonly #reads = new Map<string, Snapshot | undefined>();
  #readTime = 0;
  readonly #queries: { readonly query: Query; readonly seen: string }[] = [];
  readonly writes: Write[] = [];

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  async get(paths: readonly string[]): Promise<ReadResult> {
    checkReadsFirst(this.writes);
    const missing = [...new Set(paths)].filter((path) => !this.#reads.has(path));
    if (missing.length > 0) {
      const { docs, readTime } = await this.#store.get(missing);
      missing.forEach((path, i) => this.#reads.set(path, docs[i]));
      this.#readTime = readTime;
    }
    return { docs: paths.map((path) => this.#reads.get(path)), readTime: paths.length === 0 ? 0 : this.#readTime };
  }

  async query(query: Query): Promise<QueryResult> {
    checkReadsFirst(this.writes);
    const found = await this.#store.query(query);
    this.#queries.push({ query, seen: found.docs.map((doc) => `${doc.path}@${doc.updateTime}`).join('\n') });
    return found;
  }

  write(write: Write): void {
    this.writes.push(write);
  }

  isStale(): boolean {
    const changedDoc = [...this.#reads].some(([path, seen]) => this.#store.peek(path)?.updateTime !== seen?.updateTime);
    return changedDoc || this.#queries.some(({ query, seen }) => this.#store.fingerprint(query) !== seen);
  }
}

/** The document after a write; the same one when nothing changes, as Firestore has it. */
function changed(
  before: Doc | undefined,
  write: StoredWrite & { readonly fields: StoredFields },
  at: { now: number; version: number },
): Doc {
  const data = merged(write.op === 'update' ? (before?.data ?? {}) : {}, write.fields);
  if (before !== undefined && sameValue(before.data, data)) return before;
  const size = documentBytes(write.path, data);
  if (size > DOCUMENT_MAX_BYTES) throw new StoreRefusal(`${write.path} would have ${size} bytes; the limit is ${DOCUMENT_MAX_BYTES}`);
  const slash = write.path.lastIndexOf('/');
  return {
    path: write.path,
    id: write.path.slice(slash + 1),
    collection: write.path.slice(0, slash),
    data,
    createTime: before?.createTime ?? at.now,
    changeTime: at.now,
    version: at.version,
  };
}

function merged(base: Readonly<Record<string, Value>>, fields: StoredFields): Readonly<Record<string, Value>> {
  const next: Record<string, Value> = { ...base };
  for (const [field, value] of Object.entries(fields)) {
    if (isRemove(value)) delete next[field];
    else if (isIncrement(value)) next[field] = numberOr0(next[field]) + value.$increment;
    else next[field] = value;
  }
  return Object.freeze(next);
}

function numberOr0(value: Value | undefined): number {
  return typeof value === 'number' ? value : 0;
}

function snapshotOf(doc: Doc): Snapshot {
  const { path, id, data, createTime, changeTime, version } = doc;
  return readable({ path, id, data, createTime, changeTime, updateTime: String(version) });
}
