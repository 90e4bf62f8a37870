import { passTime, nextLook } from '../engine/agenda.ts';
import { fitsPanel, groupsOf, memberAt, possibleDeciders, presentDeciders, seatsOf } from '../engine/eligibility.ts';
import { faultOfValues } from '../engine/form.ts';
import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import { tally } from '../engine/quorum.ts';
import type { Ballot, Tally } from '../engine/quorum.ts';
import { canStillVote, judge, nameOf, tooLate } from '../engine/verdict.ts';
import type { Judgement, Request, Submitted } from '../engine/verdict.ts';
import type { ApprovalRecord, VerdictRecord } from '../model/approval.ts';
import { paths } from '../model/paths.ts';
import type { StepRef } from '../model/paths.ts';
import { finishWait } from '../runner/finish-wait.ts';
import type { Runtime } from '../runner/runtime.ts';
import { approvalEnd } from './approval-end.ts';
import type { End } from './approval-end.ts';
import { askText, noticeWrites } from './approval-notices.ts';
import type { Notice } from './approval-notices.ts';
import { allMembers, readApproval } from './approval-reading.ts';
import type { ApprovalRef, Look } from './approval-reading.ts';
import { dueField } from './due.ts';
import { appendHistory } from './history.ts';
import type { Happening } from './history.ts';
import { stepPath } from './steps.ts';
import { increment, remove } from './store.ts';
import type { Transaction, Write } from './store.ts';

/** A person's decision has been created. Judges it, and ends the step when it is the one that decides. */
export function decideApproval(runtime: Runtime, ref: ApprovalRef & { readonly uid: string }): Promise<void> {
  return settleApproval(runtime, ref);
}

/** The step's wake time has come: a reminder, an escalation or the deadline of its request. */
export function expireApproval(runtime: Runtime, ref: StepRef, approvalId: string): Promise<void> {
  return settleApproval(runtime, { accountId: ref.accountId, approvalId });
}

/**
 * Brings a request up to date, whoever calls: judges the decisions that nobody has judged yet in the order in which the database
 * received them, counts, and then lets time pass. Decision and deadline meet in this one transaction, which reads the decisions
 * itself: a decision that was created before the deadline always wins, and there is never both.
 */
export async function settleApproval(runtime: Runtime, ref: ApprovalRef): Promise<void> {
  await runtime.store.transaction(async (tx) => {
    const look = await readApproval(tx, ref);
    if (look === undefined) return;
    const now = runtime.clock.now();
    const writes = await settleWrites(runtime, tx, look, now);
    for (const write of writes) tx.write(write);
  });
}

async function settleWrites(runtime: Runtime, tx: Transaction, look: Look, now: number): Promise<readonly Write[]> {
  const { approval, held } = look;
  if (approval.status !== 'pending') return refuseAll(tx, look, approval, now);
  if (held === undefined) {
    // The step ended without its request: what cancels a step closes the request with it, so this is a repair.
    const closed: ApprovalRecord = { ...approval, status: 'cancelled', endedAt: now };
    const update: Write = { op: 'update', path: pathOf(approval), data: { status: 'cancelled', endedAt: now, due: remove } };
    return [...(await refuseAll(tx, look, closed, now)), update];
  }
  const counted = count(look, now);
  if (counted.result.kind === 'decided') {
    const { outcome, choice, by } = counted.result;
    return end(runtime, tx, { ...look, ...counted }, { kind: 'decided', outcome, choice, by }, now);
  }
  const passed = passTime(look.agenda, approval, now);
  if (passed.expired) return end(runtime, tx, { ...look, ...counted }, { kind: 'expired' }, now);
  return goOn(runtime, tx, { look, held, counted, passed, now });
}

/** Decisions on a request that has ended are kept, with the reason why they did not count. */
async function refuseAll(tx: Transaction, look: Look, ended: ApprovalRecord, now: number): Promise<readonly Write[]> {
  const refused = look.unjudged.map((submitted) => verdictOf(look, submitted, { accepted: false, reason: tooLate(ended) }, now));
  return [...(await appendHistory(tx, ended, refused.map((verdict) => happeningOf(verdict, look)), now)), ...refused.flatMap((verdict) => verdictWrites(verdict))];
}

interface Counted {
  /** Verdicts of this transaction. */
  readonly verdicts: readonly VerdictRecord[];
  /** All that count, those of before included. */
  readonly accepted: readonly VerdictRecord[];
  readonly result: Tally;
}

/** Judges decision after decision; once one of them decides, those after it come too late. */
function count(look: Look, now: number): Counted {
  const request = requestOf(look);
  const verdicts: VerdictRecord[] = [];
  const accepted = [...look.accepted];
  let result = tallyOf(look, accepted, now);
  for (const submitted of look.unjudged) {
    const judgement: Judgement = result.kind === 'decided' ? { accepted: false, reason: tooLate(endedBy(look, result, now)) } : judge(request, submitted, accepted);
    const verdict = verdictOf(look, submitted, judgement, now);
    verdicts.push(verdict);
    if (!verdict.accepted) continue;
    accepted.push(verdict);
    result = tallyOf(look, accepted, now);
  }
  return { verdicts, accepted, result };
}

