import { describe, expect, test } from 'vitest';
import { byteLength } from '../engine/json.ts';
import { decodeBaton, decodeHead, encodeBaton, encodeHead, policyOf } from './baton.ts';
import {
  append,
  CHUNK_MAX_BYTES,
  countEntries,
  decodeEntries,
  emptyJournal,
  encodeEntries,
  entriesBefore,
  TAIL_MAX_BYTES,
} from './journal.ts';
import type { Chunk, Entry, Journal } from './journal.ts';

const value = (key: string, json: string, type = 'run'): Entry => ({ key, type, result: { kind: 'value', json } });

/** Adds entries one by one, as a run does, and keeps the chunks that a store would have. */
function grow(sizes: readonly number[]): { journal: Journal; chunks: Map<string, Chunk>; replaced: number; all: Entry[] } {
  const chunks = new Map<string, Chunk>();
  const all: Entry[] = [];
  let journal = emptyJournal;
  let replaced = 0;
  for (const [i, size] of sizes.entries()) {
    const entry = value(`step-${i}`, JSON.stringify('x'.repeat(Math.max(0, size - 20))));
    all.push(entry);
    const appended = append(journal, chunks.get(journal.chunks.at(-1)?.id ?? ''), [entry], i);
    journal = appended.journal;
    for (const chunk of appended.created) chunks.set(chunk.ref.id, chunk);
    if (appended.replaced !== undefined && chunks.delete(appended.replaced)) replaced += 1;
  }
  return { journal, chunks, replaced, all };
}

function entriesOf({ journal, chunks }: ReturnType<typeof grow>): Entry[] {
  return [...journal.chunks.flatMap(({ id }) => decodeEntries(chunks.get(id)?.text ?? '')), ...decodeEntries(journal.tail)];
}

describe('the journal', () => {
  test.each<[string, number[], number]>([
    ['1,000 small results fit into one chunk and a tail', Array.from({ length: 1_000 }, () => 150), 1],
    ['10,000 small results', Array.from({ length: 10_000 }, () => 150), 4],
    ['results of 200 KB', Array.from({ length: 20 }, () => 200_000), 8],
    ['mixed results', Array.from({ length: 300 }, (_, i) => (i % 10 === 0 ? 60_000 : 500)), 5],
  ])('%s: nothing is lost, and few documents hold it', (_what, sizes, most) => {
    const grown = grow(sizes);
    expect(entriesOf(grown)).toEqual(grown.all);
    expect(countEntries(grown.journal)).toBe(sizes.length);
    expect(grown.journal.chunks.length).toBeLessThanOrEqual(most);
    expect(grown.chunks.size).toBe(grown.journal.chunks.length);
    expect(byteLength(grown.journal.tail)).toBeLessThanOrEqual(TAIL_MAX_BYTES);
    for (const chunk of grown.chunks.values()) expect(byteLength(chunk.text)).toBeLessThanOrEqual(CHUNK_MAX_BYTES);
  });

  test('entries of every kind come back as they were, whatever their values hold', () => {
    const entries: Entry[] = [
      value('a', JSON.stringify('tab\tline\nüñ🙂  ')),
      { key: 'b', type: 'wait', result: { kind: 'error', error: { code: 'x', class: 'business', message: 'm\t\n', data: { a: [1] } } } },
      {
        key: 'c#2',
        type: 'run',
        result: { kind: 'stored', payload: { size: 1, digest: 'd'.repeat(64), parts: 2, partsId: 'c#2~output' }, runId: 'r' },
      },
      value('now', '1', '$now'),
    ];
    expect(decodeEntries(encodeEntries(entries))).toEqual(entries);
    expect(decodeEntries('')).toEqual([]);
    expect(() => decodeEntries('no tabs')).toThrow('malformed');
  });

  test('batons and heads come back as they were', () => {
    const journal: Journal = {
      chunks: [{ id: '7', entries: 7, bytes: 99 }],
      tail: encodeEntries([value('a', '{"x":1}')]),
      tailEntries: 1,
      made: 9,
    };
    const baton = encodeBaton({ journal, policy: { idempotent: false, retry: { maxAttempts: 2 } } });
    expect(decodeBaton({ key: 'k', baton })).toEqual({
      at: 'here',
      journal,
      policy: { idempotent: false, retry: { maxAttempts: 2 } },
      undo: undefined,
    });
    expect(policyOf({ key: 'k', baton })).toEqual({ idempotent: false, retry: { maxAttempts: 2 } });
    expect(decodeBaton({ key: 'k', baton: encodeBaton({ undo: 3 }) })).toMatchObject({ at: 'head', undo: 3, policy: { idempotent: true } });
    const head = { journal, live: [{ key: 'a', type: 'run' }], activeMs: 5 };
    expect(decodeHead(encodeHead(head, 8))).toEqual(head);
    expect(() => decodeBaton({ key: 'k' })).toThrow('carries no baton');
  });

  test('what came before a step', () => {
    const entries = [value('a', '1'), value('b', '1', '$now'), value('b', '2'), value('c', '3')];
    expect(entriesBefore(entries, 'b')).toEqual(entries.slice(0, 2));
    expect(entriesBefore(entries, 'x')).toBeUndefined();
  });
});
