import { useMemo, useSyncExternalStore } from 'react';
import type { z } from 'zod';
import {
  collection,
  collectionGroup,
  doc,
  documentId,
  getDoc,
  getDocs,
  limit as limitTo,
  onSnapshot,
  orderBy,
  query,
  startAfter,
  where,
  type DocumentChange,
  type DocumentSnapshot,
  type Query,
  type QuerySnapshot,
} from 'firebase/firestore';
import { upgraded } from '@model/upgrades.ts';
import { services } from './firebase.ts';
import { ID_FIELD, type ListSpec } from './list-spec.ts';
import { countReads } from './reads.ts';

export interface Item<T> {
  readonly id: string;
  readonly path: string;
  readonly value: T;
  /** Written here and not yet acknowledged by the server. */
  readonly pending: boolean;
}

export type Live<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'ready'; readonly value: T; readonly fromCache: boolean; readonly unreadable: number };

type Schema<T> = z.ZodType<T>;
type Snapshot = DocumentSnapshot;

interface Source<T> {
  current: Live<T>;
  readonly listeners: Set<() => void>;
  stop: (() => void) | undefined;
  linger: ReturnType<typeof setTimeout> | undefined;
}

/** A listener outlives its last reader by this much, so that going back and forth does not read everything anew. */
const LINGER_MS = 20_000;
const PATIENCE_MS = 5_000;
const sources = new Map<string, Source<unknown>>();
const LOADING: Live<never> = { state: 'loading' };

function itemOf<T>(snapshot: Snapshot, schema: Schema<T>): Item<T> | undefined {
  const { path } = snapshot.ref;
  try {
    const value = schema.parse(upgraded(path, snapshot.data({ serverTimestamps: 'estimate' }) ?? {}));
    return { id: snapshot.id, path, value, pending: snapshot.metadata.hasPendingWrites };
  } catch (error) {
    console.warn(`unreadable document ${path}`, error);
    return undefined;
  }
}

function queryOf(spec: ListSpec): Query {
  const { db } = services();
  const base = spec.group === true ? collectionGroup(db, spec.path) : collection(db, spec.path);
  return query(
    base,
    ...(spec.where ?? []).map(([field, op, value]) => where(field, op, value)),
    ...(spec.orderBy ?? []).map(([field, direction]) => orderBy(field === ID_FIELD ? documentId() : field, direction)),
    ...(spec.startAfter === undefined ? [] : [startAfter(...spec.startAfter)]),
    limitTo(spec.limit),
  );
}

function open<T>(key: string, start: (emit: (next: Live<T>) => void) => () => void): Source<T> {
  const known = sources.get(key);
  if (known !== undefined) return known as Source<T>;
  const source: Source<T> = { current: LOADING, listeners: new Set(), stop: undefined, linger: undefined };
  sources.set(key, source);
  source.stop = start((next) => {
    source.current = next;
    for (const listener of source.listeners) listener();
  });
  return source;
}

