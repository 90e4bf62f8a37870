import { expect, test } from 'vitest';
import { createFormat } from './format.ts';

const now = Date.UTC(2026, 11, 1, 12);
const english = createFormat('en-GB', 'Europe/Zurich');
const german = createFormat('de-CH', 'Europe/Zurich');

test('a moment of this year has no year, another year has one, in the reader’s zone', () => {
  expect(english.moment(Date.UTC(2026, 11, 4, 16), now)).toBe('Fri 4 Dec, 17:00');
  expect(english.moment(Date.UTC(2027, 0, 4, 16), now)).toContain('2027');
});

test('the full time names its zone', () => {
  expect(english.full(Date.UTC(2026, 11, 4, 16))).toMatch(/Friday.*2026.*17:00:00.*CET/);
});

test('durations use at most two units', () => {
  expect(english.duration(0)).toBe('0 ms');
  expect(english.duration(412)).toBe('412 ms');
  expect(english.duration(4_200)).toBe('4.2 s');
  expect(english.duration(65_000)).toBe('1 min 5 s');
  expect(english.duration(3_600_000)).toBe('1 h');
  expect(english.duration(90 * 86_400_000 + 3_600_000)).toBe('90 d 1 h');
  expect(english.duration(-5)).toBe('0 ms');
});

test('relative times speak of the largest unit', () => {
  expect(english.relative(now - 3 * 60_000, now)).toBe('3 minutes ago');
  expect(english.relative(now + 26 * 3_600_000, now)).toBe('tomorrow');
  expect(german.relative(now - 3_600_000, now)).toBe('vor 1 Stunde');
  expect(english.relative(now - 2_000, now)).toBe('now');
});

test('money, shares and sizes follow the locale', () => {
  expect(german.money(4200, 'CHF')).toMatch(/CHF.*4.200[.,]00/);
  expect(english.money(0.00042)).toContain('0.0004');
  expect(english.percent(0.973)).toBe('97.3%');
  expect(english.bytes(999)).toBe('999 B');
  expect(english.bytes(1_536)).toBe('1.5 KB');
  expect(english.bytes(8 * 1024 * 1024)).toBe('8 MB');
});
