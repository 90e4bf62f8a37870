import { holds } from '../engine/order.ts';
import type { Filter, Query, Value } from './store.ts';

interface Candidate {
  readonly path: string;
  readonly data: Readonly<Record<string, Value>>;
}

type Order = readonly [field: string, direction: 'asc' | 'desc'];

const rangeOps: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);

/** What a query finds among the documents, in Firestore's order. A document without one of the ordering fields is not found. */
export function selected<D extends Candidate>(docs: readonly D[], query: Query): D[] {
  const orders = ordersOf(query);
  const direction = orders.at(-1)?.[1] ?? 'asc';
  return docs
    .filter(({ data }) => query.where.every((filter) => matches(data, filter)) && orders.every(([field]) => own(data, field) !== undefined))
    .sort((a, b) => {
      for (const [field, way] of orders) {
        const order = compareValues(own(a.data, field) ?? null, own(b.data, field) ?? null);
        if (order !== 0) return way === 'asc' ? order : -order;
      }
      const order = comparePaths(a.path, b.path);
      return direction === 'asc' ? order : -order;
    })
    .filter((doc) => query.startAfter === undefined || isAfter(doc, query.startAfter, query.orderBy ?? []))
    .slice(0, query.limit);
}

/** Whether the document comes after the one that the values and the id at their end stand for. */
function isAfter({ path, data }: Candidate, values: readonly (string | number)[], orders: readonly Order[]): boolean {
  for (const [i, [field, direction]] of orders.entries()) {
    const order = compareValues(own(data, field) ?? null, values[i] ?? null);
    if (order !== 0) return direction === 'asc' ? order > 0 : order < 0;
  }
  const order = compareTexts(path.slice(path.lastIndexOf('/') + 1), String(values.at(-1)));
  return (orders.at(-1)?.[1] ?? 'asc') === 'asc' ? order > 0 : order < 0;
}

/** The stated orders, then the fields that ranges are asked of, in the last direction. */
function ordersOf(query: Query): readonly Order[] {
  const stated = query.orderBy ?? [];
  const direction = stated.at(-1)?.[1] ?? 'asc';
  const ranges = new Set(query.where.filter(([, op]) => rangeOps.has(op)).map(([field]) => field));
  const implied = [...ranges].filter((field) => !stated.some(([known]) => known === field)).sort(compareTexts);
  return [...stated, ...implied.map((field): Order => [field, direction])];
}

function matches(data: Readonly<Record<string, Value>>, [field, op, wanted]: Filter): boolean {
  const value = own(data, field);
  if (value === undefined) return false;
  switch (op) {
    case '==':
      return sameValue(value, wanted);
    case 'in':
      return Array.isArray(wanted) && wanted.some((choice) => sameValue(value, choice as string));
    case 'array-contains':
      return Array.isArray(value) && value.some((member) => sameValue(member as Value, wanted));
    case '<':
    case '<=':
    case '>':
    case '>=':
      return rankOf(value) === rankOf(wanted) && holds(compareValues(value, wanted), op);
  }
}

export function sameValue(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a);
  const right = b as { readonly [key: string]: Value };
  return (
    left.length === Object.keys(b).length &&
    left.every(([key, value]) => Object.hasOwn(right, key) && sameValue(value as Value, right[key] ?? null))
  );
}

/** Kinds in Firestore's order: null, booleans, numbers, texts, lists, maps. */
function rankOf(value: Value): number {
  if (value === null) return 0;
  if (typeof value === 'object') return Array.isArray(value) ? 4 : 5;
  return typeof value === 'boolean' ? 1 : typeof value === 'number' ? 2 : 3;
}

function compareValues(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  const ranks = rankOf(a) - rankOf(b);
  if (ranks !== 0) return ranks;
  return compareTexts(JSON.stringify(a), JSON.stringify(b));
}

/** By part, so that `a/…` comes before `a-b/…`. */
function comparePaths(a: string, b: string): number {
  const left = a.split('/');
  const right = b.split('/');
  for (const [i, part] of left.entries()) {
    const order = i < right.length ? compareTexts(part, right[i] ?? '') : 1;
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** By code point, which is the order of the UTF-8 bytes. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all that are one unit. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit <= 0xdfff ? unit + 0x2000 : unit - 0x800;
}

function own(data: Readonly<Record<string, Value>>, field: string): Value | undefined {
  return Object.hasOwn(data, field) ? data[field] : undefined;
}
