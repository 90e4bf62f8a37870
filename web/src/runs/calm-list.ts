/** A live list that does not move under the pointer. Pure. */

export interface Calm<T> {
  /** What is shown, in the order in which it was first shown. */
  readonly rows: readonly T[];
  /** How many have come since and wait to be shown. */
  readonly fresh: number;
}

/**
 * Rows that are shown stay where they are and are brought up to date in place; new ones wait until the reader asks for them. A row that
 * no longer belongs to the list keeps its last state until then.
 */
export function calm<T>(
  shown: readonly string[],
  known: ReadonlyMap<string, T>,
  live: readonly { readonly id: string; readonly value: T }[],
): Calm<T> {
  const current = new Map(live.map((item) => [item.id, item.value]));
  const seen = new Set(shown);
  const rows = shown.flatMap((id) => {
    const row = current.get(id) ?? known.get(id);
    return row === undefined ? [] : [row];
  });
  const lastShown = live.findLastIndex((item) => seen.has(item.id));
  const fresh = live.slice(0, Math.max(0, lastShown)).filter((item) => !seen.has(item.id)).length;
  return { rows, fresh };
}