function requestOf(look: Look): Request {
  const { form } = look.approval;
  return { ...look, faultOf: (values) => (form === undefined ? undefined : faultOfValues(form, values)) };
}

function endedBy({ approval, members }: Look, result: Extract<Tally, { kind: 'decided' }>, now: number): ApprovalRecord {
  const names = result.by.map((uid) => nameOf(members, uid));
  return { ...approval, status: 'decided', outcome: result.outcome, decidedBy: [...result.by], decidedByNames: names, endedAt: now };
}

function tallyOf(look: Look, accepted: readonly VerdictRecord[], now: number): Tally {
  const { panels, members, approval } = look;
  const voted = new Set(accepted.flatMap((verdict) => verdict.seats));
  const voting = panels.map((panel) => ({
    quorum: panel.quorum,
    // A seat stays when its holder has voted; otherwise only as long as the holder still fits.
    seats: panel.seats.filter((uid) => {
      const member = members.get(uid);
      return voted.has(uid) || (member !== undefined && fitsPanel(panel, uid, memberAt(member, now)));
    }),
  }));
  return tally(voting, approval.rejection, accepted.map((verdict) => ballotOf(look, verdict)));
}

function ballotOf({ panels, members, submitted, shown }: Look, verdict: VerdictRecord): Ballot {
  const groups = verdict.seats.flatMap((uid) => {
    const member = members.get(uid);
    return member === undefined ? [] : panels.flatMap((panel) => groupsOf(panel.quorum, uid, memberAt(member, verdict.decidedAt)));
  });
  const edited = submitted.find(({ uid }) => uid === verdict.by)?.decision.values;
  const values = edited === undefined ? (shown.values ?? null) : parseJson(edited);
  return { by: verdict.by, seats: verdict.seats, groups, outcome: verdict.outcome, choice: digest(canonicalJson(values)) };
}

function verdictOf({ approval, members }: Look, { uid, decision, createdAt }: Submitted, judgement: Judgement, now: number): VerdictRecord {
  const { accountId, approvalId } = approval;
  const base = { v: 1 as const, accountId, approvalId, by: uid, name: nameOf(members, uid), outcome: decision.outcome, decidedAt: createdAt, at: now };
  return judgement.accepted ? { ...base, seats: [...judgement.seats], accepted: true } : { ...base, seats: [], accepted: false, reason: judgement.reason };
}

function verdictWrites(verdict: VerdictRecord): readonly Write[] {
  const { accountId, approvalId, by } = verdict;
  return [
    { op: 'create', path: paths.verdict(accountId, approvalId, by), data: verdict },
    { op: 'update', path: paths.decision(accountId, approvalId, by), data: { due: remove } },
  ];
}

function happeningOf(verdict: VerdictRecord, { approval, members, submitted }: Look): Happening {
  const others = verdict.seats.filter((uid) => uid !== verdict.by).map((uid) => nameOf(members, uid));
  const forWhom = others.length === 0 ? '' : ` for ${others.join(', ')}`;
  const decision = submitted.find(({ uid }) => uid === verdict.by)?.decision;
  const comment = decision?.comment === undefined ? '' : `: ${decision.comment}`;
  const what = `${verdict.name} answered "${verdict.outcome}"${forWhom} to "${approval.title}"${comment}`;
  return {
    kind: verdict.accepted ? 'decision' : 'decision_refused',
    by: verdict.by,
    text: verdict.accepted ? what : `${what}. It did not count: ${verdict.reason ?? ''}`,
    data: { approvalId: approval.approvalId, stepKey: approval.stepKey, outcome: verdict.outcome, seats: verdict.seats, digest: decision?.digest ?? '', decidedAt: verdict.decidedAt },
  };
}

async function end(runtime: Runtime, tx: Transaction, look: Look & Counted, how: End, now: number): Promise<readonly Write[]> {
  const { approval, held, verdicts, members } = look;
  if (held === undefined) return [];
  const ending = approvalEnd(look, how, now);
  const step = await finishWait(runtime, held, ending.outcome, tx);
  const happenings = [...verdicts.map((verdict) => happeningOf(verdict, look)), { kind: 'approval_ended', by: 'system', text: ending.text, data: { approvalId: approval.approvalId } }];
  const history = await appendHistory(tx, approval, happenings, now);
  const told = { kind: 'decided', n: 0, to: [approval.startedBy], text: ending.text } as const;
  return [
    ...step,
    ...history,
    ...verdicts.flatMap((verdict) => verdictWrites(verdict)),
    { op: 'update', path: pathOf(approval), data: { ...ending.fields, endedAt: now, due: remove } },
    { op: 'update', path: paths.run(approval.accountId, approval.runId), data: { pendingApprovals: increment(-1) } },
    ...noticeWrites(approval, members, told, now),
  ];
}

