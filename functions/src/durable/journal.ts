import { z } from 'zod';
import { byteLength, INLINE_MAX_BYTES } from '../engine/json.ts';
import { KilnError, errorRecordSchema } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { payloadSchema } from '../model/payload.ts';
import type { Payload } from '../model/payload.ts';

/**
 * The journal of a code run: what its steps came to, in the order in which the code saw it. Replaying the code against it
 * brings the code to where it was. Entries of steps whose type begins with `$` were made by the code in passing (a time, a
 * random number) and have no step document.
 */
export interface Entry {
  readonly key: string;
  readonly type: string;
  readonly result: EntryResult;
}

export type EntryResult =
  /** Canonical JSON of the value. */
  { readonly kind: 'value'; readonly json: string } | { readonly kind: 'error'; readonly error: ErrorRecord } | StoredResult;

/** A value over 200 KB stays where the step stored it. `runId` is set when that is another run: the one this was forked from. */
export interface StoredResult {
  readonly kind: 'stored';
  readonly payload: Payload;
  readonly runId?: string;
}

export interface ChunkRef {
  readonly id: string;
  readonly entries: number;
  readonly bytes: number;
}

export interface Chunk {
  readonly ref: ChunkRef;
  /** Its entries, a line each. */
  readonly text: string;
}

/** The journal as it is carried along: references to what is stored, and the newest entries themselves, as text. */
export interface Journal {
  readonly chunks: readonly ChunkRef[];
  readonly tail: string;
  readonly tailEntries: number;
  /** Step documents created so far. */
  readonly made: number;
}

export const emptyJournal: Journal = { chunks: [], tail: '', tailEntries: 0, made: 0 };

/** Newest entries that travel with the live step. */
export const TAIL_MAX_BYTES = 32 * 1024;
/** A chunk stays below a document's 1 MiB. */
export const CHUNK_MAX_BYTES = 900 * 1024;

export function isPassing(type: string): boolean {
  return type.startsWith('$');
}

export function countEntries(journal: Journal): number {
  return journal.chunks.reduce((sum, chunk) => sum + chunk.entries, 0) + journal.tailEntries;
}

const storedSchema = z.strictObject({ payload: payloadSchema, runId: z.string().optional() });

const tags = { value: 'v', error: 'e', stored: 's' } as const;

/** One line an entry, fields apart by tabs: JSON text holds neither raw tabs nor line ends, so values need no second escaping. */
function encodeEntry({ key, type, result }: Entry): string {
  const text =
    result.kind === 'value'
      ? result.json
      : JSON.stringify(result.kind === 'error' ? result.error : { payload: result.payload, runId: result.runId });
  return `${key}\t${type}\t${tags[result.kind]}\t${text}`;
}

export function encodeEntries(entries: readonly Entry[]): string {
  return entries.map(encodeEntry).join('\n');
}

export function decodeEntries(text: string): Entry[] {
  return text === '' ? [] : text.split('\n').map(decodeEntry);
}

function decodeEntry(line: string): Entry {
  const typeAt = line.indexOf('\t') + 1;
  const tagAt = line.indexOf('\t', typeAt) + 1;
  const textAt = line.indexOf('\t', tagAt) + 1;
  if (typeAt === 0 || tagAt === 0 || textAt === 0)
    throw new KilnError('internal', `a line of the journal is malformed: ${line.slice(0, 80)}`);
  const text = line.slice(textAt);
  return { key: line.slice(0, typeAt - 1), type: line.slice(typeAt, tagAt - 1), result: decodeResult(line.slice(tagAt, textAt - 1), text) };
}

function decodeResult(tag: string, text: string): EntryResult {
  switch (tag) {
    case tags.value:
      return { kind: 'value', json: text };
    case tags.error:
      return { kind: 'error', error: errorRecordSchema.parse(JSON.parse(text)) };
    case tags.stored: {
      const { payload, runId } = storedSchema.parse(JSON.parse(text));
      return { kind: 'stored', payload, ...(runId === undefined ? {} : { runId }) };
    }
    default:
      throw new KilnError('internal', `the journal has an entry of unknown kind "${tag}"`);
  }
}

/** A result small enough to travel in the journal, else a reference to where the step stored it. */
export function resultOf(json: string, stored: Payload | undefined): EntryResult {
  return byteLength(json) <= INLINE_MAX_BYTES || stored === undefined ? { kind: 'value', json } : { kind: 'stored', payload: stored };
}

export interface Appended {
  readonly journal: Journal;
  /** Chunks to create, and the one that the first of them replaces. */
  readonly created: readonly Chunk[];
  readonly replaced?: string;
}

/**
 * Adds entries. A tail that grew too long becomes a chunk, together with the last chunk while that is short: so a journal of N bytes
 * has about N / 450 KB chunks, and each entry is rewritten only while its chunk grows.
 */
export function append(journal: Journal, last: Chunk | undefined, fresh: readonly Entry[], made: number): Appended {
  const tail = joined(journal.tail, encodeEntries(fresh));
  const tailEntries = journal.tailEntries + fresh.length;
  if (byteLength(tail) <= TAIL_MAX_BYTES) return { journal: { chunks: journal.chunks, tail, tailEntries, made }, created: [] };
  const merges = last !== undefined && last.ref.bytes < CHUNK_MAX_BYTES / 2;
  const kept = merges ? journal.chunks.slice(0, -1) : journal.chunks;
  let count = kept.reduce((sum, chunk) => sum + chunk.entries, 0);
  const created = pack(merges ? joined(last.text, tail) : tail).map(({ text, entries }): Chunk => {
    count += entries;
    return { ref: { id: String(count), entries, bytes: byteLength(text) }, text };
  });
  return {
    journal: { chunks: [...kept, ...created.map((chunk) => chunk.ref)], tail: '', tailEntries: 0, made },
    created,
    ...(merges ? { replaced: last.ref.id } : {}),
  };
}

function joined(before: string, after: string): string {
  return before === '' || after === '' ? before + after : `${before}\n${after}`;
}

function pack(text: string): { text: string; entries: number }[] {
  const packs: string[][] = [];
  let room = 0;
  for (const line of text.split('\n')) {
    const size = byteLength(line) + 1;
    if (size > room) {
      packs.push([]);
      room = CHUNK_MAX_BYTES;
    }
    packs.at(-1)?.push(line);
    room -= size;
  }
  return packs.map((lines) => ({ text: lines.join('\n'), entries: lines.length }));
}

/** The journal without the entry of a step and whatever the code saw after it; undefined when there is no such entry. */
export function entriesBefore(entries: readonly Entry[], key: string): readonly Entry[] | undefined {
  const at = entries.findIndex((entry) => entry.key === key && !isPassing(entry.type));
  return at === -1 ? undefined : entries.slice(0, at);
}
