import { StoreConflict } from '../../functions/src/ledger/store.ts';
import type { CommitResult, Query, QueryResult, ReadResult, Store, Transaction, Write } from '../../functions/src/ledger/store.ts';
import { shorten } from './words.ts';

/** What becomes of an operation that was let go. Faults that keep it from happening are thrown by `park` itself. */
export type Fate = 'none' | 'lose_reply' | 'client_retries' | 'die_after';

/** Where a handler stands still. */
export interface Turnstile {
  /** Waits for its turn. Throws when the operation does not happen. */
  park(what: string): Promise<Fate>;
  /** After the operation: its answer may be lost, late, or find nobody alive. */
  settle(what: string, fate: Fate): Promise<void>;
  /** Called at once after a commit has taken place, before anything else happens. */
  committed(writes: readonly Write[]): void;
  /** A commit found that something else had changed. */
  conflict(): void;
  /** Called with each path or query that is read. */
  reads(paths: readonly string[], query: Query | undefined): void;
  /** Reads that find nothing and change nothing may pass without a turn; they only cost time. */
  passes(query: Query): boolean;
}

/** The client library sends the same again by itself, as Firestore's does on UNAVAILABLE and ABORTED. */
export class ClientRetries extends Error {
  override readonly name = 'ClientRetries';
}

const CLIENT_TRIES = 5;

/**
 * A store whose caller stands still before each operation. It retries what Firestore's client retries: a commit whose answer was
 * lost is sent again and then finds its own writes; a transaction is run again as a whole.
 */
export class GatedStore implements Store {
  readonly #inner: Store;
  readonly #gate: Turnstile;

  constructor(inner: Store, gate: Turnstile) {
    this.#inner = inner;
    this.#gate = gate;
  }

  get(paths: readonly string[]): Promise<ReadResult> {
    return this.#get(this.#inner, paths);
  }

  query(query: Query): Promise<QueryResult> {
    return this.#query(this.#inner, query);
  }

  async #get(from: Pick<Store, 'get'>, paths: readonly string[]): Promise<ReadResult> {
    if (paths.length === 0) return from.get(paths);
    const what = `get ${paths.map(shorten).join(', ')}`;
    this.#gate.reads(paths, undefined);
    const fate = await this.#gate.park(what);
    const result = await from.get(paths);
    await this.#gate.settle(what, fate);
    return result;
  }

  async #query(from: Pick<Store, 'query'>, query: Query): Promise<QueryResult> {
    if (this.#gate.passes(query)) return from.query(query);
    const what = `query ${typeof query.from === 'string' ? shorten(query.from) : query.from.group}`;
    this.#gate.reads([], query);
    const fate = await this.#gate.park(what);
    const result = await from.query(query);
    await this.#gate.settle(what, fate);
    return result;
  }

  async commit(writes: readonly Write[]): Promise<CommitResult> {
    return withRetries(async () => {
      const what = inWords(writes);
      const fate = await this.#gate.park(what);
      const result = await this.#inner.commit(writes).catch((error: unknown) => {
        if (error instanceof StoreConflict) this.#gate.conflict();
        throw error;
      });
      this.#gate.committed(writes);
      await this.#gate.settle(what, fate);
      return result;
    });
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return withRetries(async () => {
      let fate: Fate = 'none';
      let writes: Write[] = [];
      let tries = 0;
      const result = await this.#inner.transaction(async (tx) => {
        writes = [];
        if ((tries += 1) > 1) this.#gate.conflict();
        const done = await work({
          get: (paths) => this.#get(tx, paths),
          query: (query) => this.#query(tx, query),
          write: (write) => {
            writes.push(write);
            tx.write(write);
          },
        });
        fate = await this.#gate.park(`tx ${inWords(writes)}`);
        return done;
      });
      if (writes.length > 0) this.#gate.committed(writes);
      await this.#gate.settle(`tx ${inWords(writes)}`, fate);
      return result;
    });
  }
}

async function withRetries<T>(send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ClientRetries) || attempt >= CLIENT_TRIES) throw error;
    }
  }
}

function inWords(writes: readonly Write[]): string {
  return `commit ${writes.map((write) => `${write.op} ${shorten(write.path)}`).join(', ')}`;
}
