import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { remove, StoreRefusal } from '../ledger/store.ts';
import type { Query, Write } from '../ledger/store.ts';
import type { Bench, OpenBench } from './store-bench.testing.ts';

export function queries(bench: OpenBench): void {
  const found = async (b: Bench, query: Partial<Query>): Promise<string[]> => {
    const { docs } = await b.store.query({ from: b.collection, where: [], limit: 50, ...query });
    return docs.map((doc) => doc.id);
  };

  test('equality takes kind and value; a missing field equals nothing', async () => {
    const b = bench();
    await Promise.all([
      b.put('a', { x: 1 }),
      b.put('b', { x: '1' }),
      b.put('c', { x: true }),
      b.put('d', { y: 1 }),
      b.put('e', { x: null }),
    ]);
    expect(await found(b, { where: [['x', '==', 1]] })).toEqual(['a']);
    expect(await found(b, { where: [['x', '==', '1']] })).toEqual(['b']);
    expect(await found(b, { where: [['x', '==', true]] })).toEqual(['c']);
  });

  test('a range takes values of its own kind only', async () => {
    const b = bench();
    await Promise.all([
      b.put('a', { x: 1 }),
      b.put('b', { x: 2 }),
      b.put('c', { x: 3 }),
      b.put('d', { x: '2' }),
      b.put('e', { x: null }),
      b.put('f', {}),
    ]);
    expect(await found(b, { where: [['x', '>', 1]] })).toEqual(['b', 'c']);
    expect(
      await found(b, {
        where: [
          ['x', '>=', 1],
          ['x', '<', 3],
        ],
      }),
    ).toEqual(['a', 'b']);
    expect(await found(b, { where: [['x', '<=', '3']] })).toEqual(['d']);
    expect(await found(b, { where: [['x', '<', 2]] })).toEqual(['a']);
  });

  test('in takes 1 to 30 values', async () => {
    const b = bench();
    await Promise.all([b.put('a', { x: 'p' }), b.put('b', { x: 'q' }), b.put('c', { x: 'r' })]);
    const thirty = Array.from({ length: 28 }, (_, n) => `other${n}`);
    expect(await found(b, { where: [['x', 'in', ['p', 'r', ...thirty]]] })).toEqual(['a', 'c']);
    await expect(found(b, { where: [['x', 'in', ['p', 'q', 'r', ...thirty]]] })).rejects.toThrow(StoreRefusal);
    await expect(found(b, { where: [['x', 'in', []]] })).rejects.toThrow(StoreRefusal);
  });

  test('a page begins after a document, also among equals', async () => {
    const b = bench();
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => b.put(id, { x: id === 'e' ? 2 : 1 })));
    const pages = async (direction: 'asc' | 'desc'): Promise<string[]> => {
      const all: string[] = [];
      let startAfter: (string | number)[] | undefined;
      for (;;) {
        const query: Query = { from: b.collection, where: [['x', '<', 9]], orderBy: [['x', direction]], limit: 2 };
        const { docs } = await b.store.query(startAfter === undefined ? query : { ...query, startAfter });
        all.push(...docs.map((doc) => doc.id));
        const last = docs.at(-1);
        if (last === undefined || docs.length < 2) return all;
        startAfter = [Number(last.data['x']), last.id];
      }
    };
    expect(await pages('asc')).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await pages('desc')).toEqual(['e', 'd', 'c', 'b', 'a']);
    await expect(found(b, { orderBy: [['x', 'asc']], startAfter: [1] })).rejects.toThrow(StoreRefusal);
  });

  test('array-contains finds members of lists, not parts of texts', async () => {
    const b = bench();
    await Promise.all([b.put('a', { x: ['p', 'q'] }), b.put('b', { x: ['q'] }), b.put('c', { x: 'p' }), b.put('d', { x: [] })]);
    expect(await found(b, { where: [['x', 'array-contains', 'p']] })).toEqual(['a']);
  });

  test('all conditions hold together, and the limit counts what fits', async () => {
    const b = bench();
    await b.store.commit(
      Array.from({ length: 20 }, (_, n): Write => ({
        op: 'set',
        path: b.at(`d${String(n).padStart(2, '0')}`),
        data: { n, even: n % 2 === 0 },
      })),
    );
    expect(
      await found(b, {
        where: [
          ['even', '==', true],
          ['n', '>=', 10],
        ],
        limit: 3,
      }),
    ).toEqual(['d10', 'd12', 'd14']);
    await expect(found(b, { limit: 0 })).rejects.toThrow(StoreRefusal);
  });

  test('a collection is its own: not those inside its documents, not others of its name', async () => {
    const b = bench();
    await Promise.all([
      b.put('a', { x: 1 }),
      b.store.commit([{ op: 'set', path: `${b.at('a')}/things/inner`, data: { x: 1 } }]),
      bench().put('other', { x: 1 }),
    ]);
    expect(await found(b, {})).toEqual(['a']);
  });

  test('a group is every collection of that id, also at different depths', async () => {
    const b = bench();
    const group = `g${randomUUID().replaceAll('-', '')}`;
    const paths = [
      `${group}/root`,
      `accounts/a/${group}/x`,
      `accounts/a-b/${group}/y`,
      `accounts/a/runs/r/${group}/z`,
      `accounts/a/${group}x/no`,
    ];
    await b.store.commit(paths.map((path): Write => ({ op: 'set', path, data: { n: 1 } })));
    const { docs } = await b.store.query({ from: { group }, where: [['n', '==', 1]], limit: 10 });
    expect(docs.map((doc) => doc.path)).toEqual([
      `accounts/a/${group}/x`,
      `accounts/a/runs/r/${group}/z`,
      `accounts/a-b/${group}/y`,
      `${group}/root`,
    ]);
  });

  test('a path where a collection is meant, and the other way round, is refused', async () => {
    const b = bench();
    await expect(found(b, { from: b.at('a') })).rejects.toThrow(StoreRefusal);
    await expect(b.store.commit([{ op: 'set', path: b.collection, data: { n: 1 } }])).rejects.toThrow(StoreRefusal);
  });

  test('what a commit wrote, the next query finds', async () => {
    const b = bench();
    await b.put('a', { state: 'ready' });
    expect(await found(b, { where: [['state', '==', 'ready']] })).toEqual(['a']);
    await b.store.commit([{ op: 'update', path: b.at('a'), data: { state: remove } }]);
    expect(await found(b, { where: [['state', '==', 'ready']] })).toEqual([]);
  });
}

