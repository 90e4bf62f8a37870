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
  ['1w 1d 1h 1m 1s 1ms', 694_861_001],
  ['0.5w0.5d', 345_600_000],
  ['1.25m1.5s', 76_500],
  ['0.000001w', 605],
  ['12w1.25d1.25h', 7_370_100_000],
  ['36600d', DURATION_MAX_MS],
  ['999999999999ms', 999_999_999_999],
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
  '1.h',
  '.5h',
  '1.1234567h',
  '1234567890123s',
  '1.5ms',
  '1h  30m',
  '1h x',
  'x1h',
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
  [' 2026-12-24T23:59:59.123456789Z ', Date.UTC(2026, 11, 24, 23, 59, 59, 123)],
  ['2026-12-24T00:00:00+23:59', Date.UTC(2026, 11, 23, 0, 1)],
  ['2026-12-24T00:00:00-01:00', Date.UTC(2026, 11, 24, 1)],
  ['2026-12-31T00:00:00Z', Date.UTC(2026, 11, 31)],
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
  '2026-01-01T23:00:60Z',
  '2026-01-01T23:00:00+25:00',
  '2026-01-01T23:00:00+24:00',
  '2026-01-01T23:00:00+01:60',
  '2026-01-01T23:00:00.1234567890Z',
  '2026-01-01T23:00:00.Z',
  '2026-01-00T00:00:00Z',
  '2026-01-32T00:00:00Z',
  'x2026-01-01T23:00:00Z',
  '2026-01-01T23:00:00Zx',
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

test.each<[unknown, string]>([
  ['soon', '"soon"'],
  ['x'.repeat(60), `"${'x'.repeat(60)}"`],
  ['x'.repeat(61), `"${'x'.repeat(60)}…"`],
  [-1, '-1'],
  [true, 'true'],
  [10n, '10'],
  [undefined, 'undefined'],
  [() => 1, 'a function'],
  [Symbol('x'), 'a symbol'],
  [null, 'null'],
  [[], 'a list'],
  [{}, 'an object'],
])('what is neither duration nor date is shown, and what to write: %o', (value, shown) => {
  expect(kilnErrorOf(() => parseDuration(value)).message).toBe(
    `duration is ${shown}; a duration is a number of milliseconds, or text such as "90s", "1h30m", "7d" or "2w".`,
  );
  expect(kilnErrorOf(() => parseDate(value)).message).toBe(
    `date is ${shown}; a date is ISO 8601 text with a zone, such as 2026-12-24T18:00:00Z.`,
  );
});

test('a duration over 100 years and a date that is in no calendar are told apart from what cannot be read', () => {
  expect(kilnErrorOf(() => parseDuration('36600d1ms', 'for')).message).toBe('for is "36600d1ms"; a duration is at most 100 years.');
  expect(kilnErrorOf(() => parseDuration(DURATION_MAX_MS + 1)).message).toContain('at most 100 years');
  expect(kilnErrorOf(() => parseDate('2026-02-30T00:00:00Z')).message).toBe(
    'date is "2026-02-30T00:00:00Z"; there is no such date or time.',
  );
});

test('a duration is written as it would be typed', () => {
  expect([-5, 1.4, 0, 999, 1_000, 5_400_000, 604_800_000, 90_061_001].map(formatDuration)).toEqual([
    '0s',
    '1ms',
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
  expect(durationSchema.safeParse('x'.repeat(100)).success).toBe(true);
  expect(
    [-1, Number.NaN, Number.POSITIVE_INFINITY, '', 'x'.repeat(101), null, {}].some((value) => durationSchema.safeParse(value).success),
  ).toBe(false);
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
