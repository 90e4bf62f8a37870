import { StoreConflict, StoreRefusal } from './store.ts';
import type { CommitResult, Fields, Filter, Query, QueryResult, ReadResult, Snapshot, Store, Transaction, Write } from './store.ts';

interface Doc {
  readonly path: string;
  readonly id: string;
  readonly collection: string;
  data: Record<string, unknown>;
  createTime: number;
  version: number;
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

const MAX_DOCUMENT_CHARS = 1_000_000;
const TRANSACTION_TRIES = 12;

/** A store in memory with Firestore's rules: preconditions, create-once, serialisable transactions, a document limit. */
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
    return new MemoryStore(this.#now, { ...(this.#hooks.created === undefined ? {} : { created: this.#hooks.created }), ...hooks }, this);
  }

  async get(paths: readonly string[]): Promise<ReadResult> {
    await this.#hooks.before?.({ kind: 'get', paths });
    const result = this.#read(paths);
    await this.#hooks.after?.({ kind: 'get', paths });
    return result;
  }

  async query(query: Query): Promise<QueryResult> {
    await this.#hooks.before?.({ kind: 'query', query });
    const result = { docs: this.#select(query).map(snapshotOf), readTime: this.#now() };
    await this.#hooks.after?.({ kind: 'query', query });
    return result;
  }

  async commit(writes: readonly Write[]): Promise<CommitResult> {
    await this.#hooks.before?.({ kind: 'commit', writes });
    const result = this.#apply(writes);
    await this.#hooks.after?.({ kind: 'commit', writes });
    return result;
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const reads = new Map<string, number>();
      const queries: { query: Query; seen: string }[] = [];
      const writes: Write[] = [];
      const result = await work({
        get: async (paths) => {
          const read = await this.get(paths);
          paths.forEach((path, i) => reads.set(path, read.docs[i] === undefined ? -1 : Number(read.docs[i].updateTime)));
          return read;
        },
        query: async (query) => {
          const found = await this.query(query);
          queries.push({ query, seen: fingerprint(found.docs) });
          return found;
        },
        write: (write) => void writes.push(write),
      });
      await this.#hooks.before?.({ kind: 'commit', writes });
      const stale =
        [...reads].some(([path, version]) => (this.#docs.get(path)?.version ?? -1) !== version) ||
        queries.some(({ query, seen }) => fingerprint(this.#select(query).map(snapshotOf)) !== seen);
      if (!stale) {
        if (writes.length > 0) this.#apply(writes);
        await this.#hooks.after?.({ kind: 'commit', writes });
        return result;
      }
      if (attempt >= TRANSACTION_TRIES) throw new StoreConflict('the transaction found no quiet moment');
    }
  }

  /** Every document, for tests and invariant checks. */
  *all(): IterableIterator<Snapshot> {
    for (const doc of this.#docs.values()) yield snapshotOf(doc);
  }

  peek(path: string): Snapshot | undefined {
    const doc = this.#docs.get(path);
    return doc === undefined ? undefined : snapshotOf(doc);
  }

  #read(paths: readonly string[]): ReadResult {
    return { docs: paths.map((path) => this.peek(path)), readTime: this.#now() };
  }

  #apply(writes: readonly Write[]): CommitResult {
    for (const write of writes) this.#check(write);
    const time = this.#now();
    const version = (this.#version.last += 1);
    const created: Doc[] = [];
    for (const write of writes) {
      const before = this.#docs.get(write.path);
      if (write.op === 'delete') {
        if (before !== undefined) this.#drop(before);
        continue;
      }
      const base = write.op === 'update' && before !== undefined ? before.data : {};
      const doc = before ?? this.#add(write.path, time);
      doc.data = merge(base, write.data);
      doc.version = version;
      if (before === undefined) created.push(doc);
    }
    for (const doc of created) this.#hooks.created?.(snapshotOf(doc));
    return { time, updateTime: String(version) };
  }

  #check(write: Write): void {
    const doc = this.#docs.get(write.path);
    if (write.op === 'create' && doc !== undefined) throw new StoreConflict(`${write.path} exists already`);
    if (write.op === 'update' && doc === undefined) throw new StoreConflict(`${write.path} does not exist`);
    if (
      (write.op === 'update' || write.op === 'delete') &&
      write.ifUpdateTime !== undefined &&
      String(doc?.version) !== write.ifUpdateTime
    ) {
      throw new StoreConflict(`${write.path} has changed`);
    }
    if (write.op !== 'delete' && sizeOf(write.data) > MAX_DOCUMENT_CHARS) throw new StoreRefusal(`${write.path} is over 1 MiB`);
  }

  #add(path: string, time: number): Doc {
    const slash = path.lastIndexOf('/');
    const doc: Doc = { path, id: path.slice(slash + 1), collection: path.slice(0, slash), data: {}, createTime: time, version: 0 };
    this.#docs.set(path, doc);
    let members = this.#collections.get(doc.collection);
    if (members === undefined) this.#collections.set(doc.collection, (members = new Set()));
    members.add(path);
    return doc;
  }

  #drop(doc: Doc): void {
    this.#docs.delete(doc.path);
    this.#collections.get(doc.collection)?.delete(doc.path);
  }

  #select(query: Query): Doc[] {
    const found: Doc[] = [];
    for (const [collection, members] of this.#collections) {
      if (typeof query.from === 'string' ? collection !== query.from : !collection.endsWith(`/${query.from.group}`)) continue;
      for (const path of members) {
        const doc = this.#docs.get(path);
        if (doc !== undefined && query.where.every((filter) => matches(doc.data, filter))) found.push(doc);
      }
    }
    const orders = query.orderBy ?? [];
    const present = found.filter((doc) => orders.every(([field]) => doc.data[field] !== undefined));
    present.sort((a, b) => {
      for (const [field, direction] of orders) {
        const order = compare(a.data[field], b.data[field]);
        if (order !== 0) return direction === 'asc' ? order : -order;
      }
      return compare(a.path, b.path);
    });
    return present.slice(0, query.limit);
  }
}

function snapshotOf(doc: Doc): Snapshot {
  return { path: doc.path, id: doc.id, data: doc.data, createTime: doc.createTime, updateTime: String(doc.version) };
}

function fingerprint(docs: readonly Snapshot[]): string {
  return docs.map((doc) => `${doc.path}@${doc.updateTime}`).join('\n');
}

function merge(base: Readonly<Record<string, unknown>>, changes: Fields): Record<string, unknown> {
  const next = { ...base };
  for (const [field, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    if (isSentinel(value, '$remove')) delete next[field];
    else if (isSentinel(value, '$increment')) next[field] = (typeof next[field] === 'number' ? next[field] : 0) + Number(value.$increment);
    else next[field] = value;
  }
  return next;
}

function isSentinel<K extends string>(value: unknown, key: K): value is Record<K, unknown> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

function matches(data: Readonly<Record<string, unknown>>, [field, op, wanted]: Filter): boolean {
  const value = data[field];
  if (value === undefined) return false;
  switch (op) {
    case '==':
      return value === wanted;
    case 'in':
      return Array.isArray(wanted) && wanted.includes(value as string);
    case 'array-contains':
      return Array.isArray(value) && value.includes(wanted);
    case '<':
      return typeof value === typeof wanted && compare(value, wanted) < 0;
    case '<=':
      return typeof value === typeof wanted && compare(value, wanted) <= 0;
    case '>':
      return typeof value === typeof wanted && compare(value, wanted) > 0;
    case '>=':
      return typeof value === typeof wanted && compare(value, wanted) >= 0;
  }
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const left = String(a);
  const right = String(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Characters of the strings inside: an estimate that is exact enough for payload parts. */
function sizeOf(data: Fields): number {
  let size = 0;
  const stack: unknown[] = [data];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value === 'string') size += value.length;
    else if (typeof value === 'object' && value !== null) stack.push(...Object.values(value));
  }
  return size;
}
