import { isDeepStrictEqual } from 'node:util';
import type { MemoryStore } from '../../functions/src/ledger/memory-store.ts';
import { StoreConflict, StoreRefusal } from '../../functions/src/ledger/store.ts';
import type {
  CommitResult,
  Query,
  QueryResult,
  ReadResult,
  Snapshot,
  Store,
  Transaction,
  Write,
} from '../../functions/src/ledger/store.ts';
import { nextTurn } from './jobs.ts';
import type { Backend } from './jobs.ts';

/** The memory store and Firestore gave different answers: a bug of the model. */
export class Difference extends Error {
  override readonly name = 'Difference';
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };
type Read = { readonly paths: readonly string[] } | { readonly query: Query };
const READ_BACK = 100;

/**
 * Does everything twice, in memory and on Firestore, and compares each answer: documents, the order of queries, update times,
 * preconditions that do not hold. Whoever works on it is handed Firestore's documents with the model's times.
 *
 * A transaction reads on both as it goes along. It is committed on Firestore as a transaction of its own once the model has
 * committed it: where the model finds that something has changed and begins anew, Firestore would have let the other one wait.
 */
export class MirrorStore implements Backend {
  operations = 0;
  readonly #memory: MemoryStore;
  readonly #firestore: Store;
  /** Firestore's update time of each state of a document that the model has. */
  readonly #times = new Map<string, string>();
  readonly #written = new Set<string>();
  #busy = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(memory: MemoryStore, firestore: Store) {
    this.#memory = memory;
    this.#firestore = firestore;
  }

  async settled(): Promise<void> {
    do {
      await this.#last;
      await nextTurn();
    } while (this.#busy > 0);
  }

  get(paths: readonly string[]): Promise<ReadResult> {
    return this.#get(this.#memory, paths);
  }

  query(query: Query): Promise<QueryResult> {
    return this.#query(this.#memory, query);
  }

  commit(writes: readonly Write[]): Promise<CommitResult> {
    return this.#inTurn(async () => {
      const model = await outcomeOf(this.#memory.commit(writes));
      const real = await outcomeOf(this.#firestore.commit(this.#translated(writes)));
      await this.#compare(`commit of ${wordsOf(writes)}`, writes, model, real);
      if (!model.ok) throw model.error;
      return model.value;
    });
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    let reads: Read[] = [];
    let writes: Write[] = [];
    let done = false;
    const model = await outcomeOf(
      this.#memory.transaction(async (tx) => {
        [reads, writes, done] = [[], [], false];
        // A document is read once in a transaction: what it has become meanwhile is not seen.
        const known = new Map<string, Snapshot | undefined>();
        const result = await work({
          get: async (paths) => {
            const missing = [...new Set(paths)].filter((path) => !known.has(path));
            reads.push({ paths: missing });
            const { docs, readTime } = await this.#get(tx, missing);
            missing.forEach((path, i) => known.set(path, docs[i]));
            return { docs: paths.map((path) => known.get(path)), readTime: missing.length > 0 ? readTime : (await tx.get(paths)).readTime };
          },
          query: (query) => {
            reads.push({ query });
            return this.#query(tx, query);
          },
          write: (write) => {
            writes.push(write);
            tx.write(write);
          },
        });
        done = true;
        return result;
      }),
    );
    // Work that gave up by itself has nothing to commit.
    if (done) await this.#inTurn(() => this.#commitAgain(reads, writes, model));
    if (!model.ok) throw model.error;
    return model.value;
  }

  /** Every document that was ever written is the same on both sides. */
  async compareAll(): Promise<number> {
    await this.#readBack([...this.#written]);
    return this.#written.size;
  }

  async #commitAgain(reads: readonly Read[], writes: readonly Write[], model: Outcome<unknown>): Promise<void> {
    const real = await outcomeOf(
      this.#firestore.transaction(async (tx) => {
        for (const read of reads) await ('query' in read ? tx.query(read.query) : tx.get(read.paths));
        for (const write of this.#translated(writes)) tx.write(write);
      }),
    );
    await this.#compare(`transaction of ${wordsOf(writes)}`, writes, model, real);
  }

  #get(from: Pick<Store, 'get'>, paths: readonly string[]): Promise<ReadResult> {
    return this.#inTurn(async () => {
      const model = await from.get(paths);
      const real = await this.#firestore.get(paths);
      return { ...model, docs: paths.map((path, i) => this.#same(`get of ${path}`, model.docs[i], real.docs[i])) };
    });
  }

  #query(from: Pick<Store, 'query'>, query: Query): Promise<QueryResult> {
    return this.#inTurn(async () => {
      const model = await from.query(query);
      const real = await this.#firestore.query(query);
      const what = `query ${JSON.stringify(query)}`;
      const [found, wanted] = [real, model].map(({ docs }) => docs.map(({ path }) => path));
      if (!isDeepStrictEqual(found, wanted)) throw new Difference(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
      return { ...model, docs: model.docs.flatMap((doc, i) => this.#same(what, doc, real.docs[i]) ?? []) };
    });
  }

  /** One operation after the other, in the order in which they were asked for. */
  #inTurn<T>(operation: () => Promise<T>): Promise<T> {
    this.operations += 1;
    this.#busy += 1;
    const result = this.#last.then(operation);
    const over = (): void => void (this.#busy -= 1);
    this.#last = result.then(over, over);
    return result;
  }

  /** The writes with Firestore's update times. */
  #translated(writes: readonly Write[]): Write[] {
    return writes.map((write) => {
      this.#written.add(write.path);
      if (!('ifUpdateTime' in write) || write.ifUpdateTime === undefined) return write;
      const time = this.#times.get(`${write.path}@${write.ifUpdateTime}`);
      if (time === undefined) throw new Difference(`nobody has seen ${write.path} as of ${write.ifUpdateTime}`);
      return { ...write, ifUpdateTime: time };
    });
  }

  async #compare(what: string, writes: readonly Write[], model: Outcome<unknown>, real: Outcome<unknown>): Promise<void> {
    const [wanted, found] = [kindOf(model), kindOf(real)];
    if (wanted !== found) throw new Difference(`${what}: ${found} instead of ${wanted}: ${real.ok ? '' : String(real.error)}`);
    await this.#readBack([...new Set(writes.map(({ path }) => path))]);
  }

  async #readBack(paths: readonly string[]): Promise<void> {
    for (let i = 0; i < paths.length; i += READ_BACK) {
      const some = paths.slice(i, i + READ_BACK);
      const { docs } = await this.#firestore.get(some);
      some.forEach((path, n) => this.#same(`${path} read back`, this.#memory.peek(path), docs[n]));
    }
  }

  #same(what: string, model: Snapshot | undefined, real: Snapshot | undefined): Snapshot | undefined {
    if (model === undefined || real === undefined) {
      if (model !== real) throw new Difference(`${what}: ${real === undefined ? 'nothing' : 'a document'} instead of the opposite`);
      return undefined;
    }
    if (!isDeepStrictEqual({ ...real.data }, { ...model.data })) {
      throw new Difference(`${what}: ${JSON.stringify(real.data)} instead of ${JSON.stringify(model.data)}`);
    }
    const state = `${model.path}@${model.updateTime}`;
    const time = this.#times.get(state) ?? real.updateTime;
    if (time !== real.updateTime) throw new Difference(`${what}: changed on Firestore only`);
    const before = this.#times.get(`last ${model.path}`);
    if (before === time && !this.#times.has(state)) throw new Difference(`${what}: changed in the model only`);
    this.#times.set(state, time).set(`last ${model.path}`, time);
    return { ...model, data: real.data };
  }
}

async function outcomeOf<T>(result: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await result };
  } catch (error) {
    return { ok: false, error };
  }
}

function kindOf(outcome: Outcome<unknown>): string {
  if (outcome.ok) return 'done';
  if (outcome.error instanceof StoreConflict) return 'a conflict';
  return outcome.error instanceof StoreRefusal ? 'a refusal' : `an error (${String(outcome.error)})`;
}

function wordsOf(writes: readonly Write[]): string {
  return writes.map(({ op, path }) => `${op} ${path}`).join(', ');
}
