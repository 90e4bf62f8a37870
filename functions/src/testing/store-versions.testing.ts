import { expect, test } from 'vitest';
import { StoredByNewerCode } from '../model/upgrades.ts';
import type { OpenBench } from './store-bench.testing.ts';

/** Documents of other schema versions than the present one. */
export function versions(open: OpenBench): void {
  const approvalsOf = (collection: string): string => collection.replace(/things$/, 'approvals');

  test('a document of an earlier version comes in the present form, from a read, a query and a transaction', async () => {
    const { store, collection } = open();
    const from = approvalsOf(collection);
    await store.commit([{ op: 'set', path: `${from}/a`, data: { v: 1, startedBy: 'u' } }]);
    const present = { v: 2, startedBy: 'u', alsoStartedBy: [] };
    expect((await store.get([`${from}/a`])).docs[0]?.data).toEqual(present);
    expect((await store.query({ from, where: [], limit: 5 })).docs.map((doc) => doc.data)).toEqual([present]);
    const inside = await store.transaction((tx) => tx.get([`${from}/a`]));
    expect(inside.docs[0]?.data).toEqual(present);
  });

  test('a document of a newer version is found, and refused when its data is asked for', async () => {
    const { store, collection } = open();
    const from = approvalsOf(collection);
    await store.commit([
      { op: 'set', path: `${from}/a`, data: { v: 99 } },
      { op: 'set', path: `${from}/b`, data: { v: 2 } },
    ]);
    const { docs } = await store.query({ from, where: [], limit: 5 });
    expect(docs.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(() => docs[0]?.data).toThrow(StoredByNewerCode);
    expect(docs[1]?.data).toEqual({ v: 2 });
  });

  test('a document of the team may have any version', async () => {
    const bench = open();
    await bench.put('a', { v: 99 });
    expect(await bench.data('a')).toEqual({ v: 99 });
  });
}