interface Going {
  readonly look: Look;
  readonly held: NonNullable<Look['held']>;
  readonly counted: Counted;
  readonly passed: ReturnType<typeof passTime>;
  readonly now: number;
}

/** The request stays open: whom it is passed on to, who is reminded, who may decide now, and when to look again. */
async function goOn(runtime: Runtime, tx: Transaction, { look, held, counted, passed, now }: Going): Promise<readonly Write[]> {
  const { approval } = look;
  const stuck = counted.result.kind === 'open' && counted.result.stuck && passed.escalate.length === 0;
  const alert = stuck && !passed.agenda.alerted;
  const everybody = passed.escalate.length > 0 || alert ? await allMembers(tx, approval.accountId) : [];
  const members = new Map([...look.members, ...everybody.map((member) => [member.uid, member] as const)]);
  const added = passed.escalate.map(({ approvers, quorum }) => ({ approvers, quorum, seats: [...seatsOf({ approvers, quorum }, everybody, now, approval)] }));
  const panels = [...look.panels, ...added];
  const agenda = { ...passed.agenda, alerted: passed.agenda.alerted || stuck };
  const next: ApprovalRecord = {
    ...approval,
    approvers: JSON.stringify(panels),
    schedule: JSON.stringify(agenda),
    deadlineAt: passed.deadlineAt,
    level: approval.level + added.length,
    eligible: [...possibleDeciders(panels, members, { from: now, to: passed.deadlineAt }, approval)],
  };
  const notices = noticesOf({ look: { ...look, members, panels }, counted, passed, now }, next, alert);
  const wakeAt = nextLook(agenda, next.deadlineAt);
  const rearmed = wakeAt !== held.record.wakeAt;
  // Before the commit it belongs to: a ring for a wake time that was never written finds nothing due.
  if (rearmed) await runtime.doorbells.arm(held.record, wakeAt, 0);
  const escalations: Happening[] = added.map((panel, i) => ({
    kind: 'escalation',
    by: 'system',
    text: `"${approval.title}" was passed on to ${panel.seats.map((uid) => nameOf(members, uid)).join(', ') || 'nobody: no member fits'}`,
    data: { approvalId: approval.approvalId, level: approval.level + i + 1, seats: panel.seats },
  }));
  const history = await appendHistory(tx, approval, [...counted.verdicts.map((verdict) => happeningOf(verdict, look)), ...escalations], now);
  return [
    ...history,
    ...counted.verdicts.flatMap((verdict) => verdictWrites(verdict)),
    ...changesOf(approval, next),
    ...notices.flatMap((notice) => noticeWrites(next, members, notice, now)),
    ...(rearmed ? [{ op: 'update' as const, path: stepPath(held.record), data: { wakeAt, due: dueField(held.record.runId, wakeAt) }, ifUpdateTime: held.updateTime }] : []),
  ];
}

function noticesOf({ look, counted, passed, now }: Pick<Going, 'look' | 'counted' | 'passed' | 'now'>, next: ApprovalRecord, alert: boolean): readonly Notice[] {
  const request = requestOf(look);
  const notices: Notice[] = [];
  if (passed.escalate.length > 0) {
    const asked = look.panels.slice(-passed.escalate.length);
    notices.push({ kind: 'escalation', n: next.level, to: presentDeciders(asked, look.members, now, next), text: askText(next) });
  }
  if (passed.remind) {
    const open = presentDeciders(look.panels, look.members, now, next).filter((uid) => canStillVote(request, uid, now, counted.accepted));
    notices.push({ kind: 'reminder', n: passed.agenda.reminded, to: open, text: askText(next) });
  }
  if (alert) {
    const admins = [...look.members.values()].filter((member) => member.active && member.roles.includes('admin')).map((member) => member.uid);
    notices.push({ kind: 'alert', n: 0, to: admins, text: `Nobody is left who could decide on "${next.title}". Reassign it, or wait for its deadline.` });
  }
  return notices;
}

/** Only what changed: a request that is looked at for nothing is not written. */
function changesOf(before: ApprovalRecord, after: ApprovalRecord): readonly Write[] {
  const fields = ['approvers', 'schedule', 'deadlineAt', 'level', 'eligible'] as const;
  const changed = fields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
  if (changed.length === 0) return [];
  return [{ op: 'update', path: pathOf(before), data: Object.fromEntries(changed.map((field) => [field, after[field]])) }];
}

function pathOf(approval: ApprovalRecord): string {
  return paths.approval(approval.accountId, approval.approvalId);
}
