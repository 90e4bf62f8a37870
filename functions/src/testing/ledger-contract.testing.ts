import { randomUUID } from 'node:crypto';
import { beforeAll, describe } from 'vitest';
import type { Snapshot, Store } from '../ledger/store.ts';
import type { OpenBench } from './store-bench.testing.ts';
import { queries, queryOrder } from './store-queries.testing.ts';
import { concurrency, transactions } from './store-transactions.testing.ts';
import { limits, values } from './store-values.testing.ts';
import { versions } from './store-versions.testing.ts';
import { preconditions, times, writes } from './store-writes.testing.ts';

const parts: readonly (readonly [string, (bench: OpenBench) => void])[] = [
  ['preconditions', preconditions],
  ['writes', writes],
  ['times', times],
  ['values', values],
  ['limits', limits],
  ['versions', versions],
  ['queries', queries],
  ['query order', queryOrder],
  ['transactions', transactions],
  ['transactions side by side', concurrency],
];

/** Every store must pass: what the verbs above the port rely on, and what it refuses. */
export function storeContract(name: string, open: () => Promise<Store>): void {
  describe(`${name} keeps the contract`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await open();
    });
    const bench: OpenBench = () => {
      const collection = `accounts/${randomUUID()}/things`;
      const at = (id: string): string => `${collection}/${id}`;
      const read = async (id: string): Promise<Snapshot | undefined> => (await store.get([at(id)])).docs[0];
      return {
        store,
        at,
        collection,
        read,
        data: async (id) => (await read(id))?.data,
        put: async (id, data) => (await store.commit([{ op: 'set', path: at(id), data }])).updateTime,
      };
    };
    describe.each(parts)('%s', (_, part) => {
      part(bench);
    });
  });
}
