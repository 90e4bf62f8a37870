import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { checkSchedule, nextOccurrence, occurrencesBetween } from './cron.ts';

const utc = (text: string): number => Date.parse(text);
const iso = (times: readonly number[]): string[] => times.map((time) => new Date(time).toISOString());

function dateIn(timeZone: string, time: number): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(time);
}

test('the next time is strictly after the given one', () => {
  expect(nextOccurrence('30 2 * * *', 'UTC', utc('2026-01-01T02:30:00Z'))).toBe(utc('2026-01-02T02:30:00Z'));
  expect(nextOccurrence('30 2 * * *', 'UTC', utc('2026-01-01T02:29:59.999Z'))).toBe(utc('2026-01-01T02:30:00Z'));
  expect(nextOccurrence('30 2 * * *', 'UTC', utc('2026-01-01T02:30:00.001Z'))).toBe(utc('2026-01-02T02:30:00Z'));
  expect(nextOccurrence('0 9 * * MON-FRI', 'Europe/Berlin', utc('2026-11-06T12:00:00Z'))).toBe(utc('2026-11-09T08:00:00Z'));
  expect(nextOccurrence('@daily', 'Asia/Kolkata', utc('2026-11-06T12:00:00Z'))).toBe(utc('2026-11-06T18:30:00Z'));
  expect(nextOccurrence('0 0 29 2 *', 'UTC', utc('2026-01-01T00:00:00Z'))).toBe(utc('2028-02-29T00:00:00Z'));
});

test('times between: after the first, up to and including the last, and never more than asked for', () => {
  const [from, to] = [utc('2026-01-01T00:00:00Z'), utc('2026-01-01T03:00:00Z')];
  expect(iso(occurrencesBetween('@hourly', 'UTC', from, to))).toEqual([
    '2026-01-01T01:00:00.000Z',
    '2026-01-01T02:00:00.000Z',
    '2026-01-01T03:00:00.000Z',
  ]);
  expect(occurrencesBetween('@hourly', 'UTC', from, to, 2)).toHaveLength(2);
  expect(occurrencesBetween('@hourly', 'UTC', to, from)).toEqual([]);
});

test.each([
  ['@hourly', '2026-03-04T06:00:00Z'],
  ['@daily', '2026-03-05T00:00:00Z'],
  ['@midnight', '2026-03-05T00:00:00Z'],
  ['@weekly', '2026-03-08T00:00:00Z'],
  ['@monthly', '2026-04-01T00:00:00Z'],
  ['@yearly', '2027-01-01T00:00:00Z'],
  ['@annually', '2027-01-01T00:00:00Z'],
  [' @Daily ', '2026-03-05T00:00:00Z'],
  ['  0 7   * * *  ', '2026-03-04T07:00:00Z'],
])('after a Wednesday morning, %j comes at %s', (cron, expected) => {
  expect(nextOccurrence(cron, 'UTC', utc('2026-03-04T05:06:07Z'))).toBe(utc(expected));
});

test('times between are a thousand at most, where nobody says how many', () => {
  expect(occurrencesBetween('* * * * *', 'UTC', 0, 2_000 * 60_000)).toHaveLength(1_000);
  expect(occurrencesBetween('* * * * *', 'UTC', 0, 2_000 * 60_000, 0)).toEqual([]);
});

const longCron = (length: number): string => `${'0,'.repeat((length - 9) / 2)}0 * * * *`;

test.each([
  ['0 9 * * *', 'Mars/Olympus', '"Mars/Olympus" is not a time zone; write a name such as "Europe/Berlin" or "UTC".'],
  ['0 9 * * *', 'x'.repeat(70), `"${'x'.repeat(64)}" is not a time zone; write a name such as "Europe/Berlin" or "UTC".`],
  ['* * * *', 'UTC', '"* * * *" does not have the five fields minute, hour, day of month, month, day of week.'],
  [longCron(201), 'UTC', `"${longCron(201).slice(0, 100)}" does not have the five fields minute, hour, day of month, month, day of week.`],
  ['0 0 30 2 *', 'UTC', '"0 0 30 2 *" never comes.'],
  [`0 0 ${'30,'.repeat(40)}30 2 *`, 'UTC', `"0 0 ${'30,'.repeat(32)}" never comes.`],
])('the schedule %j in %j is refused with a reason', (cron, timeZone, reason) => {
  expect(checkSchedule(cron, timeZone)).toEqual([{ path: '', code: 'schedule.invalid', message: reason }]);
});

test('a schedule is read up to 200 characters; what the reader says is passed on', () => {
  expect(checkSchedule(longCron(199), 'UTC')).toEqual([]);
  expect(checkSchedule(longCron(199).replace(' ', '  '), 'UTC')).toEqual([]);
  const reason = 'Invalid value for minute: 60';
  expect(checkSchedule('60 * * * *', 'UTC')[0]?.message).toBe(`"60 * * * *" is not a cron expression: ${reason}.`);
  const long = `${'0,'.repeat(60)}60 * * * *`;
  expect(checkSchedule(long, 'UTC')[0]?.message).toBe(`"${'0,'.repeat(50)}" is not a cron expression: ${reason}.`);
});

