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

/** A document's fields; `undefined` is the same as absent. */
export type Fields = object;

export type Write =
  | { readonly op: 'create'; readonly path: string; readonly data: Fields }
  | { readonly op: 'set'; readonly path: string; readonly data: Fields }
  /** Changes the named fields of a document that exists; with `ifUpdateTime`, only of that very state of it. */
  | { readonly op: 'update'; readonly path: string; readonly data: Fields; readonly ifUpdateTime?: string }
  | { readonly op: 'delete'; readonly path: string; readonly ifUpdateTime?: string };

export interface Snapshot {
  readonly path: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Server time of creation, ms. */
  readonly createTime: number;
  /** Opaque; compared for equality only. */
  readonly updateTime: string;
}

export interface ReadResult {
  /** In the order of the paths; undefined where there is no document. */
  readonly docs: readonly (Snapshot | undefined)[];
  /** Server time of the read, ms. */
  readonly readTime: number;
}

export type Filter = readonly [field: string, op: '==' | '<' | '<=' | '>' | '>=' | 'in' | 'array-contains', value: string | number | boolean | readonly string[]];

export interface Query {
  /** A collection's path, or `{group}` for every collection of that id. */
  readonly from: string | { readonly group: string };
  readonly where: readonly Filter[];
  readonly orderBy?: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
  /** Every query is bounded. */
  readonly limit: number;
}

export interface QueryResult {
  readonly docs: readonly Snapshot[];
  readonly readTime: number;
}

export interface Transaction {
  get(paths: readonly string[]): Promise<ReadResult>;
  query(query: Query): Promise<QueryResult>;
  /** Buffered; applied together when the function returns. All reads come before the first write. */
  write(write: Write): void;
}

export interface CommitResult {
  /** Server time of the commit, ms. */
  readonly time: number;
  /** The update time of every document the commit wrote. */
  readonly updateTime: string;
}

export interface Store {
  get(paths: readonly string[]): Promise<ReadResult>;
  query(query: Query): Promise<QueryResult>;
  /** All writes or none. Throws StoreConflict when a precondition does not hold. */
  commit(writes: readonly Write[]): Promise<CommitResult>;
  /** Runs `work` until it commits without a conflict; bounded tries. */
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
