import type { Approvers, Panel, QuorumRule } from '../model/approval.ts';
import type { MemberRecord, PastMember } from '../model/member.ts';

/** A member as of one time. */
export type MemberState = Omit<PastMember, 'until'>;

/** What the member was at that time: now, or before a later change. */
export function memberAt(member: MemberRecord, at: number): MemberState {
  const states = (member.past ?? []).filter(({ until }) => until > at);
  return states.reduce<MemberState & { until?: number }>(
    (earliest, state) => (state.until < (earliest.until ?? Infinity) ? state : earliest),
    member,
  );
}

/** Whether the rule names the member. A rule that names nobody fits nobody. */
export function fits(approvers: Approvers, uid: string, member: MemberState): boolean {
  if (!member.active || approvers.except?.includes(uid) === true) return false;
  return (
    approvers.users?.includes(uid) === true ||
    approvers.roles?.some((role) => (member.roles as readonly string[]).includes(role)) === true ||
    approvers.departments?.some((department) => member.departments.includes(department)) === true
  );
}

/** The groups of the rule that the member belongs to, when the rule has groups. */
export function groupsOf(quorum: QuorumRule, uid: string, member: MemberState): readonly string[] {
  if (typeof quorum === 'string' || !('groups' in quorum)) return [];
  return quorum.groups.filter((group) => fits(group.approvers, uid, member)).map((group) => group.name);
}

/** Whether the member may sit on the panel: named by it, or by one of its groups. */
export function fitsPanel(panel: Pick<Panel, 'approvers' | 'quorum'>, uid: string, member: MemberState): boolean {
  return fits(panel.approvers, uid, member) || groupsOf(panel.quorum, uid, member).length > 0;
}

export interface FourEyes {
  readonly fourEyes: boolean;
  readonly startedBy: string;
  readonly alsoStartedBy: readonly string[];
}

/** The seats of a panel that is asked now, in a fixed order. */
export function seatsOf(
  panel: Pick<Panel, 'approvers' | 'quorum'>,
  members: readonly MemberRecord[],
  at: number,
  rule: FourEyes,
): readonly string[] {
  return members
    .filter((member) => mayAct(member.uid, rule) && fitsPanel(panel, member.uid, memberAt(member, at)))
    .map((member) => member.uid)
    .sort();
}

/** Who starts a thing does not decide on it. */
export function mayAct(uid: string, { fourEyes, startedBy, alsoStartedBy }: FourEyes): boolean {
  return !fourEyes || (uid !== startedBy && !alsoStartedBy.includes(uid));
}

/** The person who stands in for the member at that time. */
export function standInOf(member: MemberState, at: number): string | undefined {
  const { delegation } = member;
  return delegation !== undefined && delegation.from <= at && at < delegation.until ? delegation.to : undefined;
}

/**
 * Everybody who can come to decide until the deadline: the seats, and those who stand in for them at any time until then. A
 * stand-in of a stand-in does not count.
 */
export function possibleDeciders(
  panels: readonly Panel[],
  members: ReadonlyMap<string, MemberRecord>,
  until: { readonly from: number; readonly to: number },
  rule: FourEyes,
): readonly string[] {
  const found = new Set<string>();
  for (const { uid, member } of validSeats(panels, members, until.from)) {
    found.add(uid);
    const { delegation } = member;
    if (delegation === undefined || delegation.until <= until.from || delegation.from >= until.to) continue;
    if (members.get(delegation.to)?.active === true && mayAct(delegation.to, rule)) found.add(delegation.to);
  }
  return [...found].sort();
}

/** Those who can decide at this very time. */
export function presentDeciders(
  panels: readonly Panel[],
  members: ReadonlyMap<string, MemberRecord>,
  at: number,
  rule: FourEyes,
): readonly string[] {
  return possibleDeciders(panels, members, { from: at, to: at + 1 }, rule);
}

/** The seats whose holders still fit. */
export function* validSeats(
  panels: readonly Panel[],
  members: ReadonlyMap<string, MemberRecord>,
  at: number,
): Iterable<{ panel: Panel; uid: string; member: MemberState }> {
  for (const panel of panels) {
    for (const uid of panel.seats) {
      const record = members.get(uid);
      if (record === undefined) continue;
      const member = memberAt(record, at);
      if (fitsPanel(panel, uid, member)) yield { panel, uid, member };
    }
  }
}

export type Authority =
  | { readonly kind: 'none'; readonly reason: string }
  /** `own`: the person sits on a panel. `others`: those for whom the person stands in. */
  | { readonly kind: 'may'; readonly own: boolean; readonly others: readonly string[] };

/** Whether somebody could decide at that time, and for whom. */
export function authorityOf(
  decider: string,
  panels: readonly Panel[],
  members: ReadonlyMap<string, MemberRecord>,
  at: number,
  rule: FourEyes,
): Authority {
  const record = members.get(decider);
  if (record === undefined) return { kind: 'none', reason: 'you are not a member of this account' };
  if (!memberAt(record, at).active) return { kind: 'none', reason: 'your membership had ended' };
  if (!mayAct(decider, rule))
    return { kind: 'none', reason: 'you started this run, and who starts it does not decide on it (four-eyes rule)' };
  const seats = [...validSeats(panels, members, at)];
  const own = seats.some(({ uid }) => uid === decider);
  const others = [
    ...new Set(seats.filter(({ uid, member }) => uid !== decider && standInOf(member, at) === decider).map(({ uid }) => uid)),
  ].sort();
  if (own || others.length > 0) return { kind: 'may', own, others };
  const seated = panels.some((panel) => panel.seats.includes(decider));
  return {
    kind: 'none',
    reason: seated ? 'you no longer have the role or department that this request asks for' : 'you are not among those who were asked',
  };
}
