import { StoreRefusal } from './store.ts';
import type { Increment, Query, Remove, Value, Write } from './store.ts';

/** Limits of Firestore, and one of the emulator: it takes messages of 4 MiB, where production takes 10. */
const PATH_PART_MAX_BYTES = 1_500;
const DEPTH_MAX = 20;
const VALUE_MAX_BYTES = 1_048_487;
export const DOCUMENT_MAX_BYTES = 1_048_576;
const COMMIT_MAX_BYTES = 4_000_000;
/** From here on, writes that may go ahead do. */
const AHEAD_FROM_BYTES = 3_000_000;
const IN_MAX = 30;

export type StoredFields = { readonly [field: string]: Value | Increment | Remove };

export type StoredWrite =
  | { readonly op: 'create' | 'set'; readonly path: string; readonly fields: StoredFields; readonly bytes: number }
  | {
      readonly op: 'update';
      readonly path: string;
      readonly fields: StoredFields;
      readonly bytes: number;
      readonly ifUpdateTime: string | undefined;
    }
  | { readonly op: 'delete'; readonly path: string; readonly bytes: number; readonly ifUpdateTime: string | undefined };

/**
 * What is really stored of the writes, in the batches in which they are committed: all in one, except that large writes which may
 * go ahead come before it. Both stores go through here, so they refuse the same.
 *
 * @throws StoreRefusal
 */
export function storedBatches(writes: readonly Write[]): StoredWrite[][] {
  const ready = writes.map((write) => ({ ahead: write.op === 'set' && write.ahead === true, stored: storedWrite(write) }));
  const total = ready.reduce((sum, { stored }) => sum + stored.bytes, 0);
  if (total <= AHEAD_FROM_BYTES) return [ready.map(({ stored }) => stored)];
  const batches: StoredWrite[][] = [];
  let size = Infinity;
  for (const { ahead, stored } of ready) {
    if (!ahead) continue;
    if (size + stored.bytes > AHEAD_FROM_BYTES) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(stored);
    size += stored.bytes;
  }
  const rest = ready.filter(({ ahead }) => !ahead).map(({ stored }) => stored);
  const bytes = rest.reduce((sum, stored) => sum + stored.bytes, 0);
  if (bytes > COMMIT_MAX_BYTES) throw new StoreRefusal(`a commit of about ${bytes} bytes is over the limit of ${COMMIT_MAX_BYTES}`);
  return [...batches, rest];
}

export function storedWrite(write: Write): StoredWrite {
  checkPath(write.path);
  if (write.op === 'delete') return { op: 'delete', path: write.path, bytes: write.path.length, ifUpdateTime: write.ifUpdateTime };
  const fields = storedFields(write);
  const bytes = documentBytes(write.path, fields);
  if (write.op === 'update') return { op: 'update', path: write.path, fields, bytes, ifUpdateTime: write.ifUpdateTime };
  return { op: write.op, path: write.path, fields, bytes };
}

/** A document's path: an even number of parts that Firestore takes as ids. */
function checkPath(path: string): void {
  const parts = path.split('/');
  if (parts.length % 2 !== 0) throw new StoreRefusal(`"${path}" is not the path of a document`);
  for (const part of parts) {
    const reserved = part === '' || part === '.' || part === '..' || isReserved(part);
    if (reserved || Buffer.byteLength(part) > PATH_PART_MAX_BYTES || !part.isWellFormed()) {
      throw new StoreRefusal(`"${part.toWellFormed().slice(0, 100)}" cannot be an id in a path`);
    }
  }
}

function isReserved(name: string): boolean {
  return name.startsWith('__') && name.endsWith('__') && name.length >= 4;
}

/** A field's name is never taken from data: anything else would be read as a path into the document. */
const fieldPattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

function storedFields(write: Write & { readonly op: 'create' | 'set' | 'update' }): StoredFields {
  const fields: Record<string, Value | Increment | Remove> = {};
  for (const [field, value] of Object.entries(write.data) as [string, unknown][]) {
    if (value === undefined) continue;
    if (!fieldPattern.test(field) || isReserved(field)) throw new StoreRefusal(`"${field.slice(0, 100)}" cannot be the name of a field`);
    if (isRemove(value)) {
      if (write.op !== 'update') throw new StoreRefusal(`${write.path}: only an update removes fields`);
      fields[field] = { $remove: true };
    } else if (isIncrement(value)) {
      fields[field] = { $increment: value.$increment };
    } else {
      fields[field] = storedValue(value, `${write.path} ${field}`, 0);
      if (valueBytes(fields[field]) > VALUE_MAX_BYTES) throw new StoreRefusal(`${write.path} ${field} is over ${VALUE_MAX_BYTES} bytes`);
    }
  }
  if (write.op === 'update' && Object.keys(fields).length === 0)
    throw new StoreRefusal(`${write.path}: an update names at least one field`);
  return Object.freeze(fields);
}