export function queryOrder(bench: OpenBench): void {
  const ids = async (b: Bench, query: Partial<Query>): Promise<string[]> =>
    (await b.store.query({ from: b.collection, where: [], limit: 50, ...query })).docs.map((doc) => doc.id);

  test('without an order, by id; ids are compared by their UTF-8 bytes', async () => {
    const b = bench();
    await Promise.all(['b', 'a', 'B', 'é', '\uff61', '🙂', 'a-b', 'a.b', '10', '9'].map((id) => b.put(id, { n: 1 })));
    expect(await ids(b, {})).toEqual(['10', '9', 'B', 'a', 'a-b', 'a.b', 'b', 'é', '\uff61', '🙂']);
  });

  test('by a field, both ways; ties follow the id in the same direction; a missing field is left out', async () => {
    const b = bench();
    await Promise.all([b.put('a', { n: 2 }), b.put('b', { n: 1 }), b.put('c', { n: 2 }), b.put('d', {}), b.put('e', { n: 10 })]);
    expect(await ids(b, { orderBy: [['n', 'asc']] })).toEqual(['b', 'a', 'c', 'e']);
    expect(await ids(b, { orderBy: [['n', 'desc']] })).toEqual(['e', 'c', 'a', 'b']);
  });

  test('a range without an order is in the order of its field', async () => {
    const b = bench();
    await Promise.all([b.put('a', { due: '0|3' }), b.put('b', { due: '0|1' }), b.put('c', { due: '1|2' })]);
    expect(
      await ids(b, {
        where: [
          ['due', '>=', '0|'],
          ['due', '<=', '0|9'],
        ],
      }),
    ).toEqual(['b', 'a']);
  });

  test('by two fields, each in its direction', async () => {
    const b = bench();
    await Promise.all([b.put('a', { x: 1, y: 1 }), b.put('b', { x: 1, y: 2 }), b.put('c', { x: 2, y: 1 }), b.put('d', { x: 2 })]);
    expect(
      await ids(b, {
        orderBy: [
          ['x', 'desc'],
          ['y', 'asc'],
        ],
      }),
    ).toEqual(['c', 'a', 'b']);
  });

  test('kinds follow each other: null, booleans, numbers, texts, lists, maps', async () => {
    const b = bench();
    await Promise.all([
      b.put('map', { x: {} }),
      b.put('list', { x: [] }),
      b.put('text', { x: '' }),
      b.put('number', { x: 5 }),
      b.put('no', { x: false }),
      b.put('yes', { x: true }),
      b.put('null', { x: null }),
    ]);
    expect(await ids(b, { orderBy: [['x', 'asc']] })).toEqual(['null', 'no', 'yes', 'number', 'text', 'list', 'map']);
  });
}
