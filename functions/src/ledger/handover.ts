import { z } from 'zod';
import { fits, fitsPanel, mayAct, memberAt, possibleDeciders } from '../engine/eligibility.ts';
import { canStillVote, iso, nameOf } from '../engine/verdict.ts';
import type { Approvers, ApprovalRecord, Panel, QuorumRule } from '../model/approval.ts';
import { KilnError } from '../model/errors.ts';
import { memberRecordSchema } from '../model/member.ts';
import type { MemberRecord } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import { changesOf } from './approval-open.ts';
import { askText, noticeWrites } from './approval-notices.ts';
import { readApproval } from './approval-reading.ts';
import type { Look } from './approval-reading.ts';
import { requestOf } from './approval-verdicts.ts';
import { settleApproval } from './approvals.ts';
import { appendHistory } from './history.ts';
import type { Happening } from './history.ts';
import type { MemberActor } from './members.ts';
import type { Transaction, Write } from './store.ts';

const id = z.string().min(1).max(128);
export const claimInput = z.strictObject({ approvalId: id });
export const reassignInput = z.strictObject({
  approvalId: id,
  to: id,
  /** Whose seat it is. Without it, `to` is asked in addition. */
  from: id.optional(),
  /** Of a request with groups: the group for which `to` is asked in addition. */
  group: z.string().max(200).optional(),
  reason: z.string().trim().min(1).max(500),
});

/** "I take it": the others cannot decide until it is released. */
export async function claimApproval(runtime: Runtime, actor: MemberActor, input: z.input<typeof claimInput>): Promise<void> {
  const { approvalId } = claimInput.parse(input);
  await changeRequest(runtime, actor, approvalId, async ({ look, now }) => {
    const { approval, members } = look;
    if (!approval.claimable) throw new KilnError('request.invalid', 'this request is not one that somebody takes on; just decide');
    if (approval.claimedBy !== undefined && approval.claimedBy !== actor.uid) {
      throw new KilnError('request.invalid', `${nameOf(members, approval.claimedBy)} has taken it on at ${iso(approval.claimedAt ?? now)}`);
    }
    if (!canStillVote(requestOf(look), actor.uid, now, look.accepted))
      throw forbidden('you are not among those who can decide this request');
    const text = `${nameOf(members, actor.uid)} took "${approval.title}" on`;
    return { next: { ...approval, claimedBy: actor.uid, claimedAt: now }, happening: { kind: 'claimed', by: actor.uid, text } };
  });
}

/** Gives a request that was taken on back to all: by the one who took it, an operator or an admin. */
export async function releaseApproval(runtime: Runtime, actor: MemberActor, input: z.input<typeof claimInput>): Promise<void> {
  const { approvalId } = claimInput.parse(input);
  await changeRequest(runtime, actor, approvalId, async ({ look, me }) => {
    const { claimedBy, claimedAt: _claimedAt, ...next } = look.approval;
    if (claimedBy === undefined) throw new KilnError('request.invalid', 'nobody has taken this request on');
    if (claimedBy !== actor.uid && !runs(me)) throw forbidden('only the one who took it on, an operator or an admin can release it');
    const text = `${nameOf(look.members, actor.uid)} released "${next.title}"`;
    return { next, happening: { kind: 'released', by: actor.uid, text } };
  });
}

/**
 * Hands a seat to somebody else, or asks somebody in addition. A person hands over the own seat; operators and admins any. Those
 * who have voted keep their seat, and the four-eyes rule holds for the new one, too.
 */
export async function reassignApproval(runtime: Runtime, actor: MemberActor, input: z.input<typeof reassignInput>): Promise<void> {
  const { approvalId, to, from, group, reason } = reassignInput.parse(input);
  await changeRequest(runtime, actor, approvalId, async ({ look, me, tx, now }) => {
    const { approval, panels } = look;
    if (!runs(me) && from !== actor.uid) throw forbidden('you can hand over your own seat; for others, ask an operator or an admin');
    const members = new Map(look.members);
    const found = (await tx.get([paths.member(approval.accountId, to)])).docs[0];
    if (found !== undefined) members.set(to, memberRecordSchema.parse(found.data));
    const refusal = refusalOf({ look: { ...look, members }, to, from, group, now });
    if (refusal !== undefined) throw new KilnError('request.invalid', refusal);
    const seated = panels.map((panel, position) =>
      from === undefined
        ? position === 0
          ? added(panel, to, group)
          : panel
        : panel.seats.includes(from)
          ? moved(panel, from, to, members.get(from))
          : panel,
    );
    const whose = from === undefined ? '' : ` instead of ${nameOf(members, from)}`;
    const text = `${nameOf(members, actor.uid)} asked ${nameOf(members, to)}${whose} to decide on "${approval.title}": ${reason}`;
    const { claimedBy, claimedAt, ...unclaimed } = approval;
    const next: ApprovalRecord = {
      ...unclaimed,
      ...(claimedBy === undefined || claimedBy === from ? {} : { claimedBy, claimedAt }),
      approvers: JSON.stringify(seated),
      eligible: [...possibleDeciders(seated, members, { from: now, to: approval.deadlineAt }, approval)],
    };
    const notice = { kind: 'handoff', n: now, to: [to], text: `${askText(next)} ${text}.` } as const;
    return {
      next,
      happening: { kind: 'reassigned', by: actor.uid, text, data: { approvalId, to, ...(from === undefined ? {} : { from }) } },
      also: noticeWrites(next, members, notice, now),
    };
  });
  // A seat fewer or more can make the difference: count again.
  await settleApproval(runtime, { accountId: actor.accountId, approvalId });
}

