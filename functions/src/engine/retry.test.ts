import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ErrorClass, ErrorRecord } from '../model/errors.ts';
import { decideAfterFailure, nextDelayMs, parseRetryAfter, RETRY_AFTER_MAX_MS, retryPolicySchema } from './retry.ts';

const standard = retryPolicySchema.parse({});
const none = (): number => 0;
const half = (): number => 0.5;
const almostOne = (): number => 0.999_999;

function error(errorClass: ErrorClass, retryAfterMs?: number): ErrorRecord {
  const record: ErrorRecord = { code: 'x', class: errorClass, message: 'x' };
  return retryAfterMs === undefined ? record : { ...record, retryAfterMs };
}

test('the default policy: three attempts, 2, 4, 8, 16, then 30 s, with up to a second of jitter', () => {
  expect(standard).toEqual({ maxAttempts: 3, baseMs: 2_000, capMs: 30_000, jitter: 'additive', jitterMs: 1_000 });
  expect([1, 2, 3, 4, 5, 6].map((attempt) => nextDelayMs(standard, attempt, none))).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  expect([1, 2, 3, 4, 5].map((attempt) => nextDelayMs(standard, attempt, half))).toEqual([2_500, 4_500, 8_500, 16_500, 30_000]);
});

test.each([
  ['none', almostOne, 4_000],
  ['full', none, 0],
  ['full', half, 2_000],
  ['equal', none, 2_000],
  ['equal', half, 3_000],
  ['additive', half, 4_500],
] as const)('jitter "%s" of the second delay', (jitter, random, expected) => {
  expect(nextDelayMs(retryPolicySchema.parse({ jitter }), 2, random)).toBe(expected);
});

test.each([{ maxAttempts: 0 }, { maxAttempts: 1.5 }, { baseMs: -1 }, { capMs: Number.NaN }, { jitter: 'some' }, { attempts: 3 }])(
  'the policy %j is refused',
  (policy) => {
    expect(retryPolicySchema.safeParse(policy).success).toBe(false);
  },
);

describe('R5', () => {
  const now = Date.UTC(2026, 10, 1, 12, 0, 0);

  test.each([
    ['60', 60_000],
    [' 60 ', 60_000],
    ['Sun, 01 Nov 2026 12:01:00 GMT', 60_000],
    [String(40 * 86_400), 40 * 86_400_000],
    ['Sun, 01 Nov 2026 11:00:00 GMT', undefined],
    ['0', undefined],
    ['-5', undefined],
    ['60s', undefined],
    ['1e3', undefined],
    ['soon', undefined],
    ['Sun, 99 Foo 2026 12:01:00 GMT', undefined],
    ['2026-11-01T12:01:00Z', undefined],
    ['at Sun, 01 Nov 2026 12:01:00 GMT', undefined],
    ['Sun, 01 Nov 2026 12:01:00 GMT-0100', undefined],
    ['', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('R5 Retry-After: %s', (header, expected) => {
    expect(parseRetryAfter(header, now)).toBe(expected);
  });

  test('R5 the next attempt does not come before the stated time, jitter comes on top', () => {
    expect(nextDelayMs(standard, 1, none, 60_000)).toBe(60_000);
    expect(nextDelayMs(standard, 1, half, 60_000)).toBe(60_500);
    expect(nextDelayMs(standard, 5, none, 1_000)).toBe(30_000);
    expect(nextDelayMs(retryPolicySchema.parse({ jitter: 'full' }), 1, none, 60_000)).toBe(60_000);
    expect(nextDelayMs(retryPolicySchema.parse({ jitter: 'none' }), 1, half, 60_000)).toBe(60_000);
  });

  test('R5 40 days are cut to the documented maximum of 24 hours', () => {
    expect(nextDelayMs(standard, 1, half, 40 * 86_400_000)).toBe(RETRY_AFTER_MAX_MS);
    expect(nextDelayMs(standard, 1, half, Number.POSITIVE_INFINITY)).toBe(RETRY_AFTER_MAX_MS);
  });

  test.each([Number.NaN, -1, 0, Number.NEGATIVE_INFINITY])('R5 the invalid wait %s falls back to the backoff', (wait) => {
    expect(nextDelayMs(standard, 1, none, wait)).toBe(2_000);
    expect(nextDelayMs(retryPolicySchema.parse({ jitter: 'full', baseMs: 100 }), 1, half, wait)).toBe(50);
  });

  test('R5 a stated wait reaches the decision', () => {
    const decision = decideAfterFailure({
      error: error('retryable', 60_000),
      attempt: 1,
      policy: standard,
      idempotent: false,
      random: none,
    });
    expect(decision).toEqual({ kind: 'retry', delayMs: 60_000 });
  });
});

test.each<[ErrorClass, number, boolean, object]>([
  ['retryable', 1, false, { kind: 'retry', delayMs: 2_000 }],
  ['retryable', 2, false, { kind: 'retry', delayMs: 4_000 }],
  ['retryable', 3, false, { kind: 'fail' }],
  ['retryable', 4, true, { kind: 'fail' }],
  ['not_retryable', 1, true, { kind: 'fail' }],
  ['business', 1, true, { kind: 'exception' }],
  ['unknown_outcome', 1, false, { kind: 'unresolved' }],
  ['unknown_outcome', 3, false, { kind: 'unresolved' }],
  ['unknown_outcome', 1, true, { kind: 'retry', delayMs: 2_000 }],
  ['unknown_outcome', 3, true, { kind: 'fail' }],
])('after a %s failure of attempt %i (idempotent: %s)', (errorClass, attempt, idempotent, expected) => {
  expect(decideAfterFailure({ error: error(errorClass), attempt, policy: standard, idempotent, random: none })).toEqual(expected);
});

test('property: a delay is a whole number of milliseconds within its bounds, however many attempts there were', () => {
  const policies = fc.record({
    baseMs: fc.nat(100_000),
    capMs: fc.nat(1_000_000),
    jitterMs: fc.nat(100_000),
    jitter: fc.constantFrom('full', 'equal', 'additive', 'none'),
    maxAttempts: fc.integer({ min: 1, max: 100 }),
  });
  const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      policies,
      fc.integer({ min: 1, max: 5_000 }),
      draw,
      fc.option(fc.double(), { nil: undefined }),
      (raw, attempt, random, wait) => {
        const policy = retryPolicySchema.parse(raw);
        const delay = nextDelayMs(policy, attempt, () => random, wait);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(wait !== undefined && wait > 0 ? Math.min(wait, RETRY_AFTER_MAX_MS) : 0);
        expect(delay).toBeLessThanOrEqual(Math.max(policy.capMs, wait !== undefined && wait > 0 ? RETRY_AFTER_MAX_MS : 0));
      },
    ),
    { numRuns: 1_000 },
  );
});
