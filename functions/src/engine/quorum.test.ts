import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { QuorumRule } from '../model/approval.ts';
import { tally } from './quorum.ts';
import type { Ballot, RejectionPolicy, VotingPanel } from './quorum.ts';

const ballot = (by: string, outcome: string, fields: Partial<Ballot> = {}): Ballot => ({
  by,
  seats: [by],
  groups: [],
  outcome,
  choice: 'x',
  ...fields,
});
const panel = (quorum: QuorumRule, ...seats: string[]): VotingPanel => ({ quorum, seats });
const three = (quorum: QuorumRule): VotingPanel => panel(quorum, 'a', 'b', 'c');
const groups = (min: Readonly<Record<string, number>>): QuorumRule => ({
  groups: Object.entries(min).map(([name, n]) => ({ name, approvers: {}, min: n })),
});

const OUTCOMES = ['approve', 'reject', 'request_changes', 'abstain', 'partly'] as const;

/** Every way in which `n` people vote one after the other, also when only some of them have voted so far. */
function* votings(people: readonly string[], outcomes: readonly string[]): Iterable<Ballot[]> {
  yield [];
  for (const person of people) {
    for (const outcome of outcomes) {
      for (const rest of votings(
        people.filter((other) => other !== person),
        outcomes,
      ))
        yield [ballot(person, outcome), ...rest];
    }
  }
}

/** The rules as a person would tell them, without the code's shortcuts. */
function told(quorum: QuorumRule, rejection: RejectionPolicy, votes: readonly Ballot[]): string {
  const rejecting = votes.filter(({ outcome }) => outcome === 'reject' || outcome === 'request_changes');
  const abstaining = votes.filter(({ outcome }) => outcome === 'abstain');
  if (rejection === 'veto' && rejecting[0] !== undefined) return rejecting[0].outcome;
  const needed = quorum === 'any' ? 1 : quorum === 'all' ? 3 - abstaining.length : 'quorum' in quorum ? quorum.quorum : Infinity;
  const agreed = votes.find(
    ({ outcome }) =>
      (outcome === 'approve' || outcome === 'partly') && votes.filter((vote) => vote.outcome === outcome).length >= Math.max(1, needed),
  );
  if (agreed !== undefined) return agreed.outcome;
  const most =
    rejecting.filter(({ outcome }) => outcome === 'request_changes').length > rejecting.length / 2 ? 'request_changes' : 'reject';
  if (rejection === 'majority' && rejecting.length > (3 - abstaining.length) / 2) return most;
  if (votes.length === 3) return rejecting.length > 0 ? most : 'stuck';
  return 'open';
}

describe('every voting of three people', () => {
  const all = [...votings(['a', 'b', 'c'], OUTCOMES)];
  const rules: QuorumRule[] = ['any', 'all', { quorum: 1 }, { quorum: 2 }, { quorum: 3 }];
  for (const quorum of rules) {
    for (const rejection of ['veto', 'majority', 'collect'] as const) {
      test(`comes to what the rules say: ${JSON.stringify(quorum)}, ${rejection}`, () => {
        expect(all.length).toBe(1 + 15 + 150 + 750);
        for (const votes of all) {
          const result = tally([three(quorum)], rejection, votes);
          const word = result.kind === 'decided' ? result.outcome : result.stuck ? 'stuck' : 'open';
          expect({ votes: votes.map(({ by, outcome }) => `${by}:${outcome}`), word }).toEqual({
            votes: votes.map(({ by, outcome }) => `${by}:${outcome}`),
            word: told(quorum, rejection, votes),
          });
        }
      });
    }
  }

  test('stays decided whatever else is said', () => {
    const shaken = (['majority', 'collect'] as const).flatMap((rejection) =>
      all.filter((votes) => {
        const before = tally([three({ quorum: 2 })], rejection, votes.slice(0, -1));
        return before.kind === 'decided' && tally([three({ quorum: 2 })], rejection, votes).kind !== 'decided';
      }),
    );
    expect(shaken).toEqual([]);
  });

  test('names exactly those who made the outcome', () => {
    for (const votes of all) {
      const result = tally([three({ quorum: 2 })], 'collect', votes);
      if (result.kind !== 'decided') continue;
      expect(result.by.length).toBeGreaterThan(0);
      for (const by of result.by) expect(votes.find((vote) => vote.by === by)?.outcome).toBe(result.outcome);
    }
  });
});

