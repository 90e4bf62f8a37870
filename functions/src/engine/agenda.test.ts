import { describe, expect, test } from 'vitest';
import type { Agenda } from '../model/approval.ts';
import { nextLook, passTime } from './agenda.ts';

const level = (at: number): Agenda['ladder'][number] => ({ at, approvers: { users: [`u${at}`] }, quorum: 'any' });
const agenda = (reminders: number[], ladder: number[] = []): Agenda => ({
  reminders,
  ladder: ladder.map(level),
  periodMs: 100,
  reminded: 0,
  alerted: false,
});
const fail = { deadlineAt: 100, onDeadline: 'fail' } as const;
const escalate = { deadlineAt: 100, onDeadline: 'escalate' } as const;

test('the next look is at the earliest of reminder, escalation and deadline', () => {
  expect(nextLook(agenda([30, 60], [50]), 100)).toBe(30);
  expect(nextLook(agenda([], [50]), 100)).toBe(50);
  expect(nextLook(agenda([]), 100)).toBe(100);
  expect(nextLook(agenda([130], [150]), 100)).toBe(100);
});

describe('time that passed', () => {
  test('nothing was due', () => {
    expect(passTime(agenda([30], [50]), fail, 29)).toEqual({
      agenda: agenda([30], [50]),
      deadlineAt: 100,
      escalate: [],
      remind: false,
      expired: false,
    });
  });

  test('several reminders at once are one', () => {
    expect(passTime(agenda([10, 20, 30]), fail, 25)).toMatchObject({ remind: true, agenda: { reminders: [30], reminded: 1 } });
  });

  test('several levels at once are asked together, in order', () => {
    expect(passTime(agenda([], [10, 20, 30]), fail, 25)).toMatchObject({
      escalate: [level(10), level(20)],
      agenda: { ladder: [level(30)] },
      expired: false,
    });
  });

  test('the deadline ends it, and no reminder goes out with it', () => {
    expect(passTime(agenda([90, 100]), fail, 100)).toMatchObject({ expired: true, remind: false, deadlineAt: 100 });
    expect(passTime(agenda([90]), fail, 99)).toMatchObject({ expired: false });
  });

  test('what is due at this very moment is due', () => {
    expect(passTime(agenda([30], [50]), fail, 30)).toMatchObject({ remind: true, escalate: [], agenda: { reminders: [] } });
    expect(passTime(agenda([], [50]), fail, 50)).toMatchObject({ escalate: [level(50)], agenda: { ladder: [] } });
  });

  test('before the deadline a level is asked without more time', () => {
    expect(passTime(agenda([], [50]), escalate, 20)).toMatchObject({ escalate: [], deadlineAt: 100, agenda: { ladder: [level(50)] } });
    expect(passTime(agenda([], [50]), escalate, 60)).toMatchObject({ escalate: [level(50)], deadlineAt: 100, expired: false });
  });

  test('a deadline that passes nothing on is one, whoever else could be asked', () => {
    expect(passTime(agenda([], [500]), fail, 100)).toMatchObject({ escalate: [], deadlineAt: 100, expired: true });
    expect(passTime(agenda([], [90, 500]), fail, 120)).toMatchObject({ escalate: [level(90)], deadlineAt: 100, expired: true });
  });

  test('a deadline that passes it on asks the next level early and moves, once a level', () => {
    const first = passTime(agenda([], [500, 600]), escalate, 100);
    expect(first).toMatchObject({ escalate: [level(500)], deadlineAt: 200, expired: false, agenda: { ladder: [level(600)] } });
    const second = passTime(first.agenda, { ...escalate, deadlineAt: first.deadlineAt }, 200);
    expect(second).toMatchObject({ escalate: [level(600)], deadlineAt: 300, expired: false, agenda: { ladder: [] } });
    expect(passTime(second.agenda, { ...escalate, deadlineAt: second.deadlineAt }, 300)).toMatchObject({ escalate: [], expired: true });
  });

  test('a level that was due anyway when the deadline passed is the one it passes on to', () => {
    expect(passTime(agenda([], [90, 500]), escalate, 120)).toMatchObject({
      escalate: [level(90)],
      deadlineAt: 220,
      agenda: { ladder: [level(500)] },
    });
  });
});

test('with a calendar, the time that a level gets is counted in business hours', () => {
  const friday = Date.UTC(2026, 11, 4, 16);
  const calendar = JSON.stringify({ timeZone: 'UTC', from: '09:00', to: '17:00' });
  const hours = { ...agenda([], [friday + 1]), periodMs: 2 * 3_600_000, calendar };
  const passed = passTime(hours, { deadlineAt: friday, onDeadline: 'escalate' }, friday);
  expect(new Date(passed.deadlineAt).toISOString()).toBe('2026-12-07T10:00:00.000Z');
});
