import { passTime } from '../engine/agenda.ts';
import { fitsPanel, groupsOf, memberAt } from '../engine/eligibility.ts';
import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import { tally } from '../engine/quorum.ts';
import type { Ballot, Tally } from '../engine/quorum.ts';
import { judge, nameOf, tooLate } from '../engine/verdict.ts';
import type { Judgement } from '../engine/verdict.ts';
import type { ApprovalRecord, VerdictRecord } from '../model/approval.ts';
import { paths } from '../model/paths.ts';
import type { StepRef } from '../model/paths.ts';
import { finishWait } from '../runner/finish-wait.ts';
import type { Runtime } from '../runner/runtime.ts';
import { approvalEnd } from './approval-end.ts';
import type { End } from './approval-end.ts';
import { noticeWrites } from './approval-notices.ts';
import { goOn } from './approval-open.ts';
import { readApproval } from './approval-reading.ts';
import type { ApprovalRef, Look } from './approval-reading.ts';
import { answeredBy, happeningOf, requestOf, verdictOf, verdictWrites } from './approval-verdicts.ts';
import type { Counted } from './approval-verdicts.ts';
import { dueField } from './due.ts';
import { appendHistory } from './history.ts';
import { stepPath } from './steps.ts';
import type { Held } from './steps.ts';
import { increment, remove } from './store.ts';
import type { Transaction, Write } from './store.ts';

/**
 * A person's decision has been created. Judges it, and ends the step when it is the one that decides. While the kill switch is on
 * it stays due, and the reconciler judges it afterwards.
 */
export async function decideApproval(runtime: Runtime, ref: ApprovalRef & { readonly uid: string }): Promise<void> {
  if (await runtime.control.halted()) return;
  await settleApproval(runtime, ref);
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
  return [
    ...(await appendHistory(
      tx,
      ended,
      refused.map((verdict) => happeningOf(verdict, look)),
      now,
    )),
    ...refused.flatMap((verdict) => verdictWrites(verdict)),
  ];
}

/** Judges decision after decision; once one of them decides, those after it come too late. */
function count(look: Look, now: number): Counted {
  const request = requestOf(look);
  const verdicts: VerdictRecord[] = [];
  const accepted = [...look.accepted];
  let result = tallyOf(look, accepted, now);
  for (const submitted of look.unjudged) {
    const judgement: Judgement =
      result.kind === 'decided' ? { accepted: false, reason: tooLate(endedBy(look, result, now)) } : judge(request, submitted, accepted);
    const verdict = verdictOf(look, submitted, judgement, now);
    verdicts.push(verdict);
    if (!verdict.accepted) continue;
    accepted.push(verdict);
    result = tallyOf(look, accepted, now);
  }
  return { verdicts, accepted, result };
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
  return tally(
    voting,
    approval.rejection,
    accepted.map((verdict) => ballotOf(look, verdict)),
  );
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

async function end(runtime: Runtime, tx: Transaction, look: Look & Counted, how: End, now: number): Promise<readonly Write[]> {
  const { approval, held, verdicts, members } = look;
  if (held === undefined) return [];
  const ending = approvalEnd(look, how, now);
  const permitted = approval.purpose === 'permission' && ending.outcome.kind === 'succeeded';
  const step = permitted ? await permitWrites(runtime, held, approval, now) : await finishWait(runtime, held, ending.outcome, tx);
  const happenings = [
    ...verdicts.map((verdict) => happeningOf(verdict, look)),
    { kind: 'approval_ended', by: 'system', text: ending.text, data: { approvalId: approval.approvalId } },
  ];
  const history = await appendHistory(tx, approval, happenings, now);
  const told = { kind: 'decided', n: 0, to: [approval.startedBy], text: ending.text } as const;
  return [
    ...step,
    ...history,
    ...verdicts.flatMap((verdict) => verdictWrites(verdict)),
    {
      op: 'update',
      path: pathOf(approval),
      data: { ...ending.fields, answered: answeredBy(approval, verdicts), endedAt: now, due: remove },
    },
    { op: 'update', path: paths.run(approval.accountId, approval.runId), data: { pendingApprovals: increment(-1) } },
    ...noticeWrites(approval, members, told, now),
  ];
}

/** The step may begin with what was shown. It is woken like one that waits to be tried again. */
async function permitWrites(runtime: Runtime, held: Held, approval: ApprovalRecord, now: number): Promise<readonly Write[]> {
  const { record } = held;
  const permission = { digest: approval.subject ?? '', approvalId: approval.approvalId };
  await runtime.doorbells.arm(record, now, 0);
  const data = { wait: { kind: 'retry' }, wakeAt: now, due: dueField(record.runId, now), permission };
  return [{ op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime }];
}

function pathOf(approval: ApprovalRecord): string {
  return paths.approval(approval.accountId, approval.approvalId);
}
