import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { accountLimitsSchema, defaultLimits, limitNamePattern, slotRecordSchema } from '../model/limit.ts';
import type { SlotRecord } from '../model/limit.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { DatabaseClock } from './clock.ts';
import { changeAudited } from './history.ts';
import type { Actor } from './history.ts';
import { asRead, StoreConflict } from './store.ts';
import type { Snapshot, Store, Write } from './store.ts';

interface Limiter {
  readonly store: Store;
  readonly clock: DatabaseClock;
  readonly random: () => number;
}

export interface LimitUse {
  readonly accountId: string;
  readonly name: string;
  /** Places in all. */
  readonly count: number;
  readonly kind: SlotRecord['kind'];
  readonly holder: string;
  /** How long the place is held at most. */
  readonly holdMs: number;
}

/** A place that was free when it was looked at. Whoever commits the write has it; for everybody else that commit fails. */
export interface FreeSlot {
  readonly path: string;
  readonly write: Write;
}

export type SlotSearch =
  | FreeSlot
  | { readonly path?: undefined; /** When the first of the places that were seen becomes free by itself. */ readonly freeAt: number };

/** Places that are looked at when a limit is large: enough to find a free one while there are some. */
const LOOKED_AT_MAX = 50;
/** Two places at random are enough while the limit is far from full. */
const FIRST_LOOK = 2;
const TAKE_TRIES = 4;
const FRESH_MS = 30_000;

/** A place that this process has. */
export interface HeldSlot {
  readonly path: string;
  readonly updateTime: string;
}

/**
 * Looks for a free place. Nothing is counted: each place is a document, so no document has many writers, and a holder that dies
 * frees its place by the passing of time.
 */
export async function findSlot(limiter: Limiter, use: LimitUse): Promise<SlotSearch> {
  const order = sample(use.count, limiter.random);
  const looks = [order.slice(0, FIRST_LOOK), order.slice(FIRST_LOOK)];
  let freeAt = Infinity;
  for (const numbers of looks) {
    if (numbers.length === 0) continue;
    const wanted = numbers.map((n) => slotPath(use, n));
    const { docs } = await limiter.store.get(wanted);
    const now = limiter.clock.now();
    const taken = docs.map((doc) => (doc === undefined ? undefined : slotRecordSchema.parse(doc.data)));
    const ended = await endedHolders(limiter, use.accountId, taken, now);
    for (const [i, slot] of taken.entries()) {
      const free = slot === undefined || (slot.until <= now && (slot.kind !== 'run' || ended.has(slot.holder)));
      if (free) return freeSlot(use, wanted[i] ?? '', docs[i], now);
      if (slot.until > now) freeAt = Math.min(freeAt, slot.until);
    }
  }
  return { freeAt: freeAt === Infinity ? limiter.clock.now() : freeAt };
}

