import { beforeEach, describe, expect, test } from 'vitest';
import { memberRecordSchema } from '../model/member.ts';
import type { MemberRecord } from '../model/member.ts';
import { outboxRecordSchema } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import { hire, officeRuntime } from '../testing/office.ts';
import { ACCOUNT, person } from '../testing/person.ts';
import { DatabaseClock } from './clock.ts';
import { readHistory, verifyHistory } from './history.ts';
import { changeMember, delegate, endDelegation, foundAccount, inviteMember, StoredMembers } from './members.ts';
import { MemoryStore } from './memory-store.ts';

const START = 1_800_000_000_000;
const DAY = 86_400_000;

let now = START;
let store: MemoryStore;
let runtime: Runtime;
const directory = { uidOf: ({ email }: { email: string }) => Promise.resolve(email.split('@')[0] ?? '') };
const as = (uid: string) => ({ accountId: ACCOUNT, uid });
const member = (uid: string): MemberRecord => memberRecordSchema.parse(store.peek(paths.member(ACCOUNT, uid))?.data);
const audit = () => readHistory(store, paths.audit(ACCOUNT));

beforeEach(async () => {
  now = START;
  store = new MemoryStore(() => now);
  runtime = officeRuntime({ store, clock: new DatabaseClock(() => now), doorbells: { arm: () => Promise.resolve() } }, {});
  await hire(store, [person('root', { roles: ['admin'] }), person('ada'), person('old', { active: false })]);
});

describe('an account', () => {
  test('is founded once, by somebody who may then do everything', async () => {
    const founder = { accountId: 'fresh', uid: 'eva', email: 'eva@fresh.example', name: 'Eva' };
    await foundAccount(runtime, founder);
    expect(store.peek(paths.member('fresh', 'eva'))?.data).toMatchObject({
      roles: expect.arrayContaining(['admin', 'approver']),
      active: true,
    });
    await expect(foundAccount(runtime, { ...founder, uid: 'mallory' })).rejects.toMatchObject({ code: 'request.invalid' });
  });

  test('lists its active members', async () => {
    expect((await new StoredMembers(store).list(ACCOUNT)).map(({ uid }) => uid).sort()).toEqual(['ada', 'root']);
  });
});

describe('an invitation', () => {
  test('makes a member with the roles given, writes a mail, and is written down', async () => {
    const { uid } = await inviteMember(
      runtime,
      as('root'),
      { email: 'new@acme.example', name: 'New', roles: ['operator'], departments: ['finance'] },
      directory,
    );
    expect(member(uid)).toMatchObject({
      email: 'new@acme.example',
      roles: ['operator'],
      departments: ['finance'],
      active: true,
      updatedBy: 'root',
    });
    const [mail] = [...store.all()].filter(({ path }) => path.includes('/outbox/'));
    const sent = outboxRecordSchema.parse(mail?.data);
    expect(sent).toMatchObject({ to: 'new@acme.example', link: '/' });
    // Like everything that people are told, it is not kept for ever.
    expect(sent.expiresAt).toBe(sent.createdAt + 90 * 24 * 3_600_000);
    expect((await audit()).map(({ text }) => text)).toEqual(['Root invited new@acme.example as operator in finance']);
  });

  test('brings a former member back with new roles only', async () => {
    await inviteMember(runtime, as('root'), { email: 'old@acme.example', roles: ['viewer'] }, directory);
    expect(member('old')).toMatchObject({ active: true, roles: ['viewer'], past: [{ active: false, roles: ['approver'], until: START }] });
  });

  test('to somebody who is a member is refused', async () => {
    await expect(inviteMember(runtime, as('root'), { email: 'ada@acme.example', roles: ['admin'] }, directory)).rejects.toThrow(
      'Ada is a member already',
    );
    expect(member('ada').roles).toEqual(['approver']);
  });

  test('from somebody who is no admin does not even reach the sign-in service', async () => {
    const asked: string[] = [];
    const spy = { uidOf: ({ email }: { email: string }) => Promise.resolve((asked.push(email), 'x')) };
    for (const uid of ['ada', 'old', 'nobody']) {
      await expect(inviteMember(runtime, as(uid), { email: 'x@acme.example', roles: ['admin'] }, spy)).rejects.toMatchObject({
        code: 'auth.forbidden',
      });
    }
    expect(asked).toEqual([]);
  });

  test.each([
    { email: 'no address', roles: ['viewer'] },
    { email: 'x@acme.example', roles: [] },
    { email: 'x@acme.example', roles: ['owner'] },
  ])('%j is refused', async (input) => {
    await expect(inviteMember(runtime, as('root'), input as never, directory)).rejects.toThrow(/email|roles/);
  });
});

