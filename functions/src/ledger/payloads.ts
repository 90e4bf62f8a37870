import { byteLength, digest, INLINE_MAX_BYTES } from '../engine/json.ts';
import type { Payload } from '../model/payload.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import type { Store, Transaction, Write } from './store.ts';

/** Characters of one part; at most 3 bytes each in UTF-8, so a part stays below a document's limit. */
const PART_CHARS = 300_000;

export interface StoredPayload {
  readonly payload: Payload;
  /** The part documents to write in the same commit. */
  readonly writes: readonly Write[];
}

/**
 * Prepares canonical JSON text for storing: inline when small, else in parts named after `id`. With `guard`, always in parts, which
 * carry it: the rules let only those read them whom it allows.
 */
export function storePayload(ref: RunRef, id: string, text: string, guard?: object): StoredPayload {
  const size = byteLength(text);
  const base = { size, digest: digest(text) };
  if (size <= INLINE_MAX_BYTES && guard === undefined) return { payload: { ...base, json: text }, writes: [] };
  const count = Math.ceil(text.length / PART_CHARS);
  const writes = Array.from({ length: count }, (_, part): Write => {
    const data = { v: 1, text: text.slice(part * PART_CHARS, (part + 1) * PART_CHARS), ...guard };
    return { op: 'set', path: paths.payload(ref.accountId, ref.runId, `${id}~${part}`), data };
  });
  return { payload: { ...base, parts: count, partsId: id }, writes };
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
