import { expect, test } from 'vitest';
import { remove, StoreRefusal } from '../ledger/store.ts';
import type { Write } from '../ledger/store.ts';
import type { OpenBench } from './store-bench.testing.ts';

const kept: readonly (readonly [string, unknown])[] = [
  ['null, booleans and numbers', { a: null, b: true, c: false, d: 0, e: -1.5, f: 1e300, g: Number.MAX_SAFE_INTEGER, h: 1_795_960_939_724 }],
  ['texts of any script, and of white space', { a: '', b: ' \n\t\u0000', c: '步骤-é🙂\u202e', d: 'e\u0301' }],
  ['lists and maps in each other', { a: [], b: {}, c: [1, 'x', null, { d: [true, { e: [] }] }] }],
  [
    'V5 keys of maps inside: dots, slashes, brackets, digits, quotes, emoji',
    { m: { 'a.b': 1, 'c/d': 2, '[0]': 3, '1': 4, '`"\'': 5, '🙂': 6, '~*': 7, ' ': 8 } },
  ],
  ['20 levels', { a: nested(20) }],
];

const refused: readonly (readonly [string, object])[] = [
  ['a list in a list', { a: [[1]] }],
  ['undefined in a list', { a: [undefined] }],
  ['a function', { a: () => 1 }],
  ['a symbol', { a: Symbol('x') }],
  ['a BigInt', { a: 1n }],
  ['a date', { a: new Date(0) }],
  ['a Map', { a: new Map() }],
  ['a class instance', { a: new URL('https://example.org') }],
  ['a lone surrogate', { a: 'x\ud800' }],
  ['21 levels', { a: nested(21) }],
  ['an empty key', { a: { '': 1 } }],
  ['a key such as __x__', { a: { __x__: 1 } }],
  ['V5 an own __proto__ key', { a: JSON.parse('{"__proto__":{"b":1}}') as object }],
  ['a field with a dot', { 'a.b': 1 }],
  ['a field without a name', { '': 1 }],
  ['a reserved field', { __x__: 1 }],
];

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = { a: value };
  return value;
}

export function values(bench: OpenBench): void {
  test.each(kept)('%s come back as they were', async (_, data) => {
    const b = bench();
    await b.put('set', data as object);
    await b.store.commit([
      { op: 'create', path: b.at('updated'), data: { before: 1 } },
      { op: 'update', path: b.at('updated'), data: { ...(data as object), before: remove } },
    ]);
    expect(await b.data('set')).toEqual(data);
    expect(await b.data('updated')).toEqual(data);
  });

  test.each(refused)('%s is refused, by set, create and update', async (_, data) => {
    const b = bench();
    await b.put('a', { x: 1 });
    for (const op of ['set', 'update'] as const)
      await expect(b.store.commit([{ op, path: b.at('a'), data }])).rejects.toThrow(StoreRefusal);
    await expect(b.store.commit([{ op: 'create', path: b.at('b'), data }])).rejects.toThrow(StoreRefusal);
    expect(await b.data('a')).toEqual({ x: 1 });
    expect(await b.read('b')).toBeUndefined();
  });

  test('what a caller does with its object afterwards changes nothing', async () => {
    const b = bench();
    const data = { list: [1], map: { x: 1 } };
    await b.put('a', data);
    data.list.push(2);
    data.map.x = 2;
    expect(await b.data('a')).toEqual({ list: [1], map: { x: 1 } });
  });

  test('V6 ids: step keys and any script are kept', async () => {
    const b = bench();
    for (const id of ['each[17].score', 'fan.left.mail~output~0', 'each[3]:failed', 'pay.$join', '步骤 🙂', 'i'.repeat(1_500)]) {
      await b.put(id, { id });
      expect(await b.read(id)).toMatchObject({ id, data: { id } });
    }
  });

  test.each(['__x__', '.', '..', '', 'i'.repeat(1_501), 'a/b', 'x\ud800'])('the id "%s" is refused', async (id) => {
    const b = bench();
    await expect(b.put(id, { n: 1 })).rejects.toThrow(StoreRefusal);
  });
}

export function limits(bench: OpenBench): void {
  test('V1 a value at the limit is stored, one byte more is refused', async () => {
    const b = bench();
    await b.put('a', { x: 'x'.repeat(1_048_400) });
    await expect(b.put('a', { x: 'x'.repeat(1_048_488) })).rejects.toThrow(StoreRefusal);
    await expect(b.put('a', { x: '€'.repeat(349_600) })).rejects.toThrow(StoreRefusal);
    expect((await b.read('a'))?.data['x']).toHaveLength(1_048_400);
  });

  test('V1 a document at the limit of 1 MiB is stored, a larger one is refused, also when an update makes it so', async () => {
    const b = bench();
    await b.put('a', { x: 'x'.repeat(524_000), y: 'y'.repeat(524_300) });
    await expect(b.put('b', { x: 'x'.repeat(600_000), y: 'y'.repeat(600_000) })).rejects.toThrow(StoreRefusal);
    await expect(b.store.commit([{ op: 'update', path: b.at('a'), data: { z: 'z'.repeat(10_000) } }])).rejects.toThrow(StoreRefusal);
    expect(Object.keys((await b.read('a'))?.data ?? {}).sort()).toEqual(['x', 'y']);
  });

  test('V1 8 MiB in parts are stored when they may go ahead; what must be one commit is refused from 4 MB on', async () => {
    const b = bench();
    const parts = (ahead: object): Write[] =>
      Array.from({ length: 10 }, (_, n) => ({ op: 'set', path: b.at(`part${n}`), data: { text: 'x'.repeat(838_860) }, ...ahead }));
    const head: Write = { op: 'create', path: b.at('head'), data: { parts: 10 } };
    await expect(b.store.commit([...parts({}), head])).rejects.toThrow(StoreRefusal);
    const { updateTime } = await b.store.commit([head, ...parts({ ahead: true })]);
    expect(await b.read('head')).toMatchObject({ data: { parts: 10 }, updateTime });
    const { docs } = await b.store.get(Array.from({ length: 10 }, (_, n) => b.at(`part${n}`)));
    expect(docs.every((doc) => String(doc?.data['text']).length === 838_860)).toBe(true);
  });

  test('V1 a transaction stores 8 MiB in the same way', async () => {
    const b = bench();
    await b.store.transaction(async (tx) => {
      await tx.get([b.at('head')]);
      for (let n = 0; n < 10; n += 1) tx.write({ op: 'set', path: b.at(`part${n}`), data: { text: 'x'.repeat(838_860) }, ahead: true });
      tx.write({ op: 'create', path: b.at('head'), data: { parts: 10 } });
    });
    const { docs } = await b.store.get([b.at('head'), b.at('part9')]);
    expect(docs.map((doc) => doc?.id)).toEqual(['head', 'part9']);
  });
}
