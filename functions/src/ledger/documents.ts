import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import { paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import { documentEvent, documentSource } from './event-match.ts';
import { eventRecord } from './events.ts';
import { storePayload } from './payloads.ts';
import { StoreConflict } from './store.ts';

/** A change of a document of the team's own, as its trigger tells of it. */
export interface DocumentChange {
  /** The platform's id of the change: the same for each delivery. */
  readonly id: string;
  readonly accountId: string;
  readonly path: string;
  /** The path that is watched, such as `orders/{orderId}`, and the values of its variables. */
  readonly pattern: string;
  readonly params: Readonly<Record<string, string>>;
  readonly change: 'created' | 'updated' | 'deleted';
  /** Absent where it was deleted. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Outsiders can write such documents. */
  readonly tainted: boolean;
}

/** Stores the change as an event: it starts the runs that are declared for it, and wakes those that wait for the document. */
export async function recordChange(runtime: Runtime, change: DocumentChange): Promise<void> {
  const { accountId, path, pattern, params, data = null, tainted } = change;
  const eventId = `document-${digest(`${pattern}/${change.id}`).slice(0, 32)}`;
  const text = canonicalJson({ path, params, change: change.change, data: plainData(data) });
  const stored = storePayload({ accountId, runId: eventId }, '$event', text);
  const event = { eventId, name: documentEvent(path), payload: parseJson(text), source: documentSource(pattern) };
  const record = eventRecord(accountId, tainted ? { ...event, tainted } : event, stored.payload, runtime.clock.now());
  try {
    await runtime.store.commit([{ op: 'create', path: paths.event(accountId, eventId), data: record }, ...stored.writes]);
  } catch (error) {
    // Delivered before.
    if (!(error instanceof StoreConflict)) throw error;
  }
}

/**
 * A document's fields as JSON: times become ISO 8601 text, references their path, bytes base64, vectors lists, and numbers that are
 * none null.
 */
export function plainData(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (Array.isArray(value)) return value.map(plainData);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return plainInstance(value);
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, plainData(inner)]));
}

/** The database client's own classes, by what they have. */
interface DatabaseValue {
  readonly toDate?: () => Date;
  readonly toArray?: () => number[];
  readonly path?: unknown;
  readonly latitude?: unknown;
  readonly longitude?: unknown;
}

function plainInstance(value: DatabaseValue): unknown {
  if (typeof value.toDate === 'function') return value.toDate().toISOString();
  if (typeof value.toArray === 'function') return value.toArray();
  if (typeof value.path === 'string') return value.path;
  const { latitude, longitude } = value;
  // What is left is an error of the JSON, which names the field.
  return latitude === undefined ? value : { latitude, longitude };
}
