import { rejectingOutcomes } from '../model/approval.ts';
import type { ApprovalRecord, DecisionRecord, Panel, VerdictRecord } from '../model/approval.ts';
import type { MemberRecord } from '../model/member.ts';
import { authorityOf } from './eligibility.ts';

/** A decision as it lies in the database. */
export interface Submitted {
  /** The id of its document: its maker, by the rules. */
  readonly uid: string;
  readonly decision: DecisionRecord;
  /** Server time of its creation, ms. */
  readonly createdAt: number;
}

/** A request as the engine holds it while it judges. */
export interface Request {
  readonly approval: ApprovalRecord;
  readonly panels: readonly Panel[];
  readonly members: ReadonlyMap<string, MemberRecord>;
  /** What was shown still is what its digest says. */
  readonly intact: boolean;
  /** What is wrong with edited values; undefined when they fit the form. */
  readonly faultOf: (values: string) => string | undefined;
  /** What is wrong with the values as they were shown, where they are there to be corrected. */
  readonly faultOfShown?: string | undefined;
}

export type Judgement =
  { readonly accepted: true; readonly seats: readonly string[] } | { readonly accepted: false; readonly reason: string };

/** Whether a decision on a pending request counts, and for whose seats. Each reason is a sentence for its maker. */
export function judge(request: Request, submitted: Submitted, accepted: readonly VerdictRecord[]): Judgement {
  const reason = faultOfForm(request, submitted);
  if (reason !== undefined) return { accepted: false, reason };
  return seatsTaken(request, submitted.uid, submitted.createdAt, accepted);
}

/** Whether the person could still decide something at that time: whom a reminder is for. */
export function canStillVote(request: Request, uid: string, at: number, accepted: readonly VerdictRecord[]): boolean {
  return !accepted.some((verdict) => verdict.by === uid) && seatsTaken(request, uid, at, accepted).accepted;
}

function faultOfForm(
  { approval, intact, faultOf, faultOfShown, members }: Request,
  { uid, decision, createdAt }: Submitted,
): string | undefined {
  if (decision.by !== uid) return 'the decision names another person than the one who made it';
  if (createdAt >= approval.deadlineAt) return `the deadline was ${iso(approval.deadlineAt)}`;
  if (!intact || decision.digest !== approval.digest)
    return 'it was made on other content than this request shows; look at the request again';
  if (approval.claimedBy !== undefined && approval.claimedBy !== uid) {
    return `${nameOf(members, approval.claimedBy)} has taken this request on at ${iso(approval.claimedAt ?? approval.requestedAt)}`;
  }
  if (!approval.outcomes.includes(decision.outcome))
    return `"${decision.outcome}" is not among the outcomes ${approval.outcomes.join(', ')}`;
  if (approval.commentRequired.includes(decision.outcome) && (decision.comment ?? '').trim() === '')
    return `"${decision.outcome}" needs a comment`;
  if (decision.values === undefined) return rejectingOutcomes.has(decision.outcome) ? undefined : faultOfShown;
  return approval.form === undefined ? 'this request takes no corrections' : faultOf(decision.values);
}

/** One vote for each seat, and the first one stands: the holder's own, or that of somebody who stood in. */
function seatsTaken({ approval, panels, members }: Request, uid: string, at: number, accepted: readonly VerdictRecord[]): Judgement {
  const authority = authorityOf(uid, panels, members, at, approval);
  if (authority.kind === 'none') return { accepted: false, reason: authority.reason };
  const takenBy = new Map(accepted.flatMap((verdict) => verdict.seats.map((seat) => [seat, verdict] as const)));
  const free = authority.others.filter((seat) => !takenBy.has(seat));
  const ofAll = free.filter((seat) => panels.some((panel) => panel.quorum === 'all' && panel.seats.includes(seat)));
  if (authority.own) {
    const before = takenBy.get(uid);
    if (before !== undefined)
      return { accepted: false, reason: `${before.name} stood in for you and decided (${before.outcome}) at ${iso(before.decidedAt)}` };
    return { accepted: true, seats: [uid, ...ofAll] };
  }
  const first = free[0];
  if (first === undefined) {
    const whose = authority.others[0] ?? '';
    const before = takenBy.get(whose);
    return {
      accepted: false,
      reason: `${nameOf(members, whose)}, for whom you stand in, is already spoken for${before === undefined ? '' : ` by ${before.name} at ${iso(before.decidedAt)}`}`,
    };
  }
  return { accepted: true, seats: [...new Set([first, ...ofAll])] };
}

/** Why a decision on a request that has ended does not count. */
export function tooLate(
  approval: Pick<ApprovalRecord, 'status' | 'outcome' | 'decidedBy' | 'decidedByNames' | 'endedAt' | 'deadlineAt'>,
): string {
  const at = iso(approval.endedAt ?? approval.deadlineAt);
  switch (approval.status) {
    case 'pending':
      return 'the request is still open';
    case 'decided': {
      const names = approval.decidedByNames ?? approval.decidedBy ?? [];
      return `already decided${names.length === 0 ? '' : ` by ${names.join(', ')}`} (${approval.outcome ?? ''}) at ${at}`;
    }
    case 'expired':
      return `the deadline passed at ${at}${approval.outcome === undefined ? '' : `; what was set for that case: ${approval.outcome}`}`;
    case 'cancelled':
      return `the request was withdrawn at ${at}, because its step had ended`;
  }
}

export function nameOf(members: ReadonlyMap<string, Pick<MemberRecord, 'name' | 'email'>>, uid: string): string {
  const member = members.get(uid);
  if (member === undefined) return uid;
  return member.name === '' ? member.email : member.name;
}

/** UTC, to the second: "2026-11-27 16:00:00 UTC". */
export function iso(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
