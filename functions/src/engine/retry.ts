import { z } from 'zod';
import type { ErrorRecord } from '../model/errors.ts';

/** How jitter is added: `additive` adds up to `jitterMs`, `full` draws from 0 to the delay, `equal` from half of it, `none` is exact. */
export const retryPolicySchema = z.strictObject({
  /** Attempts in all, the first one included. */
  maxAttempts: z.number().int().min(1).max(100).default(3),
  baseMs: z.number().int().min(0).default(2_000),
  capMs: z.number().int().min(0).default(30_000),
  jitter: z.enum(['full', 'equal', 'additive', 'none']).default('additive'),
  jitterMs: z.number().int().min(0).default(1_000),
});
export type RetryPolicy = z.infer<typeof retryPolicySchema>;

/** The longest wait that a target's `Retry-After` can bring about. */
export const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1_000;

/**
 * Milliseconds from a failed attempt to the next: `min(cap, base · 2^(attempt − 1) + jitter)`, that is 2, 4, 8, 16, then 30 s by
 * default. A stated `Retry-After` is never undercut; jitter is added to it, so that those who were told the same time do not come
 * back together, and it counts for at most 24 h.
 *
 * @param attempt number of the attempt that failed, from 1
 * @param random a number in [0, 1)
 * @param retryAfterMs ignored when it is not a positive number
 */
export function nextDelayMs(policy: RetryPolicy, attempt: number, random: () => number, retryAfterMs?: number): number {
  const backoff = backoffMs(policy, attempt, random);
  if (retryAfterMs === undefined || !(retryAfterMs > 0)) {
    return backoff;
  }
  const jitter = policy.jitter === 'none' ? 0 : random() * policy.jitterMs;
  return Math.max(backoff, Math.min(RETRY_AFTER_MAX_MS, Math.ceil(retryAfterMs + jitter)));
}

function backoffMs(policy: RetryPolicy, attempt: number, random: () => number): number {
  // The exponent is bounded because 0 · Infinity is not a number.
  const exponential = policy.baseMs * 2 ** Math.min(60, Math.max(0, attempt - 1));
  const capped = Math.min(policy.capMs, exponential);
  switch (policy.jitter) {
    case 'none':
      return capped;
    case 'additive':
      return Math.round(Math.min(policy.capMs, exponential + random() * policy.jitterMs));
    case 'full':
      return Math.round(random() * capped);
    case 'equal':
      return Math.round(capped / 2 + (random() * capped) / 2);
  }
}

/**
 * Reads a `Retry-After` header: seconds or an HTTP date. Anything else, and a time that has passed, is undefined.
 *
 * @param nowMs the time at which the response came
 */
export function parseRetryAfter(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,12}$/.test(text)) {
    return positive(Number(text) * 1_000);
  }
  // Only the date form of HTTP: Date.parse takes almost anything, "-5" and "60s" among it.
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) {
    return undefined;
  }
  return positive(Date.parse(text) - nowMs);
}

function positive(ms: number): number | undefined {
  return ms > 0 ? ms : undefined;
}

interface Failure {
  readonly error: ErrorRecord;
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  readonly policy: RetryPolicy;
  /** True when repeating the step after its effect may have happened is harmless. */
  readonly idempotent: boolean;
  /** A number in [0, 1). */
  readonly random: () => number;
}

export type AfterFailure =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'fail' }
  | { readonly kind: 'unresolved' }
  | { readonly kind: 'exception' };

/** What becomes of a step whose attempt failed. An unknown outcome is repeated only for a step declared idempotent. */
export function decideAfterFailure({ error, attempt, policy, idempotent, random }: Failure): AfterFailure {
  switch (error.class) {
    case 'business':
      return { kind: 'exception' };
    case 'not_retryable':
      return { kind: 'fail' };
    case 'unknown_outcome':
      return idempotent ? retryOrFail(error, attempt, policy, random) : { kind: 'unresolved' };
    case 'retryable':
      return retryOrFail(error, attempt, policy, random);
  }
}

function retryOrFail(error: ErrorRecord, attempt: number, policy: RetryPolicy, random: () => number): AfterFailure {
  if (attempt >= policy.maxAttempts) {
    return { kind: 'fail' };
  }
  return { kind: 'retry', delayMs: nextDelayMs(policy, attempt, random, error.retryAfterMs) };
}
