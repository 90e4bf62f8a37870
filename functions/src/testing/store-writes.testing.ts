import { expect, test } from 'vitest';
import { increment, remove, StoreConflict, StoreRefusal } from '../ledger/store.ts';
import type { Write } from '../ledger/store.ts';
import type { OpenBench } from './store-bench.testing.ts';

export function preconditions(bench: OpenBench): void {
  test('create refuses a document that exists, and changes nothing', async () => {
    const b = bench();
    await b.put('a', { n: 1 });
    await expect(b.store.commit([{ op: 'create', path: b.at('a'), data: { n: 2 } }])).rejects.toThrow(StoreConflict);
    expect(await b.data('a')).toEqual({ n: 1 });
  });

  test('of two creates at the same time one wins', async () => {
    const b = bench();
    const tries = [1, 2, 3, 4].map((n) => b.store.commit([{ op: 'create', path: b.at('a'), data: { n } }]));
    const outcomes = await Promise.allSettled(tries);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(StoreConflict);
  });

  test('update refuses a document that is missing', async () => {
    const b = bench();
    await expect(b.store.commit([{ op: 'update', path: b.at('a'), data: { n: 2 } }])).rejects.toThrow(StoreConflict);
    expect(await b.read('a')).toBeUndefined();
  });

  test('an update with an update time takes the very state that was read', async () => {
    const b = bench();
    const first = await b.put('a', { n: 1 });
    const second = await b.store.commit([{ op: 'update', path: b.at('a'), data: { n: 2 }, ifUpdateTime: first }]);
    await expect(b.store.commit([{ op: 'update', path: b.at('a'), data: { n: 3 }, ifUpdateTime: first }])).rejects.toThrow(StoreConflict);
    await b.store.commit([{ op: 'update', path: b.at('a'), data: { n: 4 }, ifUpdateTime: second.updateTime }]);
    expect(await b.data('a')).toEqual({ n: 4 });
  });

  test('of several updates from the same state one wins', async () => {
    const b = bench();
    const ifUpdateTime = await b.put('a', { n: 0 });
    const tries = [1, 2, 3, 4].map((n) => b.store.commit([{ op: 'update', path: b.at('a'), data: { n }, ifUpdateTime }]));
    const outcomes = await Promise.allSettled(tries);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
  });

  test('a fenced update or delete of a missing document is a conflict', async () => {
    const b = bench();
    const ifUpdateTime = await b.put('a', { n: 0 });
    await b.store.commit([{ op: 'delete', path: b.at('a') }]);
    await expect(b.store.commit([{ op: 'update', path: b.at('a'), data: { n: 1 }, ifUpdateTime }])).rejects.toThrow(StoreConflict);
    await expect(b.store.commit([{ op: 'delete', path: b.at('a'), ifUpdateTime }])).rejects.toThrow(StoreConflict);
  });

  test('delete: unconditional also of a missing document; fenced only of the state that was read', async () => {
    const b = bench();
    await b.store.commit([{ op: 'delete', path: b.at('a') }]);
    const first = await b.put('a', { n: 1 });
    const second = await b.put('a', { n: 2 });
    await expect(b.store.commit([{ op: 'delete', path: b.at('a'), ifUpdateTime: first }])).rejects.toThrow(StoreConflict);
    await b.store.commit([{ op: 'delete', path: b.at('a'), ifUpdateTime: second }]);
    expect(await b.read('a')).toBeUndefined();
  });
}

