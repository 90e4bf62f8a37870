/** What the page says about the reader's own part in a request. Pure: everything it depends on is handed in. */
import type { ApprovalRecord, DecisionRecord, Panel, QuorumRule, VerdictRecord } from '@model/approval.ts';
import { rejectingOutcomes } from '@model/approval.ts';
import type { MemberRecord } from '@model/member.ts';

export type Standing =
  /** The reader may decide now. */
  | { readonly kind: 'open' }
  /** Written here, not yet taken by the server. It does not count. */
  | { readonly kind: 'sending'; readonly outcome: string }
  /** The server has it; the engine has not judged it yet. */
  | { readonly kind: 'received'; readonly outcome: string }
  | { readonly kind: 'accepted'; readonly outcome: string; readonly at: number }
  /** It lies in the record but does not count; `reason` is the engine's sentence. */
  | { readonly kind: 'refused'; readonly outcome: string; readonly reason: string }
  /** The server did not take it, for example because the request had ended. */
  | { readonly kind: 'turned_away'; readonly outcome: string }
  | { readonly kind: 'ended' }
  | { readonly kind: 'taken'; readonly by: string }
  /** The deadline is over, and the engine has not yet said what follows. */
  | { readonly kind: 'late' }
  | { readonly kind: 'not_asked' };

export interface Own {
  readonly uid: string;
  readonly decision: { readonly value: DecisionRecord; readonly pending: boolean } | undefined;
  readonly verdict: VerdictRecord | undefined;
  /** What this browser tried to send, until the server has answered. */
  readonly attempt: { readonly outcome: string; readonly turnedAway: boolean } | undefined;
}

export function standingOf(approval: ApprovalRecord, own: Own, now: number): Standing {
  const { decision, verdict, attempt } = own;
  if (verdict !== undefined) {
    if (verdict.accepted) return { kind: 'accepted', outcome: verdict.outcome, at: verdict.decidedAt };
    return { kind: 'refused', outcome: verdict.outcome, reason: verdict.reason ?? '' };
  }
  if (decision !== undefined) return { kind: decision.pending ? 'sending' : 'received', outcome: decision.value.outcome };
  if (attempt !== undefined) return { kind: attempt.turnedAway ? 'turned_away' : 'sending', outcome: attempt.outcome };
  if (approval.status !== 'pending') return { kind: 'ended' };
  if (!approval.eligible.includes(own.uid)) return { kind: 'not_asked' };
  if (approval.claimedBy !== undefined && approval.claimedBy !== own.uid) return { kind: 'taken', by: approval.claimedBy };
  if (now >= approval.deadlineAt) return { kind: 'late' };
  return { kind: 'open' };
}

/** After being turned away the reader may try again while the request is open. */
export function mayDecide(standing: Standing, approval: ApprovalRecord): boolean {
  return standing.kind === 'open' || (standing.kind === 'turned_away' && approval.status === 'pending');
}

export interface Progress {
  readonly agreed: number;
  readonly needed: number;
  /** Present when each group needs its own. */
  readonly groups?: readonly { readonly name: string; readonly min: number }[];
}

/** How many have agreed, of how many that are needed, on the first panel. */
export function progressOf(quorum: QuorumRule, panels: readonly Panel[], verdicts: readonly VerdictRecord[]): Progress {
  const agreeing = verdicts.filter(
    (verdict) => verdict.accepted && !rejectingOutcomes.has(verdict.outcome) && verdict.outcome !== 'abstain',
  );
  const seats = panels[0]?.seats ?? [];
  const taken = new Set(agreeing.flatMap((verdict) => verdict.seats));
  if (quorum === 'any') return { agreed: Math.min(1, agreeing.length), needed: 1 };
  if (quorum === 'all') return { agreed: seats.filter((seat) => taken.has(seat)).length, needed: seats.length };
  if ('quorum' in quorum) return { agreed: agreeing.length, needed: quorum.quorum };
  const groups = quorum.groups.map(({ name, min }) => ({ name, min }));
  return { agreed: agreeing.length, needed: groups.reduce((sum, group) => sum + group.min, 0), groups };
}

export function hasSeat(panels: readonly Panel[], uid: string): boolean {
  return panels.some(({ seats }) => seats.includes(uid));
}

/** Whose place the reader takes: holders of seats who have somebody stand in for them now. */
export function standsInFor(panels: readonly Panel[], uid: string, members: readonly MemberRecord[], now: number): readonly string[] {
  return members.flatMap((member) => {
    const { delegation } = member;
    const away = delegation?.to === uid && delegation.from <= now && now < delegation.until;
    return away && hasSeat(panels, member.uid) ? [member.uid] : [];
  });
}

/** Seats whose holders have not voted: these can still go to somebody else. */
export function seatsToHandOver(panels: readonly Panel[], verdicts: readonly VerdictRecord[]): readonly string[] {
  const voted = new Set(verdicts.flatMap(({ accepted, seats }) => (accepted ? seats : [])));
  return [...new Set(panels.flatMap(({ seats }) => seats))].filter((uid) => !voted.has(uid));
}

/** How pressing a request is, by its deadline. */
export function urgencyOf(deadlineAt: number, now: number): 'late' | 'soon' | 'today' | 'later' {
  const left = deadlineAt - now;
  if (left <= 0) return 'late';
  if (left <= 2 * 3_600_000) return 'soon';
  return left <= 24 * 3_600_000 ? 'today' : 'later';
}
