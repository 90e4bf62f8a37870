import { describe, expect, test } from 'vitest';
import type { ApprovalRecord, DecisionRecord, VerdictRecord } from '@model/approval.ts';
import type { MemberRecord } from '@model/member.ts';
import { hasSeat, mayDecide, progressOf, seatsToHandOver, standingOf, standsInFor, urgencyOf, type Own } from './standing.ts';

const approval = {
  v: 2,
  accountId: 'acme',
  approvalId: 'a1',
  runId: 'r1',
  stepKey: 'release',
  workflowId: 'invoice',
  status: 'pending',
  title: 'Pay',
  shown: { size: 2, digest: 'd'.repeat(64), json: '{}' },
  digest: 'd'.repeat(64),
  eligible: ['me', 'ada'],
  approvers: '[]',
  quorum: '"any"',
  rejection: 'veto',
  fourEyes: true,
  startedBy: 'ben',
  onReject: 'exception',
  outcomes: ['approve', 'reject'],
  commentRequired: ['reject'],
  claimable: true,
  requestedAt: 1_000,
  deadlineAt: 100_000,
  onDeadline: 'reject',
  schedule: '{}',
  level: 0,
} as ApprovalRecord;
const decision: DecisionRecord = {
  v: 1,
  accountId: 'acme',
  approvalId: 'a1',
  by: 'me',
  outcome: 'approve',
  digest: approval.digest,
  at: null,
};
const verdict: VerdictRecord = {
  v: 1,
  accountId: 'acme',
  approvalId: 'a1',
  by: 'me',
  name: 'Me',
  outcome: 'approve',
  seats: ['me'],
  accepted: true,
  decidedAt: 5_000,
  at: 5_100,
};
const nothing: Own = { uid: 'me', decision: undefined, verdict: undefined, attempt: undefined };

describe('the reader’s own part', () => {
  test('is open for those who were asked, and only until the deadline', () => {
    expect(standingOf(approval, nothing, 50_000)).toEqual({ kind: 'open' });
    expect(standingOf(approval, nothing, 100_000)).toEqual({ kind: 'late' });
    expect(standingOf(approval, { ...nothing, uid: 'eve' }, 50_000)).toEqual({ kind: 'not_asked' });
    expect(standingOf({ ...approval, claimedBy: 'ada' }, nothing, 50_000)).toEqual({ kind: 'taken', by: 'ada' });
    expect(standingOf({ ...approval, status: 'decided' }, nothing, 50_000)).toEqual({ kind: 'ended' });
  });

  test('is never shown as done before the engine has accepted it', () => {
    const attempt = { outcome: 'approve', turnedAway: false };
    expect(standingOf(approval, { ...nothing, attempt }, 1).kind).toBe('sending');
    expect(standingOf(approval, { ...nothing, attempt, decision: { value: decision, pending: true } }, 1).kind).toBe('sending');
    expect(standingOf(approval, { ...nothing, decision: { value: decision, pending: false } }, 1).kind).toBe('received');
    expect(standingOf(approval, { ...nothing, decision: { value: decision, pending: false }, verdict }, 1)).toEqual({
      kind: 'accepted',
      outcome: 'approve',
      at: 5_000,
    });
  });

  test('A5 a decision that came second is refused with the engine’s sentence', () => {
    const late = { ...verdict, accepted: false, reason: 'already decided by Ada (reject)' };
    const standing = standingOf(
      { ...approval, status: 'decided' },
      { ...nothing, decision: { value: decision, pending: false }, verdict: late },
      1,
    );
    expect(standing).toEqual({ kind: 'refused', outcome: 'approve', reason: 'already decided by Ada (reject)' });
    expect(mayDecide(standing, approval)).toBe(false);
  });

  test('A6 a decision that the server turned away can be tried again only while the request is open', () => {
    const standing = standingOf(approval, { ...nothing, attempt: { outcome: 'approve', turnedAway: true } }, 1);
    expect(standing.kind).toBe('turned_away');
    expect(mayDecide(standing, approval)).toBe(true);
    expect(mayDecide(standing, { ...approval, status: 'expired' })).toBe(false);
  });
});

test('progress counts agreement by each rule; rejections, abstentions and refused decisions do not count', () => {
  const panel = { approvers: {}, quorum: 'all' as const, seats: ['me', 'ada', 'bob'] };
  const others: VerdictRecord[] = [
    verdict,
    { ...verdict, by: 'ada', outcome: 'reject', seats: ['ada'] },
    { ...verdict, by: 'bob', outcome: 'abstain', seats: ['bob'] },
    { ...verdict, by: 'eve', accepted: false, seats: [] },
  ];
  expect(progressOf('any', [panel], [])).toEqual({ agreed: 0, needed: 1 });
  expect(progressOf('all', [panel], others)).toEqual({ agreed: 1, needed: 3 });
  expect(progressOf({ quorum: 2 }, [panel], others)).toEqual({ agreed: 1, needed: 2 });
  expect(
    progressOf(
      {
        groups: [
          { name: 'finance', approvers: {}, min: 1 },
          { name: 'legal', approvers: {}, min: 2 },
        ],
      },
      [panel],
      others,
    ),
  ).toMatchObject({ agreed: 1, needed: 3 });
});

test('seats of those who have voted stay with them', () => {
  const panels = [
    { approvers: {}, quorum: 'all' as const, seats: ['me', 'ada'] },
    { approvers: {}, quorum: 'any' as const, seats: ['ada', 'boss'] },
  ];
  const counted: VerdictRecord = { ...verdict, by: 'me', accepted: true, seats: ['me'] };
  const refused: VerdictRecord = { ...verdict, by: 'ada', accepted: false, seats: ['ada'] };
  expect(seatsToHandOver(panels, [counted, refused])).toEqual(['ada', 'boss']);
});

test('a stand-in reads whose place it is, while the delegation lasts and only of those who are asked', () => {
  const panels = [{ approvers: {}, quorum: 'any' as const, seats: ['ada'] }];
  const away = (uid: string): MemberRecord => ({
    v: 1,
    accountId: 'acme',
    uid,
    email: '',
    name: uid,
    roles: ['approver'],
    departments: [],
    active: true,
    updatedAt: 0,
    updatedBy: 'system',
    delegation: { to: 'me', from: 100, until: 200, setBy: uid },
  });
  const members = [away('ada'), away('not-asked')];
  expect(standsInFor(panels, 'me', members, 150)).toEqual(['ada']);
  expect(standsInFor(panels, 'me', members, 99)).toEqual([]);
  expect(standsInFor(panels, 'me', members, 200)).toEqual([]);
  expect(standsInFor(panels, 'other', members, 150)).toEqual([]);
  expect([hasSeat(panels, 'ada'), hasSeat(panels, 'me')]).toEqual([true, false]);
});

test('urgency follows the deadline', () => {
  expect([0, 3_600_000, 20 * 3_600_000, 48 * 3_600_000].map((left) => urgencyOf(left, 0))).toEqual(['late', 'soon', 'today', 'later']);
});
