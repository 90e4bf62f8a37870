import { ABSTAIN, rejectingOutcomes } from '../model/approval.ts';
import type { QuorumRule } from '../model/approval.ts';

/** A decision that counts. */
export interface Ballot {
  readonly by: string;
  /** Whose votes it is; a seat is voted for once. */
  readonly seats: readonly string[];
  /** Groups that it may count for; it counts for one of them. */
  readonly groups: readonly string[];
  readonly outcome: string;
  /** What was agreed to: the digest of the values. Only those who agree to the same count together. */
  readonly choice: string;
}

export interface VotingPanel {
  readonly quorum: QuorumRule;
  /** Seats whose holders still fit, and those that have voted. */
  readonly seats: readonly string[];
}

export type RejectionPolicy = 'veto' | 'majority' | 'collect';

export type Tally =
  /** `stuck`: everybody has answered and still nothing is reached; only new people or the deadline can end it. */
  | { readonly kind: 'open'; readonly stuck: boolean }
  | { readonly kind: 'decided'; readonly outcome: string; readonly choice: string; readonly by: readonly string[] };

const OPEN: Tally = { kind: 'open', stuck: false };

/**
 * What the ballots, in the order they were made, come to. Any panel decides. The rules, in this order for each panel:
 * 1. `veto`: the first rejection decides.
 * 2. An agreeing outcome decides when those who chose it, with the same values, reach the panel's rule.
 * 3. `majority`: a rejection decides when more than half of the seats that did not abstain reject.
 * 4. When every seat has voted: any rejection decides (the commoner kind of it), otherwise the panel is stuck.
 */
export function tally(panels: readonly VotingPanel[], rejection: RejectionPolicy, ballots: readonly Ballot[]): Tally {
  const results = panels.map((panel) => tallyPanel(panel, rejection, ballots));
  const decided = results.find((result) => result.kind === 'decided');
  if (decided !== undefined) return decided;
  return { kind: 'open', stuck: results.every((result) => result.kind === 'open' && result.stuck) };
}

function tallyPanel(panel: VotingPanel, rejection: RejectionPolicy, ballots: readonly Ballot[]): Tally {
  const votes = ballots.filter((ballot) => ballot.seats.some((seat) => panel.seats.includes(seat)));
  const rejections = votes.filter((vote) => rejectingOutcomes.has(vote.outcome));
  if (rejection === 'veto' && rejections.length > 0) return rejected(rejections.slice(0, 1));
  for (const like of agreements(votes)) {
    if (reaches(panel, like, votes))
      return { kind: 'decided', outcome: like[0].outcome, choice: like[0].choice, by: like.map(({ by }) => by) };
  }
  const abstained = seatsIn(
    panel,
    votes.filter((vote) => vote.outcome === ABSTAIN),
  );
  if (rejection === 'majority' && seatsIn(panel, rejections) * 2 > panel.seats.length - abstained) return rejected(rejections);
  if (seatsIn(panel, votes) < panel.seats.length) return OPEN;
  return rejections.length > 0 ? rejected(rejections) : { kind: 'open', stuck: true };
}

/** Agreeing votes, grouped by what they agree to, in the order in which each was first chosen. */
function agreements(votes: readonly Ballot[]): Iterable<[Ballot, ...Ballot[]]> {
  const groups = new Map<string, [Ballot, ...Ballot[]]>();
  for (const vote of votes) {
    if (vote.outcome === ABSTAIN || rejectingOutcomes.has(vote.outcome)) continue;
    const key = JSON.stringify([vote.outcome, vote.choice]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [vote]);
    else group.push(vote);
  }
  return groups.values();
}

function reaches(panel: VotingPanel, like: readonly Ballot[], votes: readonly Ballot[]): boolean {
  const { quorum } = panel;
  if (quorum === 'any') return true;
  if (quorum === 'all') {
    const abstentions = votes.filter((vote) => vote.outcome === ABSTAIN);
    return seatsIn(panel, [...like, ...abstentions]) === panel.seats.length;
  }
  if ('quorum' in quorum) return like.length >= quorum.quorum;
  return fillsGroups(quorum.groups, like);
}

function seatsIn(panel: VotingPanel, votes: readonly Ballot[]): number {
  const voted = new Set(votes.flatMap((vote) => vote.seats));
  return panel.seats.filter((seat) => voted.has(seat)).length;
}

function rejected(rejections: readonly Ballot[]): Tally {
  const changes = rejections.filter((vote) => vote.outcome === 'request_changes').length;
  const outcome = changes * 2 > rejections.length ? 'request_changes' : 'reject';
  const by = rejections.filter((vote) => vote.outcome === outcome).map((vote) => vote.by);
  return { kind: 'decided', outcome, choice: '', by };
}

/**
 * Whether every group has its minimum when each ballot counts for one group only: somebody who is in finance and in legal does
 * not sign for both. A matching of places to ballots, found by augmenting paths.
 */
function fillsGroups(groups: readonly { readonly name: string; readonly min: number }[], ballots: readonly Ballot[]): boolean {
  const places = groups.flatMap((group) => Array.from({ length: group.min }, () => group.name));
  if (places.length > ballots.length) return false;
  const placeOf = new Map<number, number>();
  const seat = (place: number, tried: Set<number>): boolean => {
    for (const [position, ballot] of ballots.entries()) {
      if (tried.has(position) || !ballot.groups.includes(places[place] ?? '')) continue;
      tried.add(position);
      const before = placeOf.get(position);
      if (before === undefined || seat(before, tried)) {
        placeOf.set(position, place);
        return true;
      }
    }
    return false;
  };
  return places.every((_, place) => seat(place, new Set()));
}
