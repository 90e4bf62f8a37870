import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { thrownBy } from '../testing/kiln-error.ts';
import { isTimeZone, wallToInstant, zoneOffsetMs } from './zone.ts';

const wall = (text: string): number => Date.parse(`${text}Z`);
const instant = (text: string, timeZone: string): string => new Date(wallToInstant(wall(text), timeZone)).toISOString();

test.each([
  ['2026-07-01T12:00:00', 'Europe/Berlin', '2026-07-01T10:00:00.000Z'],
  ['2026-03-29T02:30:00', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
  ['2026-03-29T12:00:00', 'Europe/Berlin', '2026-03-29T10:00:00.000Z'],
  ['2026-10-25T02:30:00', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
  ['2026-10-25T12:00:00', 'Europe/Berlin', '2026-10-25T11:00:00.000Z'],
  ['2026-09-06T00:00:00', 'America/Santiago', '2026-09-06T04:00:00.000Z'],
  ['2026-04-04T23:30:00', 'America/Santiago', '2026-04-05T02:30:00.000Z'],
  ['2026-10-04T02:15:00', 'Australia/Lord_Howe', '2026-10-03T15:45:00.000Z'],
  ['2026-04-05T01:45:00', 'Australia/Lord_Howe', '2026-04-04T14:45:00.000Z'],
  ['2011-12-30T12:00:00', 'Pacific/Apia', '2011-12-30T22:00:00.000Z'],
])('T8 the wall clock shows %s in %s at %s', (text, timeZone, expected) => {
  expect(instant(text, timeZone)).toBe(expected);
});

test('the offset of a zone, also long ago', () => {
  expect(zoneOffsetMs(Date.UTC(2026, 6, 1), 'Asia/Kolkata')).toBe(5.5 * 3_600_000);
  expect(zoneOffsetMs(Date.UTC(2026, 0, 1) + 999, 'America/New_York')).toBe(-5 * 3_600_000);
  expect(zoneOffsetMs(-62_135_596_800_000 - 1, 'UTC')).toBe(0);
});

test('what is no time zone', () => {
  expect(['UTC', 'Europe/Berlin', '+01:00'].map(isTimeZone)).toEqual([true, true, true]);
  expect(['', 'Mars/Olympus', 'Europe', 'x'.repeat(1_000)].map(isTimeZone)).toEqual([false, false, false, false]);
  expect(thrownBy(() => zoneOffsetMs(0, 'Mars/Olympus'))).toEqual(new RangeError('no time zone Mars/Olympus'));
});

test('what making a zone costs is paid once, for a hundred of them', () => {
  const made = vi.spyOn(Intl, 'DateTimeFormat');
  const costOf = (...names: readonly string[]): number => {
    made.mockClear();
    names.forEach(isTimeZone);
    return made.mock.calls.length;
  };
  expect(costOf('Asia/Tokyo', 'No/Where', 'Asia/Tokyo', 'No/Where')).toBe(2);
  expect(costOf(...Array.from({ length: 101 }, (_, n) => `No/Where${n}`))).toBe(101);
  expect(costOf('No/Where100', 'Asia/Tokyo')).toBe(1);
});

test('property: an instant read from the wall clock is the same again, or its twin in a repeated hour', () => {
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Pacific/Apia');
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(2005, 0, 1), max: Date.UTC(2035, 0, 1) }), zone, (ms, timeZone) => {
      const time = Math.floor(ms / 1_000) * 1_000;
      const shown = time + zoneOffsetMs(time, timeZone);
      const again = wallToInstant(shown, timeZone);
      expect(again + zoneOffsetMs(again, timeZone)).toBe(shown);
      expect(again).toBeLessThanOrEqual(time);
    }),
    { numRuns: 1_000 },
  );
});
