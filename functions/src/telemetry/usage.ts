import type { Query, ReadResult, QueryResult, Store, Transaction, Write } from '../ledger/store.ts';

export interface Usage {
  invocations: number;
  reads: number;
  writes: number;
  deletes: number;
}

/** What this process has asked of the database since it started. Counted, not computed: each document read or written is one. */
export const usage: Usage = { invocations: 0, reads: 0, writes: 0, deletes: 0 };

/** A store that counts. An empty answer of a query is billed as one read. */
export function metered(store: Store): Store {
  const readDocs = (result: ReadResult, paths: readonly string[]): ReadResult => {
    usage.reads += paths.length;
    return result;
  };
  const found = (result: QueryResult): QueryResult => {
    usage.reads += Math.max(1, result.docs.length);
    return result;
  };
  const count = (writes: readonly Write[]): void => {
    for (const write of writes) {
      if (write.op === 'delete') usage.deletes += 1;
      else usage.writes += 1;
    }
  };
  return {
    get: async (paths) => readDocs(await store.get(paths), paths),
    query: async (query) => found(await store.query(query)),
    commit: async (writes) => {
      const result = await store.commit(writes);
      count(writes);
      return result;
    },
    transaction: async (work) => {
      let writes: Write[] = [];
      const result = await store.transaction((tx) => {
        writes = [];
        const view: Transaction = {
          get: async (paths: readonly string[]) => readDocs(await tx.get(paths), paths),
          query: async (query: Query) => found(await tx.query(query)),
          write: (write: Write) => {
            writes.push(write);
            tx.write(write);
          },
        };
        return work(view);
      });
      count(writes);
      return result;
    },
  };
}
