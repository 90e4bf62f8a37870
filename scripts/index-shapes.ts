import type { Query } from '../functions/src/ledger/store.ts';

/** What of a query decides which index serves it. */
export interface Shape {
  readonly collection: string;
  readonly scope: 'COLLECTION' | 'COLLECTION_GROUP';
  readonly equal: readonly string[];
  readonly contains: string | undefined;
  /** Ordering fields, those of ranges included. */
  readonly sort: readonly (readonly [field: string, order: Order])[];
}

type Order = 'ASCENDING' | 'DESCENDING';

interface IndexField {
  readonly fieldPath: string;
  readonly order?: Order;
  readonly arrayConfig?: 'CONTAINS';
  readonly vectorConfig?: object;
}

export interface Indexes {
  readonly indexes: readonly {
    readonly collectionGroup: string;
    readonly queryScope: Shape['scope'];
    readonly fields: readonly IndexField[];
  }[];
  readonly fieldOverrides: readonly {
    readonly collectionGroup: string;
    readonly fieldPath: string;
    readonly indexes: readonly { readonly order?: Order; readonly arrayConfig?: 'CONTAINS'; readonly queryScope: Shape['scope'] }[];
  }[];
}

const DOCUMENT_ID = '__name__';

export function shapeOf(query: Pick<Query, 'from' | 'where' | 'orderBy' | 'limit'>): Shape {
  const equal = query.where.filter(([, op]) => op === '==' || op === 'in').map(([field]) => field);
  const contains = query.where.find(([, op]) => op === 'array-contains')?.[0];
  const ranges = query.where.filter(([, op]) => ['<', '<=', '>', '>='].includes(op)).map(([field]) => field);
  const stated = (query.orderBy ?? []).filter(([field]) => field !== DOCUMENT_ID);
  const last = stated.at(-1)?.[1] ?? 'asc';
  const implied = [...new Set(ranges)].filter((field) => !stated.some(([known]) => known === field)).map((field) => [field, last] as const);
  const sort = [...stated, ...implied].map(([field, direction]) => [field, direction === 'asc' ? 'ASCENDING' : 'DESCENDING'] as const);
  return {
    collection: typeof query.from === 'string' ? (query.from.split('/').at(-1) ?? '') : query.from.group,
    scope: typeof query.from === 'string' ? 'COLLECTION' : 'COLLECTION_GROUP',
    equal: [...new Set(equal)].sort(),
    contains,
    // A field that is asked to be equal needs no order of its own.
    sort: sort.filter(([field]) => !equal.includes(field)),
  };
}

/**
 * Whether Firestore has what it needs. Fields that must be equal may each come from an index of their own, as long as all of these
 * end in the same order; a single field is indexed by itself unless that is switched off. Membership of a list is not put together
 * with anything: one index has it all.
 */
export function isServed(shape: Shape, indexes: Indexes): boolean {
  const { equal, contains, sort } = shape;
  const fixed = [...equal, ...(contains === undefined ? [] : [contains])];
  if (fixed.length + sort.length === 0) return true;
  if (contains !== undefined && fixed.length + sort.length > 1) return hasWhole(shape, fixed, indexes);
  if (sort.length === 0) return fixed.every((field) => hasSingle(shape, indexes, field, field === contains ? 'CONTAINS' : 'ASCENDING'));
  const [only, ...others] = sort;
  if (fixed.length === 0 && only !== undefined && others.length === 0) return hasSingle(shape, indexes, only[0], only[1]);
  const usable = indexes.indexes
    .filter(({ collectionGroup, queryScope }) => collectionGroup === shape.collection && queryScope === shape.scope)
    .filter(({ fields }) => endsInOrder(fields, sort) && fields.slice(0, -sort.length).every(({ fieldPath }) => fixed.includes(fieldPath)));
  if (fixed.length === 0) return usable.some(({ fields }) => fields.length === sort.length);
  const covered = new Set(usable.flatMap(({ fields }) => fields.slice(0, -sort.length).map(({ fieldPath }) => fieldPath)));
  return fixed.every((field) => covered.has(field));
}

function hasWhole({ collection, scope, sort }: Shape, fixed: readonly string[], { indexes }: Indexes): boolean {
  return indexes.some(({ collectionGroup, queryScope, fields }) => {
    const before = fields.slice(0, fields.length - sort.length).map(({ fieldPath }) => fieldPath);
    const sameFields = before.length === fixed.length && fixed.every((field) => before.includes(field));
    return collectionGroup === collection && queryScope === scope && sameFields && (sort.length === 0 || endsInOrder(fields, sort));
  });
}

function endsInOrder(fields: readonly IndexField[], sort: Shape['sort']): boolean {
  const end = fields.slice(-sort.length);
  if (end.length < sort.length) return false;
  const same = sort.every(([field, order], i) => end[i]?.fieldPath === field && end[i].order === order);
  // An index is read in either direction.
  const reversed = sort.every(([field, order], i) => end[i]?.fieldPath === field && end[i].order !== undefined && end[i].order !== order);
  return same || (reversed && fields.length === sort.length);
}

function hasSingle({ collection, scope }: Shape, { fieldOverrides }: Indexes, field: string, kind: Order | 'CONTAINS'): boolean {
  const override =
    fieldOverrides.find(({ collectionGroup, fieldPath }) => collectionGroup === collection && fieldPath === field) ??
    fieldOverrides.find(({ collectionGroup, fieldPath }) => collectionGroup === collection && fieldPath === '*');
  // By default each field is indexed in both directions, for its own collection.
  if (override === undefined) return scope === 'COLLECTION';
  return override.indexes.some(({ order, arrayConfig, queryScope }) => {
    if (queryScope !== scope) return false;
    return kind === 'CONTAINS' ? arrayConfig === 'CONTAINS' : order !== undefined;
  });
}
