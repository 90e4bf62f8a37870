import { asNumber, asObject, asString } from '../json-fields.ts';

/** As in Cloud Tasks' `RetryConfig`. `maxAttempts` -1 is without limit. */
export interface RetryConfig {
  readonly maxAttempts: number;
  /** Measured from the first attempt; 0 is without limit. */
  readonly maxRetryDurationMs: number;
  readonly minBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxDoublings: number;
}

/** What the service gives a queue that says nothing else. */
export const defaultRetryConfig: RetryConfig = {
  maxAttempts: 100,
  maxRetryDurationMs: 0,
  minBackoffMs: 100,
  maxBackoffMs: 3_600_000,
  maxDoublings: 16,
};

/** The wait before retry number `retry` (1 is the first): doubles `maxDoublings` times, then grows by a constant, up to the cap. */
export function backoffMs(config: RetryConfig, retry: number): number {
  const k = retry - 1;
  const { minBackoffMs: min, maxDoublings } = config;
  const wait = k <= maxDoublings ? min * 2 ** k : min * 2 ** maxDoublings * (k - maxDoublings + 1);
  return Math.min(config.maxBackoffMs, wait);
}

/** True when a task that has had `attempts` attempts, the first at `firstAttemptMs`, gets no further one. */
export function isExhausted(config: RetryConfig, attempts: number, firstAttemptMs: number, nowMs: number): boolean {
  const countReached = config.maxAttempts >= 0 && attempts >= config.maxAttempts;
  const timeReached = config.maxRetryDurationMs > 0 && nowMs - firstAttemptMs >= config.maxRetryDurationMs;
  // The service stops only when both limits are reached where both are set.
  if (config.maxRetryDurationMs > 0 && config.maxAttempts >= 0) return countReached && timeReached;
  return countReached || timeReached;
}

/** "1.5s" to 1500; undefined when it is no duration. Durations arrive as text over REST. */
export function parseDuration(value: unknown): number | undefined {
  const text = asString(value);
  const match = text === undefined ? null : /^(\d+(?:\.\d{1,9})?)s$/.exec(text);
  return match === null ? undefined : Math.round(Number(match[1]) * 1000);
}

export function formatDuration(ms: number): string {
  return `${ms / 1000}s`;
}

/** Reads a REST `retryConfig` over the given defaults. */
export function readRetryConfig(value: unknown, base: RetryConfig): RetryConfig {
  const fields = asObject(value) ?? {};
  return {
    maxAttempts: asNumber(fields['maxAttempts']) ?? base.maxAttempts,
    maxRetryDurationMs: parseDuration(fields['maxRetryDuration']) ?? base.maxRetryDurationMs,
    minBackoffMs: parseDuration(fields['minBackoff']) ?? base.minBackoffMs,
    maxBackoffMs: parseDuration(fields['maxBackoff']) ?? base.maxBackoffMs,
    maxDoublings: asNumber(fields['maxDoublings']) ?? base.maxDoublings,
  };
}

export function writeRetryConfig(config: RetryConfig): Record<string, unknown> {
  return {
    maxAttempts: config.maxAttempts,
    ...(config.maxRetryDurationMs > 0 ? { maxRetryDuration: formatDuration(config.maxRetryDurationMs) } : {}),
    minBackoff: formatDuration(config.minBackoffMs),
    maxBackoff: formatDuration(config.maxBackoffMs),
    maxDoublings: config.maxDoublings,
  };
}
