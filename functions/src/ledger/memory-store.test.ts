import { expect, test } from 'vitest';
import { storeContract } from '../testing/ledger-contract.testing.ts';
import { MemoryStore } from './memory-store.ts';
import type { StoreOperation } from './memory-store.ts';
import { StoreConflict } from './store.ts';
import type { Snapshot } from './store.ts';

storeContract('MemoryStore', () => Promise.resolve(new MemoryStore(() => Date.now())));

test('a transaction that finds no quiet moment gives up as a conflict', async () => {
  const store = new MemoryStore(() => 1);
  let n = 0;
  const restless = store.transaction(async (tx) => {
    await tx.get(['a/a']);
    await store.commit([{ op: 'set', path: 'a/a', data: { n: (n += 1) } }]);
    tx.write({ op: 'set', path: 'a/b', data: { n } });
  });
  await expect(restless).rejects.toThrow(StoreConflict);
  expect(store.peek('a/b')).toBeUndefined();
});

test('a transaction is run again when what it read, or what its query found, has changed', async () => {
  const store = new MemoryStore(() => 1);
  await store.commit([{ op: 'set', path: 'a/a', data: { n: 0 } }]);
  const seen: unknown[] = [];
  for (const change of ['a/a', 'a/new']) {
    let disturbed = false;
    await store.transaction(async (tx) => {
      const found = await tx.query({ from: 'a', where: [], limit: 10 });
      seen.push(found.docs.length);
      if (!disturbed) await store.commit([{ op: 'set', path: change, data: { n: change.length } }]);
      disturbed = true;
      tx.write({ op: 'set', path: `b/${change.length}`, data: { count: found.docs.length } });
    });
  }
  expect(seen).toEqual([1, 1, 1, 2]);
  expect(store.peek('b/5')?.data).toEqual({ count: 2 });
});

test('hooks: throwing before an operation means that it never happened, after it that only its answer was lost', async () => {
  let fault: 'before' | 'after' | undefined;
  const operations: StoreOperation['kind'][] = [];
  const store = new MemoryStore(() => 1, {
    before: ({ kind }) => {
      operations.push(kind);
      return fault === 'before' ? Promise.reject(new Error('died before')) : Promise.resolve();
    },
    after: () => (fault === 'after' ? Promise.reject(new Error('died after')) : Promise.resolve()),
  });
  fault = 'before';
  await expect(store.commit([{ op: 'set', path: 'a/a', data: { n: 1 } }])).rejects.toThrow('died before');
  expect(store.peek('a/a')).toBeUndefined();
  fault = 'after';
  await expect(store.commit([{ op: 'set', path: 'a/a', data: { n: 1 } }])).rejects.toThrow('died after');
  expect(store.peek('a/a')?.data).toEqual({ n: 1 });
  expect(operations).toEqual(['commit', 'commit']);
});

test('parts that go ahead are operations of their own, so that a crash can come between them and the commit', async () => {
  let left = 2;
  const store = new MemoryStore(() => 1, {
    before: () => {
      left -= 1;
      return left < 0 ? Promise.reject(new Error('died')) : Promise.resolve();
    },
  });
  const part = (n: number) => ({ op: 'set', path: `a/part${n}`, data: { text: 'x'.repeat(1_000_000) }, ahead: true }) as const;
  const head = { op: 'create', path: 'a/head', data: { n: 1 } } as const;
  await expect(store.commit([part(1), part(2), part(3), part(4), head])).rejects.toThrow('died');
  expect(['a/part1', 'a/part4', 'a/head'].map((path) => store.peek(path)?.id)).toEqual(['part1', 'part4', undefined]);
});

test('views share the documents; creations are told in commit order, and only creations', async () => {
  const created: string[] = [];
  const store = new MemoryStore(() => 1, { created: (snapshot: Snapshot) => void created.push(snapshot.path) });
  const view = store.view({ before: () => Promise.resolve() });
  await store.commit([
    { op: 'create', path: 'a/1', data: { n: 1 } },
    { op: 'create', path: 'a/2', data: { n: 1 } },
  ]);
  await view.commit([
    { op: 'update', path: 'a/1', data: { n: 2 } },
    { op: 'create', path: 'a/3', data: { n: 1 } },
  ]);
  expect(created).toEqual(['a/1', 'a/2', 'a/3']);
  expect(store.peek('a/3')?.data).toEqual({ n: 1 });
});

test('what was read cannot be changed by accident', async () => {
  const store = new MemoryStore(() => 1);
  await store.commit([{ op: 'set', path: 'a/a', data: { list: [1] } }]);
  const list = store.peek('a/a')?.data['list'] as number[];
  expect(() => list.push(2)).toThrow(TypeError);
});
