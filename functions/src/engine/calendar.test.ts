import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { addBusinessTime, businessCalendarSchema } from './calendar.ts';

const hour = 3_600_000;
const berlin = businessCalendarSchema.parse({ timeZone: 'Europe/Berlin', holidays: ['2026-12-25'] });

function after(start: string, hours: number, calendar = berlin): string {
  return new Date(addBusinessTime(Date.parse(start), hours * hour, calendar)).toISOString();
}

test.each([
  ['within a day', '2026-11-02T09:00:00Z', 2, '2026-11-02T11:00:00.000Z'],
  ['a whole day ends at its end', '2026-11-02T08:00:00Z', 8, '2026-11-02T16:00:00.000Z'],
  ['over the end of a day', '2026-11-02T15:00:00Z', 2, '2026-11-03T09:00:00.000Z'],
  ['over a weekend', '2026-11-06T15:00:00Z', 2, '2026-11-09T09:00:00.000Z'],
  ['from a weekend', '2026-11-07T12:00:00Z', 1, '2026-11-09T09:00:00.000Z'],
  ['from before opening', '2026-11-02T03:00:00Z', 1, '2026-11-02T09:00:00.000Z'],
  ['from after closing', '2026-11-02T20:00:00Z', 1, '2026-11-03T09:00:00.000Z'],
  ['over a holiday and a weekend', '2026-12-24T15:00:00Z', 2, '2026-12-28T09:00:00.000Z'],
  ['over a change of clocks', '2026-10-23T14:00:00Z', 2, '2026-10-26T09:00:00.000Z'],
  ['five days', '2026-11-02T08:00:00Z', 40, '2026-11-06T16:00:00.000Z'],
  ['nothing, outside hours', '2026-11-07T12:00:00Z', 0, '2026-11-07T12:00:00.000Z'],
])('business time: %s', (_name, start, hours, expected) => {
  expect(after(start, hours)).toBe(expected);
});

test('hours begin and end at any minute, on the day of the zone', () => {
  const short = businessCalendarSchema.parse({ from: '09:30', to: '10:45' });
  expect(after('2026-11-02T00:00:00Z', 1.25, short)).toBe('2026-11-02T10:45:00.000Z');
  expect(after('2026-11-02T00:00:00Z', 1.5, short)).toBe('2026-11-03T09:45:00.000Z');
  const honolulu = businessCalendarSchema.parse({ timeZone: 'Pacific/Honolulu' });
  expect(after('2026-11-02T19:00:00Z', 2, honolulu)).toBe('2026-11-02T21:00:00.000Z');
});

test('a day on which clocks change is as long as it really is', () => {
  const allDay = businessCalendarSchema.parse({ timeZone: 'Europe/Berlin', days: ['sun'], from: '00:00', to: '24:00' });
  expect(after('2026-03-28T23:00:00Z', 23, allDay)).toBe('2026-03-29T22:00:00.000Z');
  expect(after('2026-10-24T22:00:00Z', 25, allDay)).toBe('2026-10-25T23:00:00.000Z');
  const skipped = businessCalendarSchema.parse({ timeZone: 'America/Santiago', days: ['sun'], from: '00:00', to: '08:00' });
  expect(after('2026-09-06T03:00:00Z', 7, skipped)).toBe('2026-09-06T11:00:00.000Z');
});

test('100 years of business time are found', () => {
  expect(after('2026-01-01T00:00:00Z', 24 * 365 * 25)).toMatch(/^21\d\d-/);
});

test('without a word, business hours are nine to five from Monday to Friday in UTC', () => {
  expect(businessCalendarSchema.parse({})).toEqual({
    timeZone: 'UTC',
    days: ['mon', 'tue', 'wed', 'thu', 'fri'],
    from: '09:00',
    to: '17:00',
    holidays: [],
  });
  const weekend = businessCalendarSchema.parse({ days: ['sat', 'sun'], from: '00:00', to: '23:59' });
  expect(after('2026-11-02T09:00:00Z', 1, weekend)).toBe('2026-11-07T01:00:00.000Z');
});

test.each([
  [{ from: '9:00' }, 'a time of day is written 09:00; the end of a day is 24:00'],
  [{ timeZone: 'Mars/Olympus' }, 'a time zone is a name such as "Europe/Berlin"'],
  [{ from: '17:00', to: '09:00' }, 'business hours begin before they end'],
])('the calendar %j is refused with what to write', (calendar, message) => {
  expect(businessCalendarSchema.safeParse(calendar).error?.issues.map((issue) => issue.message)).toEqual([message]);
});

test('a year without one business day but the last is waited for', () => {
  const mondays = Array.from({ length: 51 }, (_, week) => new Date(Date.UTC(2026, 10, 2 + 7 * week)).toISOString().slice(0, 10));
  const rare = businessCalendarSchema.parse({ days: ['mon'], holidays: mondays });
  expect(after('2026-11-02T00:00:00Z', 1, rare)).toBe('2027-10-25T10:00:00.000Z');
});

test('a calendar without business days is an error, not an endless search', () => {
  const everyMonday = Array.from({ length: 60 }, (_, week) => new Date(Date.UTC(2026, 10, 2 + 7 * week)).toISOString().slice(0, 10));
  const closed = businessCalendarSchema.parse({ days: ['mon'], holidays: everyMonday });
  const error = kilnErrorOf(() => after('2026-11-01T00:00:00Z', 1, closed));
  expect([error.code, error.message]).toEqual([
    'schedule.invalid',
    'The business calendar has no business hours for more than a year. Check its days and holidays.',
  ]);
});

test.each([
  { timeZone: 'Mars/Olympus' },
  { from: '9:00' },
  { to: '25:00' },
  { to: '24:01' },
  { to: '10:60' },
  { to: 'x10:00' },
  { to: '10:00x' },
  { to: '109:00' },
  { to: '10:000' },
  { holidays: Array.from({ length: 1_001 }, () => '2026-12-25') },
  { from: '17:00', to: '09:00' },
  { from: '09:00', to: '09:00' },
  { days: [] },
  { days: ['monday'] },
  { holidays: ['2026-02-30'] },
  { hours: 8 },
])('the calendar %j is refused', (calendar) => {
  expect(businessCalendarSchema.safeParse(calendar).success).toBe(false);
});

test('property: business time only goes forward, adds up, and ends within business hours', () => {
  const start = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) });
  const span = fc.integer({ min: 1, max: 100 * hour });
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe', 'Asia/Kolkata');
  fc.assert(
    fc.property(start, span, span, zone, (from, first, second, timeZone) => {
      const calendar = businessCalendarSchema.parse({ timeZone });
      const middle = addBusinessTime(from, first, calendar);
      const end = addBusinessTime(from, first + second, calendar);
      expect(middle).toBeGreaterThanOrEqual(from + first);
      expect(addBusinessTime(middle, second, calendar)).toBe(end);
      const clock = new Intl.DateTimeFormat('en-GB', {
        timeZone,
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        weekday: 'short',
      }).format(end - 1);
      expect(clock).toMatch(/^(?:Mon|Tue|Wed|Thu|Fri),? (?:09|1[0-6]):/);
    }),
    { numRuns: 200 },
  );
});
