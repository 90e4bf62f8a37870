import type { Query, Store, Transaction, Write } from './store.ts';

/**
 * The database's time, as an instance knows it: local time corrected by each server time that a response carries.
 * What is due is judged after a read, so by that read's time; between responses the local clock counts on.
 */
export class DatabaseClock {
  readonly #local: () => number;
  readonly #offset: () => number;
  #skew = 0;

  /** `offset` moves time for tests; it shifts server times alike. */
  constructor(local: () => number, offset: () => number = () => 0) {
    this.#local = local;
    this.#offset = offset;
  }

  observe(serverTime: number): void {
    if (serverTime > 0) this.#skew = serverTime - this.#local();
  }

  /** A commit's time: that of an earlier change where the commit changed nothing, so it only ever moves the clock forward. */
  observeCommit(serverTime: number): void {
    if (serverTime > 0) this.#skew = Math.max(this.#skew, serverTime - this.#local());
  }

  now(): number {
    return Math.round(this.#local() + this.#skew + this.#offset());
  }
}

/** A store whose responses correct the clock. */
export function observed(store: Store, clock: DatabaseClock): Store {
  const see = <T extends { readonly readTime: number }>(result: T): T => {
    clock.observe(result.readTime);
    return result;
  };
  return {
    get: async (paths) => see(await store.get(paths)),
    query: async (query) => see(await store.query(query)),
    commit: async (writes) => {
      const result = await store.commit(writes);
      clock.observeCommit(result.time);
      return result;
    },
    transaction: (work) =>
      store.transaction((tx) => {
        const view: Transaction = {
          get: async (paths: readonly string[]) => see(await tx.get(paths)),
          query: async (query: Query) => see(await tx.query(query)),
          write: (write: Write) => tx.write(write),
        };
        return work(view);
      }),
  };
}
