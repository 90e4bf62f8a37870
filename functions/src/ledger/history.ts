import { z } from 'zod';
import { canonicalJson, digest } from '../engine/json.ts';
import { historyEntrySchema } from '../model/history.ts';
import type { HistoryEntry } from '../model/history.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import type { Snapshot, Store, Transaction, Write } from './store.ts';

/** What somebody did, before it has a place in the chain. */
export interface Happening {
  readonly kind: string;
  readonly by: string;
  readonly text: string;
  readonly data?: object;
}

export const GENESIS = '0'.repeat(64);

const PAGE = 500;
const ID_DIGITS = 9;

/** Where the chain ends; a document beside the entries, without `n`, so that no list of entries shows it. */
const HEAD = 'head';

/**
 * The writes that append to a run's history. Reads the chain's head through `tx`, so call it before the first write, and once in
 * a transaction. Two appenders at once conflict, and one of them goes again.
 */
export function appendHistory(tx: Transaction, ref: RunRef, happenings: readonly Happening[], at: number): Promise<readonly Write[]> {
  return append(tx, paths.historyOf(ref.accountId, ref.runId), happenings, at);
}

/** The same for what concerns the whole account: members, roles, delegations. */
export function appendAudit(tx: Transaction, accountId: string, happenings: readonly Happening[], at: number): Promise<readonly Write[]> {
  return append(tx, paths.audit(accountId), happenings, at);
}

/** The same for the end of a run, once for each: repeated, it appends nothing. `ended` names the end. */
export function appendEnd(tx: Transaction, ref: RunRef, ended: string, happening: Happening, at: number): Promise<readonly Write[]> {
  return append(tx, paths.historyOf(ref.accountId, ref.runId), [happening], at, ended);
}

/** The first entry of a run that comes into being in the same commit: nothing is read for it. */
export function firstEntry({ accountId, runId }: RunRef, happening: Happening, at: number): Write {
  const [entry] = chain(undefined, [happening], at);
  return { op: 'create', path: paths.history(accountId, runId, entryId(1)), data: { ...entry } };
}

/** Somebody who changes what an account works with. */
export interface Actor {
  readonly accountId: string;
  readonly uid: string;
}

/** A transaction with a line about it in the account's audit. `change` reads, then writes, as in any transaction. */
export function changeAudited<T>(
  { store, clock }: { readonly store: Pick<Store, 'transaction'>; readonly clock: { now(): number } },
  actor: Actor,
  happening: Omit<Happening, 'by'>,
  change: (tx: Transaction) => T | Promise<T>,
): Promise<T> {
  return store.transaction(async (tx) => {
    const audit = await appendAudit(tx, actor.accountId, [{ ...happening, by: actor.uid }], clock.now());
    const result = await change(tx);
    for (const write of audit) tx.write(write);
    return result;
  });
}

async function append(
  tx: Transaction,
  collection: string,
  happenings: readonly Happening[],
  at: number,
  ended?: string,
): Promise<readonly Write[]> {
  if (happenings.length === 0) return [];
  const { docs } = await tx.get([`${collection}/${HEAD}`]);
  const head = docs[0] === undefined ? undefined : headSchema.parse(docs[0].data);
  if (ended !== undefined && head?.ended === ended) return [];
  const entries = chain(head === undefined ? await loneEntry(tx, collection) : endOf(head), happenings, at);
  const last = entries.at(-1);
  const told = ended ?? head?.ended;
  const next = last === undefined ? [] : [{ v: 1, last: last.n, hash: last.hash, ...(told === undefined ? {} : { ended: told }) }];
  return [
    ...entries.map((entry): Write => ({ op: 'create', path: `${collection}/${entryId(entry.n)}`, data: entry })),
    ...next.map((data): Write => ({ op: 'set', path: `${collection}/${HEAD}`, data })),
  ];
}

/** A chain of one entry has no head yet. */
async function loneEntry(tx: Transaction, collection: string): Promise<KnownHead | undefined> {
  const { docs } = await tx.get([`${collection}/${entryId(1)}`]);
  return docs[0] === undefined ? undefined : historyEntrySchema.parse(docs[0].data);
}

/** What `appendHistory` reads: for who wants to read it together with other documents. */
export function historyReads({ accountId, runId }: RunRef): readonly string[] {
  const collection = paths.historyOf(accountId, runId);
  return [`${collection}/${HEAD}`, `${collection}/${entryId(1)}`];
}

