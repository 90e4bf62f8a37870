import { describe, expect, test } from 'vitest';
import type { ApprovalRecord, Panel, VerdictRecord } from '../model/approval.ts';
import { person } from '../testing/person.ts';
import { canStillVote, iso, judge, nameOf, tooLate } from './verdict.ts';
import type { Request, Submitted } from './verdict.ts';

const standsIn = (to: string) => ({ delegation: { to, from: 0, until: 10_000, setBy: 'a' } });

const panel = (seats: string[], quorum: Panel['quorum'] = 'any'): Panel => ({ approvers: { roles: ['approver'] }, quorum, seats });

const fields = {
  digest: 'd1',
  deadlineAt: 5_000,
  requestedAt: 1_000,
  outcomes: ['approve', 'reject', 'request_changes', 'abstain'],
  commentRequired: ['request_changes'],
  fourEyes: true,
  startedBy: 'starter',
  alsoStartedBy: [],
};

/** `a` and `b` sit on a panel; `s` sits on none and stands in for both. */
function request(approval: Partial<ApprovalRecord> = {}, rest: Partial<Request> = {}): Request {
  const people = [person('a', standsIn('s')), person('b', standsIn('s')), person('s', { roles: ['viewer'] }), person('starter')];
  return {
    approval: { ...fields, ...approval } as ApprovalRecord,
    panels: [panel(['a', 'b', 'starter'])],
    members: new Map(people.map((one) => [one.uid, one])),
    intact: true,
    faultOf: (values) => (values === '{}' ? undefined : `the values ${values} do not fit`),
    ...rest,
  };
}

const decision = (uid: string, given: Partial<Submitted['decision']> = {}, createdAt = 2_000): Submitted => ({
  uid,
  createdAt,
  decision: { v: 1, accountId: 'acme', approvalId: 'r', by: uid, outcome: 'approve', digest: 'd1', at: createdAt, ...given },
});

const verdict = (by: string, seats: string[], given: Partial<VerdictRecord> = {}): VerdictRecord =>
  ({ by, name: person(by).name, seats, outcome: 'approve', decidedAt: 1_500, ...given }) as VerdictRecord;

describe('a decision', () => {
  test.each<[string, Request, Submitted, string]>([
    ['in another name', request(), { ...decision('a'), uid: 'b' }, 'the decision names another person than the one who made it'],
    ['at the deadline', request(), decision('a', {}, 5_000), 'the deadline was 1970-01-01 00:00:05 UTC'],
    [
      'on other content',
      request(),
      decision('a', { digest: 'd0' }),
      'it was made on other content than this request shows; look at the request again',
    ],
    [
      'on content that was changed',
      request({}, { intact: false }),
      decision('a'),
      'it was made on other content than this request shows; look at the request again',
    ],
    [
      'on a request that another has taken on',
      request({ claimedBy: 'b', claimedAt: 1_700_000 }),
      decision('a'),
      'B has taken this request on at 1970-01-01 00:28:20 UTC',
    ],
    [
      'on a request that another has taken on, nobody knows when',
      request({ claimedBy: 'b' }),
      decision('a'),
      'B has taken this request on at 1970-01-01 00:00:01 UTC',
    ],
    [
      'with an outcome that was not offered',
      request(),
      decision('a', { outcome: 'maybe' }),
      '"maybe" is not among the outcomes approve, reject, request_changes, abstain',
    ],
    ['without the comment it needs', request(), decision('a', { outcome: 'request_changes' }), '"request_changes" needs a comment'],
    [
      'with an empty comment',
      request(),
      decision('a', { outcome: 'request_changes', comment: ' \n' }),
      '"request_changes" needs a comment',
    ],
    ['with corrections that nobody asked for', request(), decision('a', { values: '{}' }), 'this request takes no corrections'],
    ['with corrections that do not fit', request({ form: '{}' }), decision('a', { values: '[]' }), 'the values [] do not fit'],
    [
      'for values that have to be corrected first',
      request({ form: '{}' }, { faultOfShown: 'the amount is missing' }),
      decision('a'),
      'the amount is missing',
    ],
    ['of somebody who was not asked', request(), decision('x'), 'you are not a member of this account'],
    [
      'of who started the run',
      request(),
      decision('starter'),
      'you started this run, and who starts it does not decide on it (four-eyes rule)',
    ],
  ])('%s does not count', (_name, asked, submitted, reason) => {
    expect(judge(asked, submitted, [])).toEqual({ accepted: false, reason });
  });

  test.each<[string, Request, Submitted]>([
    ['a moment before the deadline', request(), decision('a', {}, 4_999)],
    ['on a request that its maker has taken on', request({ claimedBy: 'a' }), decision('a')],
    ['with the comment it needs', request(), decision('a', { outcome: 'request_changes', comment: 'the sum' })],
    ['with corrections that fit', request({ form: '{}' }), decision('a', { values: '{}' })],
    ['with corrections, of values that were wrong', request({ form: '{}' }, { faultOfShown: 'wrong' }), decision('a', { values: '{}' })],
    ['that rejects values that are wrong', request({}, { faultOfShown: 'wrong' }), decision('a', { outcome: 'reject' })],
  ])('%s counts', (_name, asked, submitted) => {
    expect(judge(asked, submitted, [])).toEqual({ accepted: true, seats: ['a'] });
  });
});

