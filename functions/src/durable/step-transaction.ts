import { remove } from '../ledger/store.ts';
import type { Filter, Query, Transaction, Write } from '../ledger/store.ts';
import { KilnError } from '../model/errors.ts';
import { engineCollections } from '../model/paths.ts';

/** A document's fields. Values may be whatever the database stores. */
export type DocumentFields = Readonly<Record<string, unknown>>;

/**
 * The team's own documents, by their paths, in the transaction that records the step. Reads come before the first write.
 */
export interface StepTransaction {
  get(path: string): Promise<DocumentFields | undefined>;
  find(query: Query): Promise<readonly { readonly path: string; readonly data: DocumentFields }[]>;
  /** Fails when the document exists. */
  create(path: string, data: DocumentFields): void;
  set(path: string, data: DocumentFields): void;
  /** Changes the named top-level fields of a document that exists. `undefined` removes a field. */
  update(path: string, fields: DocumentFields): void;
  delete(path: string): void;
}

/** The adapter over the store's transaction. Writes are collected: the caller commits them with the step's own. */
export class CollectingTransaction implements StepTransaction {
  readonly writes: Write[] = [];
  readonly #tx: Transaction;

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  async get(path: string): Promise<DocumentFields | undefined> {
    this.#readable();
    const { docs } = await this.#tx.get([path]);
    return docs[0]?.data;
  }

  async find(query: { from: string; where: readonly Filter[]; limit: number }): Promise<readonly { path: string; data: DocumentFields }[]> {
    this.#readable();
    const { docs } = await this.#tx.query(query);
    return docs.map(({ path, data }) => ({ path, data }));
  }

  create(path: string, data: DocumentFields): void {
    this.writes.push({ op: 'create', path: own(path), data });
  }

  set(path: string, data: DocumentFields): void {
    this.writes.push({ op: 'set', path: own(path), data });
  }

  update(path: string, fields: DocumentFields): void {
    const dotted = Object.keys(fields).find((field) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(field));
    if (dotted !== undefined)
      throw new KilnError('request.invalid', `update: "${dotted}" is not the name of a top-level field; set the whole field instead`);
    const data = Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, value === undefined ? remove : value]));
    this.writes.push({ op: 'update', path: own(path), data });
  }

  delete(path: string): void {
    this.writes.push({ op: 'delete', path: own(path) });
  }

  #readable(): void {
    if (this.writes.length > 0) throw new KilnError('request.invalid', 'in a transaction, all reads come before the first write');
  }
}

/** Runs and steps are moved by the engine alone. */
function own(path: string): string {
  const [root = '', , collection = ''] = path.split('/');
  if (root === 'system' || (root === 'accounts' && (collection === '' || engineCollections.has(collection)))) {
    throw new KilnError('code.path_reserved', `"${path}" belongs to the engine; a step writes the team's own documents`);
  }
  return path;
}