const headSchema = z.strictObject({
  v: z.literal(1),
  last: z.number().int().positive(),
  hash: z.string().length(64),
  /** The end of the run that was written down last. */
  ended: z.string().optional(),
});

function endOf({ last, hash }: z.infer<typeof headSchema>): KnownHead {
  return { n: last, hash };
}

/** The end of a chain as its document names it. */
export function headOf(data: object | undefined): KnownHead | undefined {
  return data === undefined ? undefined : endOf(headSchema.parse(data));
}

export function entryId(n: number): string {
  return String(n).padStart(ID_DIGITS, '0');
}

/** Links happenings to the end of a chain. Pure. */
export function chain(newest: KnownHead | undefined, happenings: readonly Happening[], at: number): readonly HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  for (const { kind, by, text, data } of happenings) {
    const before = entries.at(-1) ?? newest;
    const body = {
      v: 1 as const,
      n: (before?.n ?? 0) + 1,
      at,
      kind,
      by,
      text,
      ...(data === undefined ? {} : { data: canonicalJson(data) }),
      prev: before?.hash ?? GENESIS,
    };
    entries.push({ ...body, hash: hashOf(body) });
  }
  return entries;
}

function hashOf(body: Omit<HistoryEntry, 'hash'>): string {
  return digest(canonicalJson(body));
}

export type Verification =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly n: number; readonly problem: string };

/** Where a chain ended when somebody looked. */
export interface KnownHead {
  readonly n: number;
  readonly hash: string;
}

/**
 * Checks a whole chain: shape, numbers without a gap, each link, each hash. `known` is a head that is noted down beside the
 * entries, or outside the database (an export, a ticket): with it, a chain that was cut short or rewritten as a whole shows, too. Pure.
 */
export function verifyHistory(documents: readonly object[], known?: KnownHead): Verification {
  let before: HistoryEntry | undefined;
  for (const [position, document] of documents.entries()) {
    const n = position + 1;
    const parsed = historyEntrySchema.safeParse(document);
    if (!parsed.success) return { ok: false, n, problem: `entry ${n} has not the shape of an entry` };
    const { hash, ...body } = parsed.data;
    if (body.n !== n) return { ok: false, n, problem: `entry ${n} is missing; entry ${body.n} stands in its place` };
    if (body.prev !== (before?.hash ?? GENESIS)) return { ok: false, n, problem: `entry ${n} does not continue the entry before it` };
    if (hashOf(body) !== hash) return { ok: false, n, problem: `entry ${n} was changed after it was written` };
    if (known?.n === n && known.hash !== hash) return { ok: false, n, problem: `entry ${n} is not the one that was noted down` };
    before = parsed.data;
  }
  if (known !== undefined && known.n > documents.length) {
    return { ok: false, n: documents.length + 1, problem: `entries after ${documents.length} are missing; ${known.n} were noted down` };
  }
  return { ok: true, entries: documents.length, head: before?.hash ?? GENESIS };
}

/** Checks a stored chain against its own head. The head is read first: what is appended meanwhile lies after it. */
export async function verifyStored(store: Pick<Store, 'get' | 'query'>, collection: string): Promise<Verification> {
  const { docs } = await store.get([`${collection}/${HEAD}`]);
  return verifyHistory(await readHistory(store, collection), headOf(docs[0]?.data));
}

/** One entry a line, as stored: what an auditor keeps, and what `verifyHistory` reads back. */
export function exportHistory(documents: readonly object[]): string {
  return documents.map((document) => `${canonicalJson(document)}\n`).join('');
}

/** Every entry of a run's history or an account's audit, in order. */
export async function readHistory(store: Pick<Store, 'query'>, collection: string): Promise<readonly Snapshot['data'][]> {
  const entries: Snapshot['data'][] = [];
  for (let after = 0; ;) {
    const { docs } = await store.query({ from: collection, where: [['n', '>', after]], orderBy: [['n', 'asc']], limit: PAGE });
    entries.push(...docs.map((doc) => doc.data));
    const last = docs.at(-1)?.data['n'];
    if (docs.length < PAGE || typeof last !== 'number') return entries;
    after = last;
  }
}