describe('T8', () => {
  test('T8 a skipped time runs when the clock jumps, a repeated time runs the first time', () => {
    const around = (cron: string, zone: string, from: string): string[] =>
      iso(occurrencesBetween(cron, zone, utc(from), utc(from) + 3 * 86_400_000));
    expect(around('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z')).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
    expect(around('30 2 * * *', 'Europe/Berlin', '2026-10-23T12:00:00Z')).toEqual([
      '2026-10-24T00:30:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
    expect(around('0 0 * * *', 'America/Santiago', '2026-09-04T12:00:00Z')).toEqual([
      '2026-09-05T04:00:00.000Z',
      '2026-09-06T04:00:00.000Z',
      '2026-09-07T03:00:00.000Z',
    ]);
    expect(around('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T12:00:00Z')).toEqual([
      '2026-10-02T15:45:00.000Z',
      '2026-10-03T15:30:00.000Z',
      '2026-10-04T15:15:00.000Z',
    ]);
    expect(around('45 1 * * *', 'Australia/Lord_Howe', '2026-04-03T12:00:00Z')).toEqual([
      '2026-04-03T14:45:00.000Z',
      '2026-04-04T14:45:00.000Z',
      '2026-04-05T15:15:00.000Z',
    ]);
  });

  test('T8 a list of times is treated like single times', () => {
    const from = utc('2026-10-24T12:00:00Z');
    expect(iso(occurrencesBetween('30 2,14 * * *', 'Europe/Berlin', from, from + 86_400_000 + 3_600_000))).toEqual([
      '2026-10-24T12:30:00.000Z',
      '2026-10-25T00:30:00.000Z',
    ]);
  });

  test('T8 a schedule with a wildcard runs by elapsed time, through the repeated hour too', () => {
    const from = utc('2026-10-24T23:30:00Z');
    expect(iso(occurrencesBetween('0 * * * *', 'Europe/Berlin', from, from + 3 * 3_600_000))).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T02:00:00.000Z',
    ]);
  });
});

test.each([
  ['', 'UTC'],
  ['x', 'UTC'],
  ['60 * * * *', 'UTC'],
  ['* * * *', 'UTC'],
  ['* * * * * *', 'UTC'],
  ['0 0 1 1 * 2020 1', 'UTC'],
  ['2030-01-23T00:00:00', 'UTC'],
  ['@reboot', 'UTC'],
  ['0 0 30 2 *', 'UTC'],
  ['0 9 * * *', 'Mars/Olympus'],
  ['0 9 * * *', ''],
  ['* '.repeat(100_000), 'UTC'],
])('the schedule %j in %j is refused', (cron, timeZone) => {
  expect(kilnErrorOf(() => nextOccurrence(cron, timeZone, 0)).code).toBe('schedule.invalid');
  expect(checkSchedule(cron, timeZone).map((problem) => problem.code)).toEqual(['schedule.invalid']);
});

test('property: the next time is after the given one, and none is left out in between', () => {
  const field = (max: number): fc.Arbitrary<string> =>
    fc.oneof(
      fc.constant('*'),
      fc.nat(max).map(String),
      fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`),
    );
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe', 'America/New_York', 'Asia/Kolkata');
  const start = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2035, 0, 1) });
  fc.assert(
    fc.property(field(59), field(23), zone, start, fc.nat(86_400_000), (minute, hour, timeZone, after, later) => {
      const cron = `${minute} ${hour} * * *`;
      const next = nextOccurrence(cron, timeZone, after);
      expect(next).toBeGreaterThan(after);
      expect(next).toBeLessThanOrEqual(after + 25 * 3_600_000);
      expect(next % 60_000).toBe(0);
      const between = Math.min(after + later, next - 1);
      expect(nextOccurrence(cron, timeZone, between)).toBe(next);
    }),
    { numRuns: 300 },
  );
});

describe('T8, every day of a year', () => {
  test.each([
    ['Europe/Berlin', '30 2 * * *', 2026],
    ['Europe/Berlin', '0 3 * * *', 2026],
    ['America/New_York', '30 2 * * *', 2026],
    ['America/New_York', '30 1 * * *', 2026],
    ['America/Santiago', '0 0 * * *', 2026],
    ['America/Santiago', '30 23 * * *', 2026],
    ['America/Santiago', '30 0 * * *', 2026],
    ['Australia/Lord_Howe', '15 2 * * *', 2026],
    ['Australia/Lord_Howe', '45 1 * * *', 2026],
    ['Africa/Cairo', '30 0 * * *', 2026],
    ['Asia/Beirut', '0 0 * * *', 2026],
    ['Antarctica/Troll', '30 1 * * *', 2026],
    ['Africa/Casablanca', '30 2 * * *', 2026],
    ['America/Havana', '30 0 * * *', 2026],
    ['Asia/Kolkata', '30 2 * * *', 2026],
    ['UTC', '30 2 * * *', 2028],
  ])('T8 in %s the daily schedule %s runs exactly once on every calendar day of %i', (timeZone, cron, year) => {
    const from = Date.UTC(year, 0, 1) - 2 * 86_400_000;
    const dates = occurrencesBetween(cron, timeZone, from, from + 370 * 86_400_000).map((time) => dateIn(timeZone, time));
    const ofYear = dates.filter((date) => date.startsWith(String(year)));
    expect(new Set(ofYear).size).toBe(ofYear.length);
    expect(ofYear).toHaveLength(year % 4 === 0 ? 366 : 365);
  });
});
