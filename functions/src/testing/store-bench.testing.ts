import type { Snapshot, Store } from '../ledger/store.ts';

/** A store, and a path of its own in it for each test. */
export interface Bench {
  readonly store: Store;
  /** Path of a document of this test. */
  at(id: string): string;
  readonly collection: string;
  /** What is stored there now. */
  read(id: string): Promise<Snapshot | undefined>;
  data(id: string): Promise<unknown>;
  put(id: string, data: object): Promise<string>;
}

export type OpenBench = () => Bench;