interface Changing {
  readonly look: Look;
  readonly me: MemberRecord;
  readonly tx: Transaction;
  readonly now: number;
}

interface Changed {
  readonly next: ApprovalRecord;
  readonly happening: Happening;
  readonly also?: readonly Write[];
}

async function changeRequest(
  runtime: Runtime,
  actor: MemberActor,
  approvalId: string,
  work: (changing: Changing) => Promise<Changed>,
): Promise<void> {
  await runtime.store.transaction(async (tx) => {
    const look = await readApproval(tx, { accountId: actor.accountId, approvalId });
    const mine = (await tx.get([paths.member(actor.accountId, actor.uid)])).docs[0];
    const me = mine === undefined ? undefined : memberRecordSchema.parse(mine.data);
    if (me?.active !== true) throw forbidden('you are no active member of this account');
    if (look === undefined) throw new KilnError('request.invalid', `there is no request "${approvalId}" in this account`);
    if (look.approval.status !== 'pending') throw new KilnError('request.invalid', 'the request has ended');
    const now = runtime.clock.now();
    const members = new Map([...look.members, [me.uid, me] as const]);
    const { next, happening, also } = await work({ look: { ...look, members }, me, tx, now });
    const history = await appendHistory(tx, look.approval, [happening], now);
    for (const write of [...changesOf(look.approval, next), ...history, ...(also ?? [])]) tx.write(write);
  });
}

function runs(member: MemberRecord): boolean {
  return member.roles.includes('operator') || member.roles.includes('admin');
}

function forbidden(message: string): KilnError {
  return new KilnError('auth.forbidden', message);
}

interface Handover {
  readonly look: Look;
  readonly to: string;
  readonly from: string | undefined;
  readonly group: string | undefined;
  readonly now: number;
}

function refusalOf({ look, to, from, group, now }: Handover): string | undefined {
  const { approval, panels, members, accepted } = look;
  const target = members.get(to);
  if (target?.active !== true) return `"${to}" is no active member of this account`;
  if (!mayAct(to, approval)) return `${nameOf(members, to)} started this run and cannot decide on it (four-eyes rule)`;
  if (panels.some((panel) => panel.seats.includes(to) && fitsPanel(panel, to, memberAt(target, now))))
    return `${nameOf(members, to)} is asked already`;
  if (from === undefined) {
    const rule = panels[0]?.quorum;
    const groups = rule === undefined || typeof rule === 'string' || !('groups' in rule) ? undefined : rule.groups.map(({ name }) => name);
    if (groups === undefined) return group === undefined ? undefined : 'this request has no groups';
    return group !== undefined && groups.includes(group) ? undefined : `say for which group: ${groups.join(', ')}`;
  }
  if (!panels.some((panel) => panel.seats.includes(from))) return `${nameOf(members, from)} is not asked`;
  return accepted.some((verdict) => verdict.seats.includes(from)) ? `${nameOf(members, from)} has decided already` : undefined;
}

/** The rule names the new person from now on, and no longer the one before. */
function moved(panel: Panel, from: string, to: string, before: MemberRecord | undefined): Panel {
  const own = before === undefined || fits(panel.approvers, from, before);
  const swap = (rule: Approvers): Approvers => ({
    ...including(rule, to),
    except: [...(rule.except ?? []).filter((uid) => uid !== to), from],
  });
  const inGroups = (rule: QuorumRule): QuorumRule =>
    typeof rule === 'string' || !('groups' in rule)
      ? rule
      : {
          groups: rule.groups.map((group) =>
            before !== undefined && fits(group.approvers, from, before) ? { ...group, approvers: swap(group.approvers) } : group,
          ),
        };
  const excluded = { ...panel.approvers, except: [...(panel.approvers.except ?? []), from] };
  return {
    approvers: own ? swap(panel.approvers) : excluded,
    quorum: inGroups(panel.quorum),
    seats: [...new Set(panel.seats.map((uid) => (uid === from ? to : uid)))],
  };
}

function added(panel: Panel, to: string, group: string | undefined): Panel {
  const seats = [...new Set([...panel.seats, to])];
  const { quorum } = panel;
  if (group === undefined || typeof quorum === 'string' || !('groups' in quorum))
    return { ...panel, approvers: including(panel.approvers, to), seats };
  const groups = quorum.groups.map((one) => (one.name === group ? { ...one, approvers: including(one.approvers, to) } : one));
  return { ...panel, quorum: { groups }, seats };
}

function including(rule: Approvers, uid: string): Approvers {
  const except = rule.except?.filter((other) => other !== uid);
  return { ...rule, users: [...new Set([...(rule.users ?? []), uid])], ...(except === undefined ? {} : { except }) };
}
