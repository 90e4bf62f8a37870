const SHARDS = 4;
const DIGITS = 13;

/**
 * The `due` field: when the reconciler should look at a document if nobody else does. The shard in front keeps
 * writes with rising times from landing on one spot of the index.
 */
export function dueField(runId: string, at: number): string {
  return `${shardOf(runId)}|${String(Math.max(0, Math.round(at))).padStart(DIGITS, '0')}`;
}

/** The ranges of `due` values that have come by `now`, one for each shard. */
export function dueRanges(now: number): readonly { readonly from: string; readonly to: string }[] {
  const until = String(Math.max(0, Math.round(now))).padStart(DIGITS, '0');
  return Array.from({ length: SHARDS }, (_, shard) => ({ from: `${shard}|`, to: `${shard}|${until}` }));
}

export function dueTime(field: string): number {
  return Number(field.slice(field.indexOf('|') + 1));
}

function shardOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i += 1) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return Math.abs(hash) % SHARDS;
}
