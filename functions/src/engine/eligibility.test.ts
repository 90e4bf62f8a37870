import { describe, expect, test } from 'vitest';
import type { Approvers, Panel } from '../model/approval.ts';
import type { MemberRecord } from '../model/member.ts';
import { person } from '../testing/person.ts';
import { authorityOf, fits, groupsOf, memberAt, possibleDeciders, presentDeciders, seatsOf } from './eligibility.ts';

const byUid = (...members: MemberRecord[]) => new Map(members.map((one) => [one.uid, one] as const));
const open = { fourEyes: false, startedBy: 's', alsoStartedBy: [] };
const fourEyes = { fourEyes: true, startedBy: 's', alsoStartedBy: ['t'] };
const away = (to: string, from = 100, until = 200) => ({ to, from, until, setBy: 'a' });
const panelOf = (seats: readonly string[], approvers: Approvers = { roles: ['approver'] }): Panel => ({
  approvers,
  quorum: 'any',
  seats: [...seats],
});

describe('a rule', () => {
  test.each<[Approvers, boolean]>([
    [{ users: ['a'] }, true],
    [{ users: ['b'] }, false],
    [{ roles: ['approver'] }, true],
    [{ roles: ['admin'] }, false],
    [{ departments: ['finance'] }, true],
    [{ departments: ['legal'], roles: ['viewer'], users: ['a'] }, true],
    [{ roles: ['approver'], except: ['a'] }, false],
    [{}, false],
    [{ users: [], roles: [], departments: [] }, false],
  ])('%j fits: %s', (approvers, expected) => {
    expect(fits(approvers, 'a', person('a', { departments: ['finance'] }))).toBe(expected);
  });

  test('never fits somebody who is no longer active', () => {
    expect(fits({ users: ['a'] }, 'a', person('a', { active: false }))).toBe(false);
  });

  test('with groups seats whoever is in one of them', () => {
    const quorum = {
      groups: [
        { name: 'money', approvers: { departments: ['finance'] }, min: 1 },
        { name: 'law', approvers: { departments: ['legal'] }, min: 1 },
      ],
    };
    const people = [person('a', { departments: ['finance'] }), person('b', { departments: ['legal', 'finance'] }), person('c')];
    expect(people.map((one) => groupsOf(quorum, one.uid, one))).toEqual([['money'], ['money', 'law'], []]);
    for (const other of ['any', 'all', { quorum: 2 }] as const) expect(groupsOf(other, 'a', person('a'))).toEqual([]);
    expect(seatsOf({ approvers: { users: ['c'] }, quorum }, people, 0, open)).toEqual(['a', 'b', 'c']);
    expect(seatsOf({ approvers: {}, quorum }, people, 0, open)).toEqual(['a', 'b']);
  });

  test('gives seats in a fixed order, without the starter under four eyes', () => {
    const people = [person('s'), person('t'), person('b'), person('a')];
    expect(seatsOf(panelOf([]), people, 0, open)).toEqual(['a', 'b', 's', 't']);
    expect(seatsOf(panelOf([]), people, 0, fourEyes)).toEqual(['a', 'b']);
    expect(seatsOf(panelOf([]), people, 0, { ...fourEyes, startedBy: '' })).toEqual(['a', 'b', 's']);
  });
});

describe('a member at a time', () => {
  const changed = person('a', {
    roles: [],
    past: [
      { until: 300, roles: ['viewer'], departments: [], active: true },
      { until: 200, roles: ['approver'], departments: ['finance'], active: true },
    ],
  });

  test.each([
    [0, ['approver']],
    [199, ['approver']],
    [200, ['viewer']],
    [299, ['viewer']],
    [300, []],
    [999, []],
  ])('%i is what the member was then', (at, roles) => {
    expect(memberAt(changed, at).roles).toEqual(roles);
  });

  test('is found however the earlier states are ordered', () => {
    const turned = { ...changed, past: [...(changed.past ?? [])].reverse() };
    expect([199, 299, 300].map((at) => memberAt(turned, at).roles)).toEqual([['approver'], ['viewer'], []]);
  });

  test('without changes is what the member is', () => {
    expect(memberAt(person('a'), 0).roles).toEqual(['approver']);
  });
});

