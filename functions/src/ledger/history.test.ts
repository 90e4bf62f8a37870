import { describe, expect, test } from 'vitest';
import type { HistoryEntry } from '../model/history.ts';
import { MemoryStore } from './memory-store.ts';
import { appendAudit, appendHistory, chain, exportHistory, GENESIS, readHistory, verifyHistory } from './history.ts';
import type { Happening } from './history.ts';

const happened = (text: string): Happening => ({ kind: 'test', by: 'ada', text, data: { b: 1, a: [2] } });
const entries = (count: number): HistoryEntry[] => [
  ...chain(
    undefined,
    Array.from({ length: count }, (_, i) => happened(`entry ${i + 1}`)),
    5,
  ),
];

function replaced(list: readonly HistoryEntry[], position: number, fields: Partial<HistoryEntry>): HistoryEntry[] {
  return list.map((entry, i) => (i === position ? { ...entry, ...fields } : entry));
}

describe('a chain', () => {
  test('that nobody touched holds, also when it was appended in pieces', () => {
    const whole = entries(3);
    const again = chain(whole[1], [happened('entry 3')], 5);
    expect(again).toEqual([whole[2]]);
    expect(verifyHistory(whole)).toEqual({ ok: true, entries: 3, head: whole[2]?.hash });
    expect(verifyHistory([])).toEqual({ ok: true, entries: 0, head: GENESIS });
  });

  test.each<[string, (list: HistoryEntry[]) => readonly object[], number]>([
    ['a changed text', (list) => replaced(list, 1, { text: 'nothing happened' }), 2],
    ['a changed actor', (list) => replaced(list, 1, { by: 'bob' }), 2],
    ['a changed time', (list) => replaced(list, 1, { at: 6 }), 2],
    ['changed facts', (list) => replaced(list, 1, { data: '{}' }), 2],
    ['facts taken away', (list) => list.map((entry, i) => (i === 1 ? (({ data: _data, ...rest }) => rest)(entry) : entry)), 2],
    ['a changed entry with a hash of its own that fits', (list) => replaced(list, 1, chain(list[0], [happened('other')], 5)[0] ?? {}), 3],
    ['an entry left out', (list) => list.filter((_, i) => i !== 1), 2],
    ['two entries exchanged', (list) => [list[0], list[2], list[1], list[3]] as object[], 2],
    ['the first entry left out', (list) => list.slice(1), 1],
    ['an entry of another shape', (list) => [...list.slice(0, 2), { n: 3 }, list[3]] as object[], 3],
    ['an entry with an extra field', (list) => [...list.slice(0, 3), { ...list[3], note: 'x' }], 4],
  ])('with %s shows where', (_what, tamper, n) => {
    expect(verifyHistory(tamper(entries(4)))).toMatchObject({ ok: false, n });
  });

  test('that was cut short or rewritten as a whole shows against a head that was noted down', () => {
    const whole = entries(4);
    const noted = { n: 3, hash: whole[2]?.hash ?? '' };
    expect(verifyHistory(whole, noted)).toMatchObject({ ok: true });
    expect(verifyHistory(whole.slice(0, 2), noted)).toMatchObject({ ok: false, n: 3 });
    const rewritten = chain(undefined, ['w', 'x', 'y', 'z'].map(happened), 5);
    expect(verifyHistory(rewritten)).toMatchObject({ ok: true });
    expect(verifyHistory(rewritten, noted)).toMatchObject({ ok: false, n: 3 });
  });
});

test('appending in transactions at once keeps one chain', async () => {
  const store = new MemoryStore(() => 7);
  const ref = { accountId: 'acme', runId: 'r1' };
  await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      store.transaction(async (tx) => {
        for (const write of await appendHistory(tx, ref, [happened(`a${i}`), happened(`b${i}`)], 7)) tx.write(write);
      }),
    ),
  );
  const found = await readHistory(store, 'accounts/acme/runs/r1/history');
  expect(verifyHistory(found)).toMatchObject({ ok: true, entries: 16 });
});

test('an account’s audit is a chain of its own, read over its pages and exported a line an entry', async () => {
  const store = new MemoryStore(() => 7);
  await store.transaction(async (tx) => {
    const many = Array.from({ length: 1_203 }, (_, i) => happened(`entry ${i}`));
    for (const write of await appendAudit(tx, 'acme', many, 7)) tx.write(write);
  });
  const found = await readHistory(store, 'accounts/acme/audit');
  expect(found).toHaveLength(1_203);
  const lines = exportHistory(found).trimEnd().split('\n');
  expect(lines).toHaveLength(1_203);
  expect(verifyHistory(lines.map((line) => JSON.parse(line) as object))).toMatchObject({ ok: true });
});

test('nothing that happened is nothing to write', async () => {
  const store = new MemoryStore(() => 7);
  expect(await store.transaction((tx) => appendHistory(tx, { accountId: 'acme', runId: 'r1' }, [], 7))).toEqual([]);
});
