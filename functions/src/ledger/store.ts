/**
 * The store port: all that verbs know of the database. Two implementations, Firestore and memory, pass one conformance suite.
 * Fields are top-level only; user data never becomes a field path.
 */

export type Value = null | boolean | number | string | readonly Value[] | { readonly [field: string]: Value | undefined };

/** Adds to a number without reading it. */
export interface Increment {
  readonly $increment: number;
}
/** Removes a field. */
export interface Remove {
  readonly $remove: true;
}
export const remove: Remove = { $remove: true };
export function increment(by: number): Increment {
  return { $increment: by };
}

/**
 * A document's fields: plain JSON-like data; `undefined` is the same as absent. Dates, class instances, lists in lists, `undefined`
 * in a list and keys such as `__x__` are refused.
 */
export type Fields = object;

export type Write =
  | { readonly op: 'create'; readonly path: string; readonly data: Fields }
  /**
   * `ahead` says that the write may come before the others and stay when they fail: its path depends on its content, and nothing
   * refers to it before the others are done. Large commits need it: Firestore's emulator takes 4 MiB at once, production 10.
   */
  | { readonly op: 'set'; readonly path: string; readonly data: Fields; readonly ahead?: true }
  /** Changes the named fields of a document that exists; with `ifUpdateTime`, only of that very state of it. */
  | { readonly op: 'update'; readonly path: string; readonly data: Fields; readonly ifUpdateTime?: string }
  | { readonly op: 'delete'; readonly path: string; readonly ifUpdateTime?: string };

export interface Snapshot {
  readonly path: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Server time of creation, ms. */
  readonly createTime: number;
  /** Server time of the last change, ms. */
  readonly changeTime: number;
  /** Opaque; compared for equality only. */
  readonly updateTime: string;
}

export interface ReadResult {
  /** In the order of the paths; undefined where there is no document. */
  readonly docs: readonly (Snapshot | undefined)[];
  /** Server time of the read, ms. */
  readonly readTime: number;
}

export type Filter = readonly [
  field: string,
  op: '==' | '<' | '<=' | '>' | '>=' | 'in' | 'array-contains',
  value: string | number | boolean | readonly string[],
];

export interface Query {
  /** A collection's path, or `{group}` for every collection of that id. */
  readonly from: string | { readonly group: string };
  readonly where: readonly Filter[];
  readonly orderBy?: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
  /** The page after a document of a collection: its values of the ordering fields, then its id. */
  readonly startAfter?: readonly (string | number)[];
  /** Every query is bounded. */
  readonly limit: number;
}

export interface QueryResult {
  readonly docs: readonly Snapshot[];
  readonly readTime: number;
}

export interface Reader {
  get(paths: readonly string[]): Promise<ReadResult>;
}

export interface Transaction extends Reader {
  /** A document is read once: asking again costs nothing, so what is known to be needed can be read ahead together. */
  get(paths: readonly string[]): Promise<ReadResult>;
  query(query: Query): Promise<QueryResult>;
  /** Buffered; applied together when the function returns. All reads come before the first write. */
  write(write: Write): void;
}

export interface CommitResult {
  /** Server time, ms: of the commit, or an earlier one when no write changed anything; 0 when there was none. */
  readonly time: number;
  /** The update time of the document that the first write names. It is as before when that write changed nothing. */
  readonly updateTime: string;
}

export interface Store extends Reader {
  query(query: Query): Promise<QueryResult>;
  /** All writes or none. Throws StoreConflict when a precondition does not hold. */
  commit(writes: readonly Write[]): Promise<CommitResult>;
  /** Runs `work` until it commits without a conflict; after a bounded number of tries it throws StoreConflict. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

/** A precondition did not hold: the document changed, is missing, or exists already. Look again and decide anew. */
export class StoreConflict extends Error {
  override readonly name = 'StoreConflict';
}

/** The store refused the data (too large, unsupported). Trying the same again cannot help. */
export class StoreRefusal extends Error {
  override readonly name = 'StoreRefusal';
}

/** Writes the whole document, and only when it still is as it was read: created if there was none. */
export function asRead(read: Snapshot | undefined, path: string, data: object): Write {
  return read === undefined ? { op: 'create', path, data } : { op: 'update', path, data, ifUpdateTime: read.updateTime };
}
