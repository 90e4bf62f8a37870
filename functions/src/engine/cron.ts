import { Cron } from 'croner';
import { KilnError } from '../model/errors.ts';
import type { Problem } from './problem.ts';
import { isTimeZone } from './zone.ts';

const nicknames: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
]);

const OCCURRENCES_MAX = 1_000;

/**
 * Rule for days on which clocks change. A schedule whose minute and hour are numbers, lists or ranges means times of the wall
 * clock: a time that comes twice counts once, the first time; a time that is skipped counts at the moment the clock jumps. So
 * a daily schedule runs once on every calendar day. A schedule with `*` or a step in minute or hour runs by elapsed time,
 * through the repeated hour too.
 */
function parse(cron: string, timeZone: string): Cron {
  const pattern = nicknames.get(cron.trim().toLowerCase()) ?? cron.trim();
  if (!isTimeZone(timeZone)) {
    throw invalid(`"${timeZone.slice(0, 64)}" is not a time zone; write a name such as "Europe/Berlin" or "UTC"`);
  }
  if (pattern.length > 200 || pattern.split(/\s+/).length !== 5) {
    throw invalid(`"${cron.slice(0, 100)}" does not have the five fields minute, hour, day of month, month, day of week`);
  }
  try {
    return new Cron(pattern, { timezone: timeZone, paused: true, mode: '5-part', fixedTimeRule: 'no-wildcard' });
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace('CronPattern: ', '') : String(error);
    throw invalid(`"${cron.slice(0, 100)}" is not a cron expression: ${reason}`);
  }
}

function invalid(message: string): KilnError {
  return new KilnError('schedule.invalid', `${message}.`);
}

/**
 * The first time of the schedule strictly after the given one, in milliseconds since 1970.
 *
 * @throws KilnError `schedule.invalid`, also when the schedule never comes, such as on 30 February
 */
export function nextOccurrence(cron: string, timeZone: string, afterMs: number): number {
  return nextOf(parse(cron, timeZone), cron, afterMs);
}

function nextOf(schedule: Cron, cron: string, afterMs: number): number {
  // Whole seconds, so that the library's own rounding cannot yield the given time again.
  const next = schedule.nextRun(new Date(Math.floor(afterMs / 1_000) * 1_000));
  if (next === null) {
    throw invalid(`"${cron.slice(0, 100)}" never comes`);
  }
  return next.getTime();
}

/**
 * The times of the schedule after `fromMs` and up to and including `toMs`, at most `limit` of them.
 *
 * @throws KilnError `schedule.invalid`
 */
export function occurrencesBetween(cron: string, timeZone: string, fromMs: number, toMs: number, limit = OCCURRENCES_MAX): number[] {
  const schedule = parse(cron, timeZone);
  const times: number[] = [];
  let next = nextOf(schedule, cron, fromMs);
  while (next <= toMs && times.length < limit) {
    times.push(next);
    next = nextOf(schedule, cron, next);
  }
  return times;
}

/** What is wrong with a schedule; that it never comes is found as well. `atMs` is any time, from which it is tried. */
export function checkSchedule(cron: string, timeZone: string, atMs = 0): Problem[] {
  try {
    nextOccurrence(cron, timeZone, atMs);
    return [];
  } catch (error) {
    if (error instanceof KilnError) {
      return [{ path: '', code: error.code, message: error.message }];
    }
    throw error;
  }
}