describe('a seat', () => {
  const all = request({}, { panels: [panel(['a', 'b'], 'all')] });
  const both = request({}, { panels: [panel(['a', 'b'])] });

  test('is taken by its holder, not also by those whom the holder stands in for', () => {
    const asked = request({}, { members: new Map([person('a'), person('b', standsIn('a'))].map((one) => [one.uid, one])) });
    expect(judge(asked, decision('a'), [])).toEqual({ accepted: true, seats: ['a'] });
    const everybody = { ...asked, panels: [panel(['a', 'b'], 'all')] };
    expect(judge(everybody, decision('a'), [])).toEqual({ accepted: true, seats: ['a', 'b'] });
    expect(judge(everybody, decision('a'), [verdict('b', ['b'])])).toEqual({ accepted: true, seats: ['a'] });
  });

  test('is one where anybody may decide, and each one where all must: for who stands in for several', () => {
    expect(judge(both, decision('s'), [])).toEqual({ accepted: true, seats: ['a'] });
    expect(judge(all, decision('s'), [])).toEqual({ accepted: true, seats: ['a', 'b'] });
    const two = request({}, { panels: [panel(['a']), panel(['b'], 'all')] });
    expect(judge(two, decision('s'), [])).toEqual({ accepted: true, seats: ['a', 'b'] });
    const reverse = request({}, { panels: [panel(['b']), panel(['a'], 'all')] });
    expect(judge(reverse, decision('s'), [])).toEqual({ accepted: true, seats: ['a'] });
  });

  test('that has spoken is left out for who stands in', () => {
    expect(judge(both, decision('s'), [verdict('a', ['a'])])).toEqual({ accepted: true, seats: ['b'] });
    expect(judge(all, decision('s'), [verdict('b', ['b'])])).toEqual({ accepted: true, seats: ['a'] });
  });

  test('is lost to who stood in', () => {
    expect(judge(both, decision('a'), [verdict('s', ['a'], { outcome: 'reject' })])).toEqual({
      accepted: false,
      reason: 'S stood in for you and decided (reject) at 1970-01-01 00:00:01 UTC',
    });
  });

  test('that has spoken leaves nothing to decide for who stands in', () => {
    expect(judge(both, decision('s'), [verdict('a', ['a', 'b'])])).toEqual({
      accepted: false,
      reason: 'A, for whom you stand in, is already spoken for by A at 1970-01-01 00:00:01 UTC',
    });
  });

  test('is open to a reminder until its holder has decided, or lost it', () => {
    expect(canStillVote(both, 'a', 2_000, [])).toBe(true);
    expect(canStillVote(both, 'a', 2_000, [verdict('a', [])])).toBe(false);
    expect(canStillVote(both, 'a', 2_000, [verdict('s', ['a'])])).toBe(false);
    expect(canStillVote(both, 'b', 2_000, [verdict('a', ['a'])])).toBe(true);
    expect(canStillVote(both, 'x', 2_000, [])).toBe(false);
  });
});

test.each<[Parameters<typeof tooLate>[0], string]>([
  [{ status: 'pending', deadlineAt: 0 }, 'the request is still open'],
  [
    { status: 'decided', outcome: 'approve', decidedBy: ['a'], decidedByNames: ['Ada', 'Bo'], endedAt: 9_000, deadlineAt: 0 },
    'already decided by Ada, Bo (approve) at 1970-01-01 00:00:09 UTC',
  ],
  [{ status: 'decided', outcome: 'approve', decidedBy: ['a'], deadlineAt: 0 }, 'already decided by a (approve) at 1970-01-01 00:00:00 UTC'],
  [{ status: 'decided', outcome: 'approve', deadlineAt: 0 }, 'already decided (approve) at 1970-01-01 00:00:00 UTC'],
  [{ status: 'expired', deadlineAt: 7_000 }, 'the deadline passed at 1970-01-01 00:00:07 UTC'],
  [
    { status: 'expired', outcome: 'reject', deadlineAt: 7_000 },
    'the deadline passed at 1970-01-01 00:00:07 UTC; what was set for that case: reject',
  ],
  [{ status: 'cancelled', deadlineAt: 7_000 }, 'the request was withdrawn at 1970-01-01 00:00:07 UTC, because its step had ended'],
])('a decision on a request that has ended: %j', (ended, words) => {
  expect(tooLate(ended)).toBe(words);
});

test('a person is called by name, else by address, else by id', () => {
  const people = new Map([['a', { name: 'Ada', email: 'a@x.example' }] as const, ['b', { name: '', email: 'b@x.example' }] as const]);
  expect(['a', 'b', 'c'].map((uid) => nameOf(people, uid))).toEqual(['Ada', 'b@x.example', 'c']);
  expect(iso(Date.UTC(2026, 10, 27, 16, 0, 0, 999))).toBe('2026-11-27 16:00:00 UTC');
});
