import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isOrderly, kilnErrorOf } from '../testing/kiln-error.ts';
import { delayUntil, DURATION_MAX_MS, durationSchema, formatDuration, parseDate, parseDuration } from './duration.ts';

test.each([
  [0, 0],
  [1_500, 1_500],
  [0.4, 0],
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['1h 30m', 5_400_000],
  [' 7d ', 604_800_000],
  ['2w', 1_209_600_000],
  ['1.5h', 5_400_000],
  ['250ms', 250],
  ['5m', 300_000],
  ['1w1d1h1m1s1ms', 694_861_001],
  ['0s', 0],
  ['400d', 400 * 86_400_000],
])('the duration %j is %i ms', (value, expected) => {
  expect(parseDuration(value)).toBe(expected);
});

const invalidDurations: readonly unknown[] = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -1,
  'soon',
  null,
  undefined,
  '',
  ' ',
  '-5m',
  '5',
  '5 minutes',
  '1h2h',
  '30m1h',
  'h',
  '1,5h',
  '1e3s',
  'Infinity',
  '999999999999w',
  DURATION_MAX_MS + 1,
  true,
  [],
  {},
  10n,
  '1'.repeat(100_000),
  ' '.repeat(100_000) + 'x',
];

test('T4 what is not a duration fails with the field’s path', () => {
  for (const value of invalidDurations) {
    const error = kilnErrorOf(() => parseDuration(value, '/steps/2/duration'));
    expect(error.code).toBe('duration.invalid');
    expect(error.message).toContain('/steps/2/duration');
    expect(error.data).toEqual({ path: '/steps/2/duration' });
    expect(error.message.length).toBeLessThan(300);
  }
});

test.each([
  ['2026-12-24T18:00:00Z', Date.UTC(2026, 11, 24, 18)],
  ['2026-12-24T18:00Z', Date.UTC(2026, 11, 24, 18)],
  ['2026-12-24T18:00:00.5Z', Date.UTC(2026, 11, 24, 18, 0, 0, 500)],
  ['2026-12-24T18:00:00+02:30', Date.UTC(2026, 11, 24, 15, 30)],
  ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
  ['0001-01-01T00:00:00Z', -62_135_596_800_000],
])('the date %s', (text, expected) => {
  expect(parseDate(text)).toBe(expected);
});

test.each([
  'soon',
  null,
  undefined,
  Number.NaN,
  1_766_599_200,
  '',
  '2026-12-24',
  '2026-12-24T18:00:00',
  '24.12.2026',
  '2026-02-30T00:00:00Z',
  '2027-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-10T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T23:60:00Z',
  '2026-01-01T23:00:00+25:00',
  'Thu, 24 Dec 2026 18:00:00 GMT',
])('T4 the date %j fails with the field’s path', (value) => {
  const error = kilnErrorOf(() => parseDate(value, 'until'));
  expect(error.code).toBe('date.invalid');
  expect(error.data).toEqual({ path: 'until' });
});

test('T4 a past date is a wait of 0 ms', () => {
  expect(delayUntil(parseDate('2020-01-01T00:00:00Z'), Date.UTC(2026, 0, 1))).toBe(0);
  expect(delayUntil(1_000, 400)).toBe(600);
});

test('a duration is written as it would be typed', () => {
  expect([0, 999, 1_000, 5_400_000, 604_800_000, 90_061_001].map(formatDuration)).toEqual([
    '0s',
    '999ms',
    '1s',
    '1h30m',
    '7d',
    '1d1h1m1s1ms',
  ]);
});

test('the schema takes numbers and text only', () => {
  expect(['5m', 0, 1.5].every((value) => durationSchema.safeParse(value).success)).toBe(true);
  expect([-1, Number.NaN, Number.POSITIVE_INFINITY, '', null, {}].some((value) => durationSchema.safeParse(value).success)).toBe(false);
});

test('property: what is formatted reads back the same, and nothing else than a valid duration gets through', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: DURATION_MAX_MS }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms);
    }),
  );
  fc.assert(
    fc.property(
      fc.oneof(fc.anything(), fc.string({ unit: fc.constantFrom('1', '9', '.', 'w', 'd', 'h', 'm', 's', ' ', '-') })),
      (value) => {
        let ms = 0;
        const orderly = isOrderly(() => {
          ms = parseDuration(value);
        });
        expect(orderly).toBe(true);
        expect(Number.isSafeInteger(ms) && ms >= 0 && ms <= DURATION_MAX_MS).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
