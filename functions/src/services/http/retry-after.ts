/** However long a target asks to wait, no attempt is put off for more than a day. */
export const RETRY_AFTER_CAP_MS = 24 * 60 * 60 * 1000;

const imfDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The wait a `Retry-After` header asks for, in milliseconds from `now`; undefined when it says nothing usable,
 * and the caller then falls back to its own backoff. Seconds and HTTP dates are understood; a date in the past is 0.
 */
export function parseRetryAfter(value: string | null | undefined, now: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, RETRY_AFTER_CAP_MS);
  if (!imfDate.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - now, 0), RETRY_AFTER_CAP_MS);
}
