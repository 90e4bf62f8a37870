import type { Agenda, ApprovalRecord } from '../model/approval.ts';
import { addBusinessTime, businessCalendarSchema } from './calendar.ts';

type Level = Agenda['ladder'][number];

/** When a pending request must be looked at next: the earliest of reminder, escalation and deadline. */
export function nextLook(agenda: Agenda, deadlineAt: number): number {
  return Math.min(deadlineAt, ...agenda.reminders, ...agenda.ladder.map((level) => level.at));
}

export interface TimePassed {
  readonly agenda: Agenda;
  readonly deadlineAt: number;
  /** Levels to ask now, in order. */
  readonly escalate: readonly Level[];
  /** One reminder, however many were due. */
  readonly remind: boolean;
  /** The deadline passed, and nothing is left that could still ask somebody. */
  readonly expired: boolean;
}

/** What has become due by now. Pure: the caller writes it down and sends the letters. */
export function passTime(agenda: Agenda, approval: Pick<ApprovalRecord, 'deadlineAt' | 'onDeadline'>, now: number): TimePassed {
  const due = agenda.ladder.filter((level) => level.at <= now);
  const ahead = agenda.ladder.filter((level) => level.at > now);
  const remindersAhead = agenda.reminders.filter((at) => at > now);
  const missed = now >= approval.deadlineAt;
  // A level that the deadline itself brings on is asked at once and gets a full period of its own.
  const early = missed && approval.onDeadline === 'escalate' && due.length === 0 ? ahead.slice(0, 1) : [];
  const moved = missed && approval.onDeadline === 'escalate' && due.length + early.length > 0;
  const remind = remindersAhead.length < agenda.reminders.length && !missed;
  return {
    agenda: { ...agenda, reminders: remindersAhead, ladder: ahead.slice(early.length), reminded: agenda.reminded + (remind ? 1 : 0) },
    deadlineAt: moved ? timeAfter(now, agenda.periodMs, agenda.calendar) : approval.deadlineAt,
    escalate: [...due, ...early],
    remind,
    expired: missed && !moved,
  };
}

/** So much later: by the clock, or in business hours of a calendar (JSON text). */
export function timeAfter(start: number, ms: number, calendar: string | undefined): number {
  return calendar === undefined ? start + ms : addBusinessTime(start, ms, businessCalendarSchema.parse(JSON.parse(calendar)));
}
