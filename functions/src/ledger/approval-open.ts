import { nextLook } from '../engine/agenda.ts';
import type { TimePassed } from '../engine/agenda.ts';
import { possibleDeciders, presentDeciders, seatsOf } from '../engine/eligibility.ts';
import { canStillVote, nameOf } from '../engine/verdict.ts';
import { SEATS_MAX } from '../model/approval.ts';
import type { ApprovalRecord, Panel } from '../model/approval.ts';
import type { MemberRecord } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import { askText, noticeId, noticeWrites } from './approval-notices.ts';
import type { Notice } from './approval-notices.ts';
import { allMembers } from './approval-reading.ts';
import type { Look } from './approval-reading.ts';
import { answeredBy, happeningOf, requestOf, verdictWrites } from './approval-verdicts.ts';
import type { Counted } from './approval-verdicts.ts';
import { dueField } from './due.ts';
import { appendHistory } from './history.ts';
import type { Happening } from './history.ts';
import { stepPath } from './steps.ts';
import { remove } from './store.ts';
import type { Transaction, Write } from './store.ts';

interface Going {
  readonly look: Look;
  readonly held: NonNullable<Look['held']>;
  readonly counted: Counted;
  readonly passed: TimePassed;
  readonly now: number;
}

/** The request as it goes on, and those it now concerns. */
interface Onward {
  readonly approval: ApprovalRecord;
  readonly panels: readonly Panel[];
  readonly added: readonly Panel[];
  readonly members: ReadonlyMap<string, MemberRecord>;
  /** Everybody has answered without a result, and nobody has been told yet. */
  readonly alert: boolean;
  readonly wakeAt: number;
}

/** The request stays open: whom it is passed on to, who is reminded, who may decide now, and when to look again. */
export async function goOn(runtime: Runtime, tx: Transaction, going: Going): Promise<readonly Write[]> {
  const { look, held, counted, now } = going;
  const onward = await onwardOf(tx, going);
  const rearmed = onward.wakeAt !== held.record.wakeAt;
  // Before the commit it belongs to: a ring for a wake time that was never written finds nothing due.
  if (rearmed) await runtime.doorbells.arm(held.record, onward.wakeAt, 0);
  const notices = [...noticesOf(going, onward), ...(await welcomes(tx, look, onward, now))];
  const happenings = [...counted.verdicts.map((verdict) => happeningOf(verdict, look)), ...escalations(look.approval, onward)];
  const wake = { wakeAt: onward.wakeAt, due: dueField(held.record.runId, onward.wakeAt) };
  return [
    ...(await appendHistory(tx, look.approval, happenings, now)),
    ...counted.verdicts.flatMap((verdict) => verdictWrites(verdict)),
    ...changesOf(look.approval, onward.approval),
    ...notices.flatMap((notice) => noticeWrites(onward.approval, onward.members, notice, now)),
    ...(rearmed ? [{ op: 'update' as const, path: stepPath(held.record), data: wake, ifUpdateTime: held.updateTime }] : []),
  ];
}

async function onwardOf(tx: Transaction, { look, counted, passed, now }: Going): Promise<Onward> {
  const { approval } = look;
  const escalates = passed.escalate.length > 0;
  const stuck = counted.result.kind === 'open' && counted.result.stuck && !escalates;
  const alert = stuck && !passed.agenda.alerted;
  const everybody = escalates || alert ? await allMembers(tx, approval.accountId) : [];
  const members = new Map([...look.members, ...everybody.map((member) => [member.uid, member] as const)]);
  const added = passed.escalate.map((panel) => ({
    approvers: panel.approvers,
    quorum: panel.quorum,
    seats: seatsOf(panel, everybody, now, approval).slice(0, SEATS_MAX),
  }));
  const panels = [...look.panels, ...added];
  const agenda = { ...passed.agenda, alerted: passed.agenda.alerted || stuck };
  const eligible = [...possibleDeciders(panels, members, { from: now, to: passed.deadlineAt }, approval)];
  const { claimedBy, claimedAt, ...unclaimed } = approval;
  // Somebody who took a request on and let it be passed on, or may no longer decide it, does not hold up the others.
  const claim = claimedBy === undefined || escalates || !eligible.includes(claimedBy) ? {} : { claimedBy, claimedAt };
  const next: ApprovalRecord = {
    ...unclaimed,
    ...claim,
    approvers: JSON.stringify(panels),
    schedule: JSON.stringify(agenda),
    deadlineAt: passed.deadlineAt,
    level: approval.level + added.length,
    eligible,
    answered: answeredBy(approval, counted.verdicts),
  };
  return { approval: next, panels, added, members, alert, wakeAt: nextLook(agenda, next.deadlineAt) };
}

function noticesOf({ look, counted, passed, now }: Going, { approval, panels, added, members, alert }: Onward): readonly Notice[] {
  const notices: Notice[] = [];
  if (added.length > 0) {
    notices.push({
      kind: 'escalation',
      n: approval.level,
      to: presentDeciders(added, members, now, approval),
      text: askText(approval),
    });
  }
  if (passed.remind) {
    const request = requestOf({ ...look, panels, members });
    const open = presentDeciders(panels, members, now, approval).filter((uid) => canStillVote(request, uid, now, counted.accepted));
    notices.push({ kind: 'reminder', n: passed.agenda.reminded, to: open, text: askText(approval) });
  }
  if (alert) {
    const admins = [...members.values()].filter((member) => member.active && member.roles.includes('admin')).map((member) => member.uid);
    const text = `Nobody is left who could decide on "${approval.title}". Reassign it, or wait for its deadline.`;
    notices.push({ kind: 'alert', n: 0, to: admins, text });
  }
  return notices;
}

/** Those who came to be asked since (they stand in for somebody now) hear of it once, even if they come and go. */
async function welcomes(tx: Transaction, { approval }: Look, onward: Onward, now: number): Promise<readonly Notice[]> {
  const told = new Set([...approval.eligible, ...presentDeciders(onward.added, onward.members, now, approval)]);
  const fresh = presentDeciders(onward.panels, onward.members, now, approval).filter((uid) => !told.has(uid));
  if (fresh.length === 0) return [];
  const notice: Omit<Notice, 'to'> = { kind: 'handoff', n: 0, text: askText(onward.approval) };
  const ids = fresh.map((uid) => paths.notification(approval.accountId, noticeId(approval.approvalId, notice, uid)));
  const { docs } = await tx.get(ids);
  return [{ ...notice, to: fresh.filter((_, i) => docs[i] === undefined) }];
}

function escalations(before: ApprovalRecord, { added, members }: Onward): readonly Happening[] {
  return added.map((panel, i) => {
    const names = panel.seats.map((uid) => nameOf(members, uid)).join(', ') || 'nobody: no member fits';
    return {
      kind: 'escalation',
      by: 'system',
      text: `"${before.title}" was passed on to ${names}`,
      data: { approvalId: before.approvalId, level: before.level + i + 1, seats: panel.seats },
    };
  });
}

const movingFields = ['answered', 'approvers', 'schedule', 'deadlineAt', 'level', 'eligible', 'claimedBy', 'claimedAt'] as const;

/** Only what changed: a request that is looked at for nothing is not written. */
export function changesOf(before: ApprovalRecord, after: ApprovalRecord): readonly Write[] {
  const changed = movingFields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
  if (changed.length === 0) return [];
  const data = Object.fromEntries(changed.map((field) => [field, after[field] ?? remove]));
  return [{ op: 'update', path: paths.approval(before.accountId, before.approvalId), data }];
}