/** An empty cache says nothing. If the server stays silent, the page says that it cannot be reached. */
function doubtOf(emit: (next: Live<never>) => void): { hold(): void; end(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    hold: () => {
      timer ??= setTimeout(() => emit({ state: 'failed', error: { code: 'unavailable' } }), PATIENCE_MS);
    },
    end: () => {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

function close(key: string): void {
  const source = sources.get(key);
  if (source === undefined || source.listeners.size > 0) return;
  source.stop?.();
  sources.delete(key);
}

/** Ends every listener: the next person must not see what the last one read. */
export function closeAll(): void {
  for (const source of sources.values()) {
    clearTimeout(source.linger);
    source.stop?.();
  }
  sources.clear();
}

/** `start` must follow from `key` alone: it is kept for as long as the key stays. */
function useSource<T>(key: string | undefined, start: (emit: (next: Live<T>) => void) => () => void): Live<T> {
  const subscribe = useMemo(
    () => (listener: () => void) => {
      if (key === undefined) return () => undefined;
      const source = open(key, start);
      clearTimeout(source.linger);
      source.listeners.add(listener);
      return () => {
        source.listeners.delete(listener);
        // A failed listener is dead: the next reader starts a new one.
        source.linger = setTimeout(() => close(key), source.current.state === 'failed' ? 0 : LINGER_MS);
      };
    },
    [key],
  );
  return useSyncExternalStore(subscribe, () => (key === undefined ? LOADING : ((sources.get(key)?.current ?? LOADING) as Live<T>)));
}

/** One document, live; the value is undefined when there is none. Nothing is read while `path` is undefined. */
export function useLiveDoc<T>(path: string | undefined, schema: Schema<T>): Live<Item<T> | undefined> {
  return useSource(path === undefined ? undefined : `doc:${path}`, (emit) => {
    const doubt = doubtOf(emit);
    const stop = onSnapshot(
      doc(services().db, path ?? ''),
      { includeMetadataChanges: true },
      (snapshot) => {
        const { fromCache } = snapshot.metadata;
        if (!fromCache) countReads(1);
        // A cache that does not have the document does not know whether it exists.
        if (!snapshot.exists() && fromCache) return doubt.hold();
        doubt.end();
        const item = snapshot.exists() ? itemOf(snapshot, schema) : undefined;
        emit({ state: 'ready', value: item, fromCache, unreadable: snapshot.exists() && item === undefined ? 1 : 0 });
      },
      (error) => emit({ state: 'failed', error }),
    );
    return () => {
      doubt.end();
      stop();
    };
  });
}

/** A limited list, live. Documents that did not change keep their identity. */
export function useLiveList<T>(spec: ListSpec | undefined, schema: Schema<T>): Live<readonly Item<T>[]> {
  return useSource(spec === undefined ? undefined : `list:${JSON.stringify(spec)}`, (emit) =>
    spec === undefined ? () => undefined : listen(spec, schema, emit),
  );
}

/** Listens until the returned function is called. */
export function listen<T>(spec: ListSpec, schema: Schema<T>, emit: (next: Live<readonly Item<T>[]>) => void): () => void {
  const items = new Map<string, Item<T> | undefined>();
  let known = false;
  let counted: ReadonlySet<string> = new Set();
  const doubt = doubtOf(emit);
  const stop = onSnapshot(
    queryOf(spec),
    { includeMetadataChanges: true },
    (snapshot) => {
      const { fromCache } = snapshot.metadata;
      const changes = snapshot.docChanges({ includeMetadataChanges: true });
      for (const change of changes) {
        if (change.type === 'removed') items.delete(change.doc.ref.path);
        else items.set(change.doc.ref.path, itemOf(change.doc, schema));
      }
      if (!fromCache) counted = countNew(snapshot, changes, counted);
      if (fromCache && snapshot.empty && !known) return doubt.hold();
      doubt.end();
      known = true;
      const value = snapshot.docs.flatMap((document) => items.get(document.ref.path) ?? []);
      emit({ state: 'ready', value, fromCache, unreadable: snapshot.size - value.length });
    },
    (error) => emit({ state: 'failed', error }),
  );
  return () => {
    doubt.end();
    stop();
  };
}

/**
 * Counts what the server sent: documents arrive before the listener is in step with the server, so they are counted once it is, and after
 * that with each change.
 */
function countNew(snapshot: QuerySnapshot, changes: readonly DocumentChange[], counted: ReadonlySet<string>): ReadonlySet<string> {
  const ids = snapshot.docs.map((document) => document.id);
  const fresh = ids.filter((id) => !counted.has(id)).length;
  const modified = changes.filter((change) => change.type === 'modified' && counted.has(change.doc.id)).length;
  countReads(fresh + modified);
  return new Set(ids);
}

export async function readDoc<T>(path: string, schema: Schema<T>): Promise<Item<T> | undefined> {
  const snapshot = await getDoc(doc(services().db, path));
  countReads(1);
  return snapshot.exists() ? itemOf(snapshot, schema) : undefined;
}

export async function readList<T>(spec: ListSpec, schema: Schema<T>): Promise<readonly Item<T>[]> {
  const snapshot = await getDocs(queryOf(spec));
  countReads(snapshot.size);
  return snapshot.docs.flatMap((document) => itemOf(document, schema) ?? []);
}
