const CACHE_MAX = 100;
const formatters = new Map<string, Intl.DateTimeFormat | null>();

/** The formatter of a zone, or null when there is no such zone. Making one costs far more than using it. */
function formatterFor(timeZone: string): Intl.DateTimeFormat | null {
  const known = formatters.get(timeZone);
  if (known !== undefined) {
    return known;
  }
  let formatter: Intl.DateTimeFormat | null;
  try {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      era: 'short',
    });
  } catch {
    formatter = null;
  }
  if (formatters.size >= CACHE_MAX) {
    formatters.clear();
  }
  formatters.set(timeZone, formatter);
  return formatter;
}

/** True for the name of a time zone such as "Europe/Berlin" or "UTC". */
export function isTimeZone(name: string): boolean {
  return name.length <= 64 && formatterFor(name) !== null;
}

/**
 * Milliseconds that the zone's wall clock is ahead of UTC at the instant.
 *
 * @throws RangeError when there is no such zone; see `isTimeZone`
 */
export function zoneOffsetMs(instantMs: number, timeZone: string): number {
  const formatter = formatterFor(timeZone);
  if (formatter === null) {
    throw new RangeError(`no time zone ${timeZone}`);
  }
  const fields = new Map<string, string>();
  for (const { type, value } of formatter.formatToParts(instantMs)) {
    fields.set(type, value);
  }
  const number = (type: string): number => Number(fields.get(type) ?? 0);
  const year = fields.get('era') === 'BC' ? 1 - number('year') : number('year');
  const wall = new Date(Date.UTC(2000, number('month') - 1, number('day'), number('hour'), number('minute'), number('second')));
  wall.setUTCFullYear(year, number('month') - 1, number('day'));
  const wholeSeconds = Math.floor(instantMs / 1_000) * 1_000;
  return wall.getTime() - wholeSeconds;
}

/**
 * The instant at which the zone's wall clock shows that time, stated as if it were UTC. A time that is skipped when clocks go
 * forward is shifted by the skipped span; a time that comes twice is the first of the two.
 */
export function wallToInstant(wallMs: number, timeZone: string): number {
  // No zone changes twice within two days, so the offsets a day before and after are those on both sides of a change.
  const before = zoneOffsetMs(wallMs - 86_400_000, timeZone);
  const after = zoneOffsetMs(wallMs + 86_400_000, timeZone);
  const candidates = [wallMs - Math.max(before, after), wallMs - Math.min(before, after)];
  const exact = candidates.find((instant) => instant + zoneOffsetMs(instant, timeZone) === wallMs);
  // Skipped: counted with the offset before the change, as if the clock had gone on.
  return exact ?? wallMs - before;
}