describe('a change', () => {
  test('of roles is remembered with its time, and the last changes only', async () => {
    for (let i = 1; i <= 25; i += 1) {
      now = START + i;
      await changeMember(runtime, as('root'), { uid: 'ada', departments: [`d${i}`] });
    }
    expect(member('ada').past).toHaveLength(20);
    expect(member('ada').past?.[0]).toEqual({ until: START + 25, roles: ['approver'], departments: ['d24'], active: true });
    expect(verifyHistory(await audit())).toMatchObject({ ok: true, entries: 25 });
  });

  test('that would leave no admin is refused', async () => {
    await expect(changeMember(runtime, as('root'), { uid: 'root', roles: ['viewer'] })).rejects.toThrow('at least one active admin');
    await expect(changeMember(runtime, as('root'), { uid: 'root', active: false })).rejects.toThrow('at least one active admin');
    expect(member('root')).toMatchObject({ roles: ['admin'], active: true });
  });

  test('by which two admins dismiss each other at once leaves one of them', async () => {
    await changeMember(runtime, as('root'), { uid: 'ada', roles: ['admin'] });
    const results = await Promise.allSettled([
      changeMember(runtime, as('root'), { uid: 'ada', active: false }),
      changeMember(runtime, as('ada'), { uid: 'root', active: false }),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('by others than admins, of strangers, or of nothing is refused', async () => {
    await expect(changeMember(runtime, as('ada'), { uid: 'ada', roles: ['admin'] })).rejects.toMatchObject({ code: 'auth.forbidden' });
    await expect(changeMember(runtime, { accountId: 'other', uid: 'root' }, { uid: 'ada', active: false })).rejects.toMatchObject({
      code: 'auth.forbidden',
    });
    await expect(changeMember(runtime, as('root'), { uid: 'nobody', active: false })).rejects.toThrow('no member of this account');
    await expect(changeMember(runtime, as('root'), { uid: 'ada' })).rejects.toThrow('say what to change');
  });
});

describe('a delegation', () => {
  beforeEach(() => hire(store, [person('bob')]));

  test('is set by the member, or by an admin for somebody who is away, and ended the same way', async () => {
    await delegate(runtime, as('ada'), { to: 'bob', until: START + DAY, reason: 'holidays' });
    expect(member('ada').delegation).toEqual({ to: 'bob', from: START, until: START + DAY, setBy: 'ada', reason: 'holidays' });
    await delegate(runtime, as('root'), { for: 'ada', to: 'root', from: START + DAY, until: START + 2 * DAY });
    expect(member('ada').delegation).toMatchObject({ to: 'root', setBy: 'root' });
    await endDelegation(runtime, as('ada'), {});
    expect(member('ada').delegation).toBeUndefined();
    expect(member('ada').past?.[0]).toMatchObject({ delegation: { to: 'root' } });
    expect((await audit()).map(({ text }) => text)).toEqual([
      'Ada let Bob stand in for Ada from 2027-01-15 to 2027-01-16',
      'Root let Root stand in for Ada from 2027-01-16 to 2027-01-17',
      'Ada ended the delegation of Ada',
    ]);
  });

  test.each([
    ['to oneself', { to: 'ada', until: START + DAY }, 'themselves'],
    ['to somebody who has left', { to: 'old', until: START + DAY }, 'no active member'],
    ['to a stranger', { to: 'nobody', until: START + DAY }, 'no member'],
    ['that ends before it begins', { to: 'bob', from: START + 2, until: START + 1 }, 'ends before'],
    ['that has ended', { to: 'bob', from: START - 2, until: START - 1 }, 'has ended'],
    ['for more than a year', { to: 'bob', until: START + 400 * DAY }, 'at most a year'],
  ])('%s is refused', async (_what, input, message) => {
    await expect(delegate(runtime, as('ada'), input)).rejects.toThrow(message);
  });

  test('for somebody else is for admins only, and one that is not there cannot be ended', async () => {
    await expect(delegate(runtime, as('bob'), { for: 'ada', to: 'bob', until: START + DAY })).rejects.toMatchObject({
      code: 'auth.forbidden',
    });
    await expect(endDelegation(runtime, as('bob'), { for: 'ada' })).rejects.toMatchObject({ code: 'auth.forbidden' });
    await expect(endDelegation(runtime, as('ada'), {})).rejects.toThrow('nobody stands in');
  });
});
