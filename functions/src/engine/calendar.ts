import { z } from 'zod';
import { KilnError } from '../model/errors.ts';
import { isTimeZone, wallToInstant, zoneOffsetMs } from './zone.ts';

const dayMs = 86_400_000;
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
/** Days in a row without business hours after which a calendar is taken for a mistake: a year and a day. */
const CLOSED_DAYS_MAX = 367;

const clockTime = z.string().regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, 'a time of day is written 09:00; the end of a day is 24:00');

export const businessCalendarSchema = z
  .strictObject({
    timeZone: z.string().refine(isTimeZone, 'a time zone is a name such as "Europe/Berlin"').default('UTC'),
    days: z.array(z.enum(weekdays)).min(1).default(['mon', 'tue', 'wed', 'thu', 'fri']),
    from: clockTime.default('09:00'),
    to: clockTime.default('17:00'),
    /** Dates such as 2026-12-25 on which nobody works. */
    holidays: z.array(z.iso.date()).max(1_000).default([]),
  })
  .refine((calendar) => minutesOf(calendar.from) < minutesOf(calendar.to), 'business hours begin before they end');
export type BusinessCalendar = z.infer<typeof businessCalendarSchema>;

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

/**
 * The instant at which so much business time has passed since the start. Business hours are those of the wall clock; on days
 * on which clocks change they are as long as they really last. Nothing to add gives the start itself, also outside hours.
 *
 * @throws KilnError `schedule.invalid` when the calendar has no business day for a year
 */
export function addBusinessTime(startMs: number, durationMs: number, calendar: BusinessCalendar): number {
  if (durationMs <= 0) {
    return startMs;
  }
  const holidays = new Set(calendar.holidays);
  const startWall = startMs + zoneOffsetMs(startMs, calendar.timeZone);
  let day = Math.floor(startWall / dayMs) * dayMs;
  let left = durationMs;
  let closed = 0;
  while (closed <= CLOSED_DAYS_MAX) {
    const open = isOpen(day, calendar, holidays) ? hoursOf(day, calendar) : undefined;
    const available = open === undefined ? 0 : Math.max(0, open.to - Math.max(open.from, startMs));
    if (open !== undefined && available >= left) {
      return Math.max(open.from, startMs) + left;
    }
    left -= available;
    closed = available > 0 ? 0 : closed + 1;
    day += dayMs;
  }
  throw new KilnError('schedule.invalid', 'The business calendar has no business hours for more than a year. Check its days and holidays.');
}

/** The day is midnight of the wall clock, stated as if it were UTC. */
function isOpen(day: number, calendar: BusinessCalendar, holidays: ReadonlySet<string>): boolean {
  const date = new Date(day);
  const name = weekdays[date.getUTCDay()];
  return calendar.days.some((open) => open === name) && !holidays.has(date.toISOString().slice(0, 10));
}

function hoursOf(day: number, calendar: BusinessCalendar): { from: number; to: number } {
  return {
    from: wallToInstant(day + minutesOf(calendar.from) * 60_000, calendar.timeZone),
    to: wallToInstant(day + minutesOf(calendar.to) * 60_000, calendar.timeZone),
  };
}
