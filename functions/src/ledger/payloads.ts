import { byteLength, digest, INLINE_MAX_BYTES } from '../engine/json.ts';
import type { Payload } from '../model/payload.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import type { Store, Transaction, Write } from './store.ts';

/** Characters of one part; at most 3 bytes each in UTF-8, so a part stays below a document's limit. */
const PART_CHARS = 300_000;
const DIGEST_CHARS = 16;

export interface StoredPayload {
  readonly payload: Payload;
  /** The part documents, for the commit that refers to them. */
  readonly writes: readonly Write[];
}

/**
 * Prepares canonical JSON text for storing: inline when small, else in parts. With `guard`, always in parts, which carry it: the
 * rules let only those read them whom it allows. The ids of parts contain the digest, so that they can be written ahead of the
 * commit that refers to them: an attempt that has lost its claim never overwrites what the winner stored.
 */
export function storePayload(ref: RunRef, id: string, text: string, guard?: object): StoredPayload {
  const size = byteLength(text);
  const base = { size, digest: digest(text) };
  if (size <= INLINE_MAX_BYTES && guard === undefined) return { payload: { ...base, json: text }, writes: [] };
  const partsId = `${id}~${base.digest.slice(0, DIGEST_CHARS)}`;
  const parts = partsOf(text);
  const writes = parts.map((part, number): Write => {
    const path = paths.payload(ref.accountId, ref.runId, `${partsId}~${number}`);
    return { op: 'set', path, data: { v: 1, text: part, ...guard }, ahead: true };
  });
  return { payload: { ...base, parts: parts.length, partsId, ...(guard === undefined ? {} : { sensitive: true }) }, writes };
}

/** Cut between characters: half of one cannot be stored. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    const wanted = Math.min(text.length, from + PART_CHARS);
    const to = isInsideCharacter(text, wanted) ? wanted - 1 : wanted;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

/** Whether the position is between the two halves of a character. */
function isInsideCharacter(text: string, position: number): boolean {
  const code = text.codePointAt(position - 1);
  return position < text.length && code !== undefined && code > 0xffff;
}

/** The payload's JSON text. Reads its parts when it is not inline. */
export async function loadPayload(reader: Pick<Store | Transaction, 'get'>, ref: RunRef, payload: Payload): Promise<string> {
  if (payload.json !== undefined) return payload.json;
  const count = payload.parts ?? 0;
  const wanted = Array.from({ length: count }, (_, part) => paths.payload(ref.accountId, ref.runId, `${payload.partsId ?? ''}~${part}`));
  const { docs } = await reader.get(wanted);
  const text = docs.map((doc) => (typeof doc?.data['text'] === 'string' ? doc.data['text'] : '')).join('');
  if (digest(text) !== payload.digest) throw new Error(`the stored parts of payload "${payload.partsId ?? ''}" are incomplete`);
  return text;
}
