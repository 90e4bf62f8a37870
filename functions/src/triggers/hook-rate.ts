import { parseDuration } from '../engine/duration.ts';
import { increment } from '../ledger/store.ts';
import type { HookRecord } from '../model/hook.ts';
import { paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';

const DEFAULT_RATE = { limit: 600, per: '1m' } as const;
/** Shares of the limit that are counted apart, so that no document takes all the deliveries of a busy hook. */
const SHARDS = 10;

/**
 * Counts a delivery, and says for how many ms the sender should wait when there were too many. One read and one write; a small limit
 * is counted in one place. It is a brake, not a bookkeeper: counted apart, some are refused a little before the limit.
 */
export async function overRate(runtime: Runtime, hook: HookRecord): Promise<number | undefined> {
  const { limit, per } = hook.rateLimit ?? DEFAULT_RATE;
  const spanMs = parseDuration(per, 'rateLimit.per');
  const shards = limit >= SHARDS * SHARDS ? SHARDS : 1;
  const now = runtime.clock.now();
  const window = Math.floor(now / spanMs);
  const shard = Math.min(shards - 1, Math.floor(runtime.random() * shards));
  const path = paths.hookWindow(hook.accountId, hook.hookId, `${window}-${shard}`);
  const { docs } = await runtime.store.get([path]);
  const count = Number(docs[0]?.data['count'] ?? 0);
  const windowEnd = (window + 1) * spanMs;
  if (count >= Math.ceil(limit / shards)) return windowEnd - now;
  const write =
    docs[0] === undefined
      ? ({ op: 'set', path, data: { v: 1, count: 1, expiresAt: windowEnd + spanMs } } as const)
      : ({ op: 'update', path, data: { count: increment(1) } } as const);
  await runtime.store.commit([write]);
  return undefined;
}