export function writes(bench: OpenBench): void {
  test('one refused write refuses the whole commit', async () => {
    const b = bench();
    const both: Write[] = [
      { op: 'set', path: b.at('a'), data: { n: 1 } },
      { op: 'update', path: b.at('missing'), data: { n: 1 } },
    ];
    await expect(b.store.commit(both)).rejects.toThrow(StoreConflict);
    expect(await b.read('a')).toBeUndefined();
  });

  test('set replaces, update merges top-level fields, and a map is one value', async () => {
    const b = bench();
    await b.put('a', { x: 1, m: { p: 1, q: 2 }, z: 1 });
    await b.store.commit([{ op: 'update', path: b.at('a'), data: { m: { p: 3 }, y: 2 } }]);
    expect(await b.data('a')).toEqual({ x: 1, m: { p: 3 }, y: 2, z: 1 });
    await b.put('a', { only: true });
    expect(await b.data('a')).toEqual({ only: true });
  });

  test('remove takes a field away, also one that is not there; only an update can', async () => {
    const b = bench();
    await b.put('a', { x: 1, y: 2 });
    await b.store.commit([{ op: 'update', path: b.at('a'), data: { x: remove, nothing: remove } }]);
    expect(await b.data('a')).toEqual({ y: 2 });
    await expect(b.store.commit([{ op: 'set', path: b.at('a'), data: { x: remove } }])).rejects.toThrow(StoreRefusal);
    await expect(b.store.commit([{ op: 'create', path: b.at('b'), data: { x: remove } }])).rejects.toThrow(StoreRefusal);
  });

  test('increments add up without a read; a missing field or another kind counts as 0', async () => {
    const b = bench();
    await b.put('a', { n: 1, text: 'x' });
    await Promise.all([1, 2, 3, 4].map((by) => b.store.commit([{ op: 'update', path: b.at('a'), data: { n: increment(by) } }])));
    await b.store.commit([{ op: 'update', path: b.at('a'), data: { fresh: increment(-1.5), text: increment(2) } }]);
    expect(await b.data('a')).toEqual({ n: 11, fresh: -1.5, text: 2 });
    await b.store.commit([{ op: 'set', path: b.at('a'), data: { n: increment(5) } }]);
    expect(await b.data('a')).toEqual({ n: 5 });
  });

  test('writes of one commit to one document follow each other', async () => {
    const b = bench();
    await b.store.commit([
      { op: 'create', path: b.at('a'), data: { x: 1 } },
      { op: 'update', path: b.at('a'), data: { y: 2 } },
    ]);
    expect(await b.data('a')).toEqual({ x: 1, y: 2 });
    await b.store.commit([
      { op: 'delete', path: b.at('a') },
      { op: 'create', path: b.at('a'), data: { z: 3 } },
    ]);
    expect(await b.data('a')).toEqual({ z: 3 });
  });

  test('undefined is the same as absent', async () => {
    const b = bench();
    await b.put('a', { x: 1, gone: undefined, m: { gone: undefined, kept: null } });
    expect(await b.data('a')).toEqual({ x: 1, m: { kept: null } });
    await b.store.commit([{ op: 'update', path: b.at('a'), data: { x: undefined, y: 1 } }]);
    expect(await b.data('a')).toEqual({ x: 1, m: { kept: null }, y: 1 });
  });

  test('an update without a field is refused; a commit without a write is nothing', async () => {
    const b = bench();
    await b.put('a', { x: 1 });
    await expect(b.store.commit([{ op: 'update', path: b.at('a'), data: { x: undefined } }])).rejects.toThrow(StoreRefusal);
    expect(await b.store.commit([])).toEqual({ time: 0, updateTime: '' });
  });

  test('700 writes are one commit', async () => {
    const b = bench();
    await b.store.commit(Array.from({ length: 700 }, (_, n): Write => ({ op: 'create', path: b.at(String(n)), data: { n } })));
    const { docs } = await b.store.get([b.at('0'), b.at('699'), b.at('700')]);
    expect(docs.map((doc) => doc?.data)).toEqual([{ n: 0 }, { n: 699 }, undefined]);
  });
}

export function times(bench: OpenBench): void {
  test('a snapshot has path, id and times; the update time is that of the commit', async () => {
    const b = bench();
    const { updateTime, time } = await b.store.commit([{ op: 'create', path: b.at('a'), data: { n: 1 } }]);
    expect(await b.read('a')).toEqual({ path: b.at('a'), id: 'a', data: { n: 1 }, createTime: time, changeTime: time, updateTime });
  });

  test('a change makes a new update time and leaves the time of creation', async () => {
    const b = bench();
    await b.put('a', { n: 1 });
    const before = await b.read('a');
    await b.put('a', { n: 2 });
    const after = await b.read('a');
    expect(after?.updateTime).not.toBe(before?.updateTime);
    expect(after?.createTime).toBe(before?.createTime);
    expect(after?.changeTime).toBeGreaterThanOrEqual(before?.changeTime ?? Number.NaN);
  });

  test('D6 a write that changes nothing leaves the update time, so it conflicts with nobody', async () => {
    const b = bench();
    const first = await b.put('a', { n: 1, m: { x: [1, 'a', null] } });
    const again = await b.store.commit([{ op: 'update', path: b.at('a'), data: { n: 1, nothing: remove } }]);
    const set = await b.store.commit([{ op: 'set', path: b.at('a'), data: { m: { x: [1, 'a', null] }, n: 1 } }]);
    expect([again.updateTime, set.updateTime, (await b.read('a'))?.updateTime]).toEqual([first, first, first]);
    await b.store.commit([{ op: 'update', path: b.at('a'), data: { n: 2 }, ifUpdateTime: first }]);
    expect(await b.data('a')).toMatchObject({ n: 2 });
  });

  test('the update time that a commit returns is that of its first write', async () => {
    const b = bench();
    const { updateTime } = await b.store.commit([
      { op: 'create', path: b.at('a'), data: { n: 1 } },
      { op: 'create', path: b.at('b'), data: { n: 1 } },
    ]);
    await b.store.commit([{ op: 'update', path: b.at('a'), data: { n: 2 }, ifUpdateTime: updateTime }]);
    expect(await b.data('a')).toEqual({ n: 2 });
  });

  test('server times do not run backwards, and a commit is not later than a read after it', async () => {
    const b = bench();
    const before = (await b.store.get([b.at('a')])).readTime;
    const { time } = await b.store.commit([{ op: 'create', path: b.at('a'), data: { n: 1 } }]);
    const after = (await b.store.get([b.at('a')])).readTime;
    const empty = await b.store.query({ from: b.collection, where: [['n', '==', 99]], limit: 1 });
    expect(before).toBeGreaterThan(0);
    expect(time).toBeGreaterThanOrEqual(before);
    expect(after).toBeGreaterThanOrEqual(time);
    expect(empty).toMatchObject({ docs: [] });
    expect(empty.readTime).toBeGreaterThanOrEqual(after);
  });

  test('get answers in the order of the paths, missing and repeated ones too; of none it reads nothing', async () => {
    const b = bench();
    await b.put('a', { n: 1 });
    const { docs } = await b.store.get([b.at('b'), b.at('a'), b.at('c'), b.at('a')]);
    expect(docs.map((doc) => doc?.id)).toEqual([undefined, 'a', undefined, 'a']);
    expect(await b.store.get([])).toEqual({ docs: [], readTime: 0 });
  });
}