export function isRemove(value: unknown): value is Remove {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, '$remove');
}

export function isIncrement(value: unknown): value is Increment {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, '$increment');
}

/** A frozen copy without `undefined`: what a caller does with its object afterwards changes nothing that is stored. */
function storedValue(value: unknown, place: string, depth: number): Value {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new StoreRefusal(`${place} is a text with a lone surrogate`);
    return value;
  }
  if (typeof value !== 'object') throw new StoreRefusal(`${place} is ${value === undefined ? 'undefined in a list' : `a ${typeof value}`}`);
  if (depth >= DEPTH_MAX) throw new StoreRefusal(`${place} is nested deeper than ${DEPTH_MAX} levels`);
  if (Array.isArray(value)) {
    return Object.freeze(
      Array.from(value, (member: unknown, position) => {
        if (Array.isArray(member)) throw new StoreRefusal(`${place}[${position}] is a list in a list`);
        return storedValue(member, `${place}[${position}]`, depth + 1);
      }),
    );
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new StoreRefusal(`${place} is not a plain object`);
  const map: Record<string, Value> = {};
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue;
    if (key === '' || isReserved(key) || !key.isWellFormed())
      throw new StoreRefusal(`${place} has the key ${JSON.stringify(key)}, which cannot be stored`);
    map[key] = storedValue(member, `${place}.${key}`, depth + 1);
  }
  return Object.freeze(map);
}

/** Firestore's own way of counting: texts in UTF-8 with one byte more, numbers 8, the document itself 32. */
export function documentBytes(path: string, fields: StoredFields): number {
  const name = path.split('/').reduce((sum, part) => sum + Buffer.byteLength(part) + 1, 16);
  return Object.entries(fields).reduce((sum, [field, value]) => sum + field.length + 1 + valueBytes(value), name + 32);
}

function valueBytes(value: unknown): number {
  let bytes = 0;
  const stack: unknown[] = [value];
  while (stack.length > 0) {
    const next = stack.pop();
    if (typeof next === 'string') bytes += Buffer.byteLength(next) + 1;
    else if (typeof next === 'number') bytes += 8;
    else if (typeof next !== 'object' || next === null) bytes += 1;
    else if (Array.isArray(next)) stack.push(...(next as unknown[]));
    else {
      for (const [key, member] of Object.entries(next)) {
        bytes += Buffer.byteLength(key) + 1;
        stack.push(member);
      }
    }
  }
  return bytes;
}

/** @throws StoreRefusal for a query that Firestore would refuse, without asking it: its client tries such a query again for seconds */
export function checkQuery(query: Query): void {
  const collection = typeof query.from === 'string' ? query.from : query.from.group;
  const isGroup = typeof query.from !== 'string';
  if (collection === '' || (isGroup ? collection.includes('/') : collection.split('/').length % 2 === 0)) {
    throw new StoreRefusal(`"${collection}" is not the ${isGroup ? 'id' : 'path'} of a collection`);
  }
  if (query.startAfter !== undefined && (isGroup || query.startAfter.length !== (query.orderBy?.length ?? 0) + 1)) {
    throw new StoreRefusal('a page begins after a document of one collection: a value for each ordering field, and the id');
  }
  if (!Number.isInteger(query.limit) || query.limit < 1) throw new StoreRefusal('a query has a limit of at least 1');
  for (const [field, op, value] of query.where) {
    if (op === 'in' && (!Array.isArray(value) || value.length < 1 || value.length > IN_MAX)) {
      throw new StoreRefusal(`"${field}" can be one of 1 to ${IN_MAX} values`);
    }
  }
}

/** A read would not see what the transaction itself has written. */
export function checkReadsFirst(writes: readonly Write[]): void {
  if (writes.length > 0) throw new Error('a transaction reads everything before it writes anything');
}
