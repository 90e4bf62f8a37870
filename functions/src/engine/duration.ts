import { z } from 'zod';
import { KilnError } from '../model/errors.ts';

/** How a definition states a duration; which texts are valid is decided by `parseDuration`. */
export const durationSchema = z.union([z.number().nonnegative(), z.string().min(1).max(100)]);

/** 100 years: beyond it, a duration is a mistake, and dates stop being exact. */
export const DURATION_MAX_MS = 100 * 366 * 86_400_000;

const units = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

/** One optional group per unit, largest first, so that "30m1h" and "1h2h" are refused. Each group is bounded: linear time. */
const durationPattern =
  /^(?:(?<w>\d{1,12}(?:\.\d{1,6})?)w)?\s?(?:(?<d>\d{1,12}(?:\.\d{1,6})?)d)?\s?(?:(?<h>\d{1,12}(?:\.\d{1,6})?)h)?\s?(?:(?<m>\d{1,12}(?:\.\d{1,6})?)m)?\s?(?:(?<s>\d{1,12}(?:\.\d{1,6})?)s)?\s?(?:(?<ms>\d{1,15})ms)?$/;

/**
 * Whole milliseconds of a duration: a number of milliseconds, or text such as "90s", "1h30m", "7d", "2w".
 *
 * @param path where the value stands, for the error
 * @throws KilnError `duration.invalid`
 */
export function parseDuration(value: unknown, path = 'duration'): number {
  const ms = typeof value === 'number' ? value : typeof value === 'string' ? durationOf(value.trim()) : undefined;
  if (ms === undefined || !Number.isFinite(ms) || ms < 0) {
    throw invalid('duration.invalid', path, value, 'a duration is a number of milliseconds, or text such as "90s", "1h30m", "7d" or "2w"');
  }
  if (ms > DURATION_MAX_MS) {
    throw invalid('duration.invalid', path, value, 'a duration is at most 100 years');
  }
  return Math.round(ms);
}

function durationOf(text: string): number | undefined {
  const groups = durationPattern.exec(text)?.groups;
  if (text === '' || groups === undefined) {
    return undefined;
  }
  let ms = 0;
  for (const [unit, factor] of Object.entries(units)) {
    ms += Number(groups[unit] ?? 0) * factor;
  }
  return ms;
}

const datePattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:Z|[+-](\d{2}):(\d{2}))$/;

/**
 * Milliseconds since 1970 of an ISO 8601 date with a zone. Numbers are refused: nobody can tell seconds from milliseconds,
 * and a wrong guess would make a wait end at once.
 *
 * @throws KilnError `date.invalid`
 */
export function parseDate(value: unknown, path = 'date'): number {
  const parts = typeof value === 'string' ? datePattern.exec(value.trim()) : null;
  if (parts === null) {
    throw invalid('date.invalid', path, value, 'a date is ISO 8601 text with a zone, such as 2026-12-24T18:00:00Z');
  }
  const [text, year, month, day, hour, minute, second, zoneHour, zoneMinute] = parts;
  const numbers = [hour, minute, second ?? 0, zoneHour ?? 0, zoneMinute ?? 0].map(Number);
  const limits = [23, 59, 59, 23, 59];
  if (numbers.some((number, index) => number > (limits[index] ?? 0)) || !existsInCalendar(Number(year), Number(month), Number(day))) {
    throw invalid('date.invalid', path, value, 'there is no such date or time');
  }
  return Date.parse(text);
}

/** Date.parse takes 30 February for 2 March. */
function existsInCalendar(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Milliseconds from now until the date; a date in the past is 0. */
export function delayUntil(dateMs: number, nowMs: number): number {
  return Math.max(0, dateMs - nowMs);
}

/** Text that `parseDuration` reads back to the same milliseconds: "1h30m", "7d", "0s". */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms));
  let text = '';
  for (const unit of ['d', 'h', 'm', 's', 'ms'] as const) {
    const count = Math.floor(rest / units[unit]);
    rest -= count * units[unit];
    text += count === 0 ? '' : `${count}${unit}`;
  }
  return text === '' ? '0s' : text;
}

function invalid(code: 'duration.invalid' | 'date.invalid', path: string, value: unknown, expected: string): KilnError {
  return new KilnError(code, `${path} is ${describe(value)}; ${expected}.`, { data: { path } });
}

function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
    case 'number':
    case 'boolean':
    case 'bigint':
    case 'undefined':
      return String(value);
    case 'function':
    case 'symbol':
      return `a ${typeof value}`;
    default:
      return value === null ? 'null' : Array.isArray(value) ? 'a list' : 'an object';
  }
}
