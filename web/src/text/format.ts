/** Times, numbers and money as the reader writes them. Pure: locale and zone are handed in. */

export interface Format {
  readonly locale: string;
  readonly zone: string;
  /** "Fri 4 Dec, 17:00": date and time without the year when it is this year. */
  moment(ms: number, now: number): string;
  /** The whole date, time and zone, for titles and focus. */
  full(ms: number): string;
  day(ms: number): string;
  clock(ms: number): string;
  /** "in 3 hours", "5 minutes ago". */
  relative(ms: number, now: number): string;
  /** "1 h 5 min": at most two units. */
  duration(ms: number): string;
  number(value: number, digits?: number): string;
  percent(share: number): string;
  money(amount: number, currency?: string): string;
  bytes(size: number): string;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const relativeSteps = [
  { unit: 'year', ms: 365 * DAY },
  { unit: 'month', ms: 30 * DAY },
  { unit: 'day', ms: DAY },
  { unit: 'hour', ms: HOUR },
  { unit: 'minute', ms: MINUTE },
] as const;

const durationUnits = [
  { ms: DAY, short: 'd' },
  { ms: HOUR, short: 'h' },
  { ms: MINUTE, short: 'min' },
  { ms: SECOND, short: 's' },
] as const;

const byteUnits = ['B', 'KB', 'MB', 'GB'] as const;

export function createFormat(locale: string, zone: string): Format {
  const thisYear = new Intl.DateTimeFormat(locale, {
    timeZone: zone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  const otherYear = new Intl.DateTimeFormat(locale, {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  });
  const full = new Intl.DateTimeFormat(locale, { timeZone: zone, dateStyle: 'full', timeStyle: 'long' });
  const day = new Intl.DateTimeFormat(locale, { timeZone: zone, day: 'numeric', month: 'short' });
  const clock = new Intl.DateTimeFormat(locale, { timeZone: zone, hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const year = new Intl.DateTimeFormat('en', { timeZone: zone, year: 'numeric' });
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  const number = (value: number, digits = 0): string => new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(value);

  return {
    locale,
    zone,
    moment: (ms, now) => (year.format(ms) === year.format(now) ? thisYear : otherYear).format(ms),
    full: (ms) => full.format(ms),
    day: (ms) => day.format(ms),
    clock: (ms) => clock.format(ms),
    relative: (ms, now) => relativeText(relative, ms - now),
    duration: (ms) => durationText(ms, number),
    number,
    percent: (share) => percent.format(share),
    money: (amount, currency = 'USD') =>
      new Intl.NumberFormat(locale, {
        style: 'currency',
        currency,
        maximumFractionDigits: Math.abs(amount) < 1 && amount !== 0 ? 4 : 2,
      }).format(amount),
    bytes: (size) => bytesText(size, number),
  };
}

function relativeText(format: Intl.RelativeTimeFormat, difference: number): string {
  for (const { unit, ms } of relativeSteps) {
    if (Math.abs(difference) >= ms) return format.format(Math.trunc(difference / ms), unit);
  }
  return Math.abs(difference) < 10 * SECOND ? format.format(0, 'second') : format.format(Math.trunc(difference / SECOND), 'second');
}

function durationText(ms: number, number: (value: number, digits?: number) => string): string {
  const length = Math.max(0, ms);
  if (length < SECOND) return `${number(Math.round(length))} ms`;
  if (length < 10 * SECOND) return `${number(length / SECOND, 1)} s`;
  const index = durationUnits.findIndex((unit) => length >= unit.ms);
  const unit = durationUnits[index];
  if (unit === undefined) return `${number(Math.round(length))} ms`;
  const next = durationUnits[index + 1];
  const whole = Math.floor(length / unit.ms);
  const rest = next === undefined ? 0 : Math.floor((length - whole * unit.ms) / next.ms);
  return rest === 0 || next === undefined ? `${number(whole)} ${unit.short}` : `${number(whole)} ${unit.short} ${rest} ${next.short}`;
}

function bytesText(size: number, number: (value: number, digits?: number) => string): string {
  let value = size;
  let unit = 0;
  while (value >= 1024 && unit < byteUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${number(value, value < 10 && unit > 0 ? 1 : 0)} ${byteUnits[unit] ?? 'B'}`;
}
