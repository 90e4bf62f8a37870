import { expect, test } from 'vitest';
import { increment, StoreConflict, StoreRefusal } from '../ledger/store.ts';
import type { Write } from '../ledger/store.ts';
import type { OpenBench } from './store-bench.testing.ts';

class OwnError extends Error {}

export function transactions(bench: OpenBench): void {
  test('what it writes is there together afterwards, and its result is returned', async () => {
    const b = bench();
    await b.put('a', { n: 1 });
    const result = await b.store.transaction(async (tx) => {
      const { docs } = await tx.get([b.at('a'), b.at('b')]);
      tx.write({ op: 'update', path: b.at('a'), data: { n: 2 } });
      tx.write({ op: 'create', path: b.at('b'), data: { from: docs[0]?.data['n'] } });
      return docs.map((doc) => doc?.id);
    });
    expect(result).toEqual(['a', undefined]);
    expect([await b.data('a'), await b.data('b')]).toEqual([{ n: 2 }, { from: 1 }]);
  });

  test('a document is the same however often it is read, alone, among others and twice at once', async () => {
    const b = bench();
    await b.put('a', { n: 1 });
    await b.put('b', { n: 2 });
    const seen = await b.store.transaction(async (tx) => {
      const alone = await tx.get([b.at('a')]);
      const among = await tx.get([b.at('b'), b.at('a'), b.at('none'), b.at('b')]);
      const again = await tx.get([b.at('none'), b.at('a')]);
      return [alone, among, again].map(({ docs, readTime }) => [readTime > 0, ...docs.map((doc) => doc?.data['n'])]);
    });
    expect(seen).toEqual([
      [true, 1],
      [true, 2, 1, undefined, 2],
      [true, undefined, 1],
    ]);
  });

  test('one that only reads returns what it read', async () => {
    const b = bench();
    await b.put('a', { n: 1 });
    const { docs, readTime } = await b.store.transaction((tx) => tx.query({ from: b.collection, where: [['n', '==', 1]], limit: 5 }));
    expect(docs.map((doc) => doc.data)).toEqual([{ n: 1 }]);
    expect(readTime).toBeGreaterThan(0);
  });

  test('an error of the work comes out as it is, and nothing is written', async () => {
    const b = bench();
    const failing = b.store.transaction((tx) => {
      tx.write({ op: 'set', path: b.at('a'), data: { n: 1 } });
      return Promise.reject(new OwnError('no'));
    });
    await expect(failing).rejects.toThrow(OwnError);
    expect(await b.read('a')).toBeUndefined();
  });

  test('a read after a write is refused: it would not see it', async () => {
    const b = bench();
    for (const readAgain of ['get', 'query'] as const) {
      const work = b.store.transaction(async (tx) => {
        tx.write({ op: 'set', path: b.at('a'), data: { n: 1 } });
        return readAgain === 'get' ? tx.get([b.at('a')]) : tx.query({ from: b.collection, where: [], limit: 1 });
      });
      await expect(work).rejects.toThrow('before it writes');
    }
    expect(await b.read('a')).toBeUndefined();
  });

  test('its preconditions are those of a commit: create, update, fenced update and fenced delete', async () => {
    const b = bench();
    const stale = await b.put('a', { n: 1 });
    await b.put('a', { n: 2 });
    const faults: Write[] = [
      { op: 'create', path: b.at('a'), data: { n: 3 } },
      { op: 'update', path: b.at('missing'), data: { n: 3 } },
      { op: 'update', path: b.at('a'), data: { n: 3 }, ifUpdateTime: stale },
      { op: 'delete', path: b.at('a'), ifUpdateTime: stale },
    ];
    for (const write of faults) {
      await expect(b.store.transaction((tx) => Promise.resolve(tx.write(write)))).rejects.toThrow(StoreConflict);
    }
    expect(await b.data('a')).toEqual({ n: 2 });
  });

  test('data that cannot be stored is refused once, not tried again', async () => {
    const b = bench();
    let tries = 0;
    const work = b.store.transaction((tx) => {
      tries += 1;
      tx.write({ op: 'set', path: b.at('a'), data: { x: [[1]] } });
      return Promise.resolve();
    });
    await expect(work).rejects.toThrow(StoreRefusal);
    expect(tries).toBe(1);
  });
}

export function concurrency(bench: OpenBench): void {
  test('R8 read, add, write: nobody’s addition is lost', async () => {
    const b = bench();
    await b.put('a', { n: 0 });
    const add = (): Promise<void> =>
      b.store.transaction(async (tx) => {
        const { docs } = await tx.get([b.at('a')]);
        tx.write({ op: 'update', path: b.at('a'), data: { n: Number(docs[0]?.data['n']) + 1 } });
      });
    await Promise.all(Array.from({ length: 6 }, add));
    expect(await b.data('a')).toEqual({ n: 6 });
  });

  test('of several that create what is missing one does, the others see it', async () => {
    const b = bench();
    const claim = (by: number): Promise<boolean> =>
      b.store.transaction(async (tx) => {
        const { docs } = await tx.get([b.at('a')]);
        if (docs[0] !== undefined) return false;
        tx.write({ op: 'create', path: b.at('a'), data: { by } });
        return true;
      });
    const won = await Promise.all([1, 2, 3, 4].map(claim));
    expect(won.filter(Boolean)).toHaveLength(1);
  });

  test('D1 a document that comes to be while a query has found nothing is noticed', async () => {
    const b = bench();
    const takeSlot = (by: number): Promise<boolean> =>
      b.store.transaction(async (tx) => {
        const { docs } = await tx.query({ from: b.collection, where: [['slot', '==', 'one']], limit: 5 });
        if (docs.length > 0) return false;
        tx.write({ op: 'create', path: b.at(`holder${by}`), data: { slot: 'one' } });
        return true;
      });
    const won = await Promise.all([1, 2, 3, 4].map(takeSlot));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect((await b.store.query({ from: b.collection, where: [], limit: 10 })).docs).toHaveLength(1);
  });

  test('A6 two transactions that read each other’s document cannot both act on the old state', async () => {
    const b = bench();
    await b.store.commit([
      { op: 'set', path: b.at('decided'), data: { yes: false } },
      { op: 'set', path: b.at('expired'), data: { yes: false } },
    ]);
    const set = (mine: string, other: string): Promise<boolean> =>
      b.store.transaction(async (tx) => {
        const { docs } = await tx.get([b.at(other)]);
        if (docs[0]?.data['yes'] === true) return false;
        tx.write({ op: 'update', path: b.at(mine), data: { yes: true } });
        return true;
      });
    const won = await Promise.all([set('decided', 'expired'), set('expired', 'decided')]);
    expect(won.filter(Boolean)).toHaveLength(1);
  });

  test('a plain commit beside a transaction: both happen, one after the other', async () => {
    const b = bench();
    await b.put('a', { n: 1 });
    const double = b.store.transaction(async (tx) => {
      const { docs } = await tx.get([b.at('a')]);
      tx.write({ op: 'update', path: b.at('a'), data: { n: Number(docs[0]?.data['n']) * 10 } });
    });
    await Promise.all([double, b.store.commit([{ op: 'update', path: b.at('a'), data: { n: increment(1) } }])]);
    expect([11, 20]).toContain((await b.read('a'))?.data['n']);
  });
}