describe('agreement', () => {
  test('needs the same values', () => {
    const votes = [ballot('a', 'approve', { choice: '10' }), ballot('b', 'approve', { choice: '12' })];
    expect(tally([three({ quorum: 2 })], 'veto', votes)).toEqual({ kind: 'open', stuck: false });
    expect(tally([three({ quorum: 2 })], 'veto', [...votes, ballot('c', 'approve', { choice: '12' })])).toEqual({
      kind: 'decided',
      outcome: 'approve',
      choice: '12',
      by: ['b', 'c'],
    });
  });

  test('of different values by everybody is stuck, not decided', () => {
    const votes = ['a', 'b', 'c'].map((by) => ballot(by, 'approve', { choice: by }));
    expect(tally([three({ quorum: 2 })], 'veto', votes)).toEqual({ kind: 'open', stuck: true });
  });

  test('of a person who stands in for all others counts for all of them only under `all`', () => {
    const forAll = [ballot('a', 'approve', { seats: ['a', 'b', 'c'] })];
    expect(tally([three('all')], 'veto', forAll)).toMatchObject({ kind: 'decided' });
    expect(tally([three({ quorum: 2 })], 'veto', forAll)).toMatchObject({ kind: 'open' });
  });

  test('of somebody who also stands in for people elsewhere counts here', () => {
    expect(tally([three('any')], 'veto', [ballot('a', 'approve', { seats: ['a', 'z'] })])).toMatchObject({ kind: 'decided', by: ['a'] });
  });

  test('is refused by the majority of those who do not abstain', () => {
    const five = panel({ quorum: 3 }, 'a', 'b', 'c', 'd', 'e');
    const votes = [ballot('a', 'abstain'), ballot('b', 'reject'), ballot('c', 'reject')];
    expect(tally([five], 'majority', votes)).toEqual({ kind: 'open', stuck: false });
    const decided = { kind: 'decided', outcome: 'reject', choice: '', by: ['b', 'c'] };
    expect(tally([five], 'majority', [...votes, ballot('d', 'abstain')])).toEqual(decided);
  });

  test('of people who are not on the panel does not count', () => {
    expect(tally([three('any')], 'veto', [ballot('z', 'approve'), ballot('y', 'reject')])).toEqual({ kind: 'open', stuck: false });
  });
});

describe('panels', () => {
  test('decide each for itself, and any of them decides', () => {
    const head = panel('any', 'h');
    expect(tally([three('all'), head], 'veto', [ballot('a', 'approve'), ballot('h', 'approve')])).toMatchObject({
      kind: 'decided',
      by: ['h'],
    });
    expect(tally([three('all'), head], 'veto', [ballot('a', 'approve')])).toEqual({ kind: 'open', stuck: false });
  });

  test('are stuck only when each of them is', () => {
    expect(tally([panel('any', 'a'), panel('any', 'h')], 'veto', [ballot('a', 'abstain')])).toEqual({ kind: 'open', stuck: false });
    expect(tally([panel('any', 'a'), panel('any')], 'veto', [ballot('a', 'abstain')])).toEqual({ kind: 'open', stuck: true });
  });

  test('without anybody are stuck', () => {
    for (const rule of ['any', 'all', { quorum: 1 }, groups({ x: 1 })] as const)
      expect(tally([panel(rule)], 'majority', [])).toEqual({ kind: 'open', stuck: true });
  });
});

describe('groups', () => {
  const rule = groups({ finance: 1, legal: 1 });

  test('each need their minimum', () => {
    const finance = ballot('a', 'approve', { groups: ['finance'] });
    expect(tally([three(rule)], 'veto', [finance])).toMatchObject({ kind: 'open' });
    expect(tally([three(rule)], 'veto', [finance, ballot('b', 'approve', { groups: ['finance'] })])).toMatchObject({ kind: 'open' });
    expect(tally([three(rule)], 'veto', [finance, ballot('b', 'approve', { groups: ['legal'] })])).toMatchObject({ kind: 'decided' });
  });

  test('are not both filled by one person who is in both', () => {
    const both = ballot('a', 'approve', { groups: ['finance', 'legal'] });
    expect(tally([three(rule)], 'veto', [both])).toMatchObject({ kind: 'open' });
    expect(tally([three(rule)], 'veto', [both, ballot('b', 'approve', { groups: ['finance'] })])).toMatchObject({ kind: 'decided' });
  });

  test('are filled whenever some way of sharing the votes out fills them', () => {
    const names = ['f', 'l', 'h'];
    const seatMask = fc.array(fc.subarray(names), { maxLength: 5 });
    const minima = fc.record({ f: fc.integer({ min: 1, max: 2 }), l: fc.integer({ min: 1, max: 2 }), h: fc.integer({ min: 1, max: 2 }) });
    fc.assert(
      fc.property(seatMask, minima, (masks, min) => {
        const people = masks.map((_, i) => `p${i}`);
        const votes = masks.map((mask, i) => ballot(`p${i}`, 'approve', { groups: mask }));
        const result = tally([panel(groups(min), ...people, 'late')], 'veto', votes);
        expect(result.kind === 'decided').toBe(shareable(masks, min));
      }),
      { numRuns: 500, seed: 7 },
    );
  });
});

/** Tries every way of letting each vote count for one of its groups. */
function shareable(masks: readonly (readonly string[])[], left: Readonly<Record<string, number>>): boolean {
  if (Object.values(left).every((count) => count <= 0)) return true;
  const [first, ...rest] = masks;
  if (first === undefined) return false;
  return shareable(rest, left) || first.some((group) => shareable(rest, { ...left, [group]: (left[group] ?? 0) - 1 }));
}