describe('authority', () => {
  const panels = [panelOf(['a', 'b'])];
  const ada = person('a', { delegation: away('z') });
  const members = byUid(ada, person('b'), person('z', { roles: ['viewer'] }), person('s'), person('gone', { active: false }));

  test.each([
    ['b', 150, { kind: 'may', own: true, others: [] }],
    ['a', 150, { kind: 'may', own: true, others: [] }],
    ['z', 150, { kind: 'may', own: false, others: ['a'] }],
    ['z', 100, { kind: 'may', own: false, others: ['a'] }],
  ])('%s at %i', (uid, at, expected) => {
    expect(authorityOf(uid, panels, members, at, fourEyes)).toEqual(expected);
  });

  test.each([
    ['z', 99, 'not among those'],
    ['z', 200, 'not among those'],
    ['nobody', 150, 'not a member'],
    ['gone', 150, 'ended'],
    ['s', 150, 'four-eyes'],
  ])('%s at %i has none', (uid, at, reason) => {
    expect(authorityOf(uid, panels, members, at, fourEyes)).toMatchObject({ kind: 'none', reason: expect.stringContaining(reason) });
  });

  test('is gone with the role, and goes to nobody by a delegation of somebody who has lost it', () => {
    const lost = byUid(person('a', { roles: [], delegation: away('z') }), person('z'));
    expect(authorityOf('a', [panelOf(['a'])], lost, 150, open)).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('no longer'),
    });
    expect(authorityOf('z', [panelOf(['a'])], lost, 150, open)).toMatchObject({ kind: 'none' });
  });

  test('of somebody who came to fit after the panel was asked is none: a seat is given when asked', () => {
    expect(authorityOf('new', panels, byUid(person('new')), 150, open)).toMatchObject({ kind: 'none' });
  });

  test('of somebody who stands in for several names them in a fixed order, and never oneself', () => {
    const several = byUid(
      person('b', { delegation: away('z') }),
      person('a', { delegation: away('z') }),
      person('z', { delegation: away('z') }),
    );
    expect(authorityOf('z', [panelOf(['b', 'a', 'z'])], several, 150, open)).toEqual({ kind: 'may', own: true, others: ['a', 'b'] });
  });

  test('that was lost is told as lost, also where one of several panels had asked', () => {
    const lost = byUid(person('a', { roles: [] }), person('b'));
    expect(authorityOf('a', [panelOf(['b']), panelOf(['a'])], lost, 150, open)).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('no longer'),
    });
  });

  test('does not pass on from stand-in to stand-in', () => {
    const chain = byUid(
      person('a', { delegation: away('z') }),
      person('z', { roles: [], delegation: away('y') }),
      person('y', { roles: [] }),
    );
    expect(authorityOf('y', [panelOf(['a'])], chain, 150, open)).toMatchObject({ kind: 'none' });
  });
});

describe('deciders', () => {
  const people = byUid(person('a', { delegation: away('z') }), person('b'), person('z', { roles: [] }), person('s', { roles: [] }));

  test('until the deadline include those who stand in at any time until then', () => {
    expect(possibleDeciders([panelOf(['a', 'b'])], people, { from: 0, to: 150 }, open)).toEqual(['a', 'b', 'z']);
    expect(possibleDeciders([panelOf(['a', 'b'])], people, { from: 0, to: 100 }, open)).toEqual(['a', 'b']);
    expect(possibleDeciders([panelOf(['a', 'b'])], people, { from: 200, to: 900 }, open)).toEqual(['a', 'b']);
  });

  test('at a time are those of that time', () => {
    expect(presentDeciders([panelOf(['a'])], people, 99, open)).toEqual(['a']);
    expect(presentDeciders([panelOf(['a'])], people, 100, open)).toEqual(['a', 'z']);
    expect(presentDeciders([panelOf(['a'])], people, 199, open)).toEqual(['a', 'z']);
    expect(presentDeciders([panelOf(['a'])], people, 200, open)).toEqual(['a']);
  });

  test('never include the starter as a stand-in, or a stand-in who is inactive or unknown', () => {
    const starter = byUid(person('a', { delegation: away('s') }), person('s'));
    expect(possibleDeciders([panelOf(['a'])], starter, { from: 0, to: 900 }, fourEyes)).toEqual(['a']);
    const inactive = byUid(person('a', { delegation: away('z') }), person('z', { active: false }));
    expect(possibleDeciders([panelOf(['a'])], inactive, { from: 0, to: 900 }, open)).toEqual(['a']);
    expect(possibleDeciders([panelOf(['a'])], byUid(person('a', { delegation: away('q') })), { from: 0, to: 900 }, open)).toEqual(['a']);
  });
});