/** Takes a place, or says that all are taken. A place that somebody else takes first is passed over. */
export async function takeSlot(limiter: Limiter, use: LimitUse): Promise<HeldSlot | undefined> {
  for (let tries = 0; tries < TAKE_TRIES; tries += 1) {
    const found = await findSlot(limiter, use);
    if (found.path === undefined) return undefined;
    try {
      const { updateTime } = await limiter.store.commit([found.write]);
      return { path: found.path, updateTime };
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  return undefined;
}

const ABORTED = 10;

/** Somebody else was quicker. Crowding on a document, which the database calls aborted, is no fault of the limiter either. */
function isTaken(error: unknown): boolean {
  return error instanceof StoreConflict || (error instanceof Error && 'code' in error && error.code === ABORTED);
}

/** Gives a place back. When that fails, the place becomes free with its time. */
export async function releaseSlot({ store }: Pick<Limiter, 'store'>, slot: HeldSlot): Promise<void> {
  try {
    await store.commit([{ op: 'delete', path: slot.path, ifUpdateTime: slot.updateTime }]);
  } catch {
    // Somebody else has it by now, or the database is out of reach.
  }
}

/** Gives back what a run held; called when it has ended, at least once. */
export async function releaseRunSlots({ store }: Pick<Limiter, 'store'>, runId: string, slots: readonly string[]): Promise<void> {
  const { docs } = await store.get(slots);
  for (const doc of docs) {
    if (doc === undefined || slotRecordSchema.parse(doc.data).holder !== runId) continue;
    await releaseSlot({ store }, { path: doc.path, updateTime: doc.updateTime });
  }
}

const caches = new WeakMap<object, LRUCache<string, { readonly at: number; readonly limits: Readonly<Record<string, number>> }>>();

/** The limits of an account, at most 30 s old. */
export async function limitsOf(
  { store, clock }: Pick<Limiter, 'store' | 'clock'>,
  accountId: string,
): Promise<Readonly<Record<string, number>>> {
  const cache = caches.get(store) ?? new LRUCache({ max: 1_000 });
  caches.set(store, cache);
  const known = cache.get(accountId);
  if (known !== undefined && clock.now() - known.at < FRESH_MS && clock.now() >= known.at) return known.limits;
  const { docs } = await store.get([paths.account(accountId)]);
  const parsed = accountLimitsSchema.safeParse(docs[0]?.data ?? {});
  const limits = { ...defaultLimits, ...(parsed.success ? parsed.data.limits : {}) };
  cache.set(accountId, { at: clock.now(), limits });
  return limits;
}

function slotPath({ accountId, name }: LimitUse, n: number): string {
  return `${paths.slots(accountId, name)}/${n}`;
}

function freeSlot(use: LimitUse, path: string, doc: Snapshot | undefined, now: number): FreeSlot {
  const data: SlotRecord = { v: 1, holder: use.holder, kind: use.kind, until: now + use.holdMs };
  return { path, write: asRead(doc, path, data) };
}

/** Runs whose time is over and that have ended, or are gone. */
async function endedHolders(
  { store }: Limiter,
  accountId: string,
  slots: readonly (SlotRecord | undefined)[],
  now: number,
): Promise<ReadonlySet<string>> {
  const doubtful = slots.flatMap((slot) => (slot?.kind === 'run' && slot.until <= now ? [slot.holder] : []));
  if (doubtful.length === 0) return new Set();
  const { docs } = await store.get(doubtful.map((runId) => paths.run(accountId, runId)));
  return new Set(
    doubtful.filter((_, i) => {
      const doc = docs[i];
      return doc === undefined || terminalRunStatuses.has(runRecordSchema.parse(doc.data).status);
    }),
  );
}

/** Numbers of places to look at, in an order of their own. */
function sample(count: number, random: () => number): readonly number[] {
  if (count <= 4 * LOOKED_AT_MAX) return shuffled(count, random).slice(0, LOOKED_AT_MAX);
  const numbers = new Set<number>();
  // Few enough of many that a number hardly comes twice; `random` may be a constant in tests.
  for (let tries = 0; tries < 2 * LOOKED_AT_MAX && numbers.size < LOOKED_AT_MAX; tries += 1)
    numbers.add(Math.floor(random() * count) % count);
  return [...numbers];
}

function shuffled(count: number, random: () => number): number[] {
  const numbers = Array.from({ length: count }, (_, n) => n);
  for (let i = numbers.length - 1; i > 0; i -= 1) {
    const j = Math.min(i, Math.floor(random() * (i + 1)));
    const [a = 0, b = 0] = [numbers[i], numbers[j]];
    numbers[i] = b;
    numbers[j] = a;
  }
  return numbers;
}

export const putLimitsInput = z.strictObject({
  limits: z.record(z.string().regex(limitNamePattern), z.number().int().min(1).max(1_000)),
});

/** Sets the account's limits; they hold within half a minute. */
export async function putLimits(
  runtime: Pick<Limiter, 'store' | 'clock'>,
  actor: Actor,
  { limits }: z.infer<typeof putLimitsInput>,
): Promise<void> {
  const { accountId } = actor;
  const path = paths.account(accountId);
  const said = Object.entries(limits).map(([name, limit]) => `${name} ${limit}`);
  const text = `${actor.uid} set what may run at once: ${said.join(', ') || 'the defaults'}`;
  await changeAudited(runtime, actor, { kind: 'limits_set', text, data: { limits } }, async (tx) => {
    const { docs } = await tx.get([path]);
    if (docs[0] === undefined) tx.write({ op: 'create', path, data: { v: 1, accountId, limits } });
    else tx.write({ op: 'update', path, data: { limits } });
  });
}
