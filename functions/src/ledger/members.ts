import { z } from 'zod';
import { digest } from '../engine/json.ts';
import { nameOf } from '../engine/verdict.ts';
import { KilnError } from '../model/errors.ts';
import { memberRecordSchema, MEMBERS_MAX, roles } from '../model/member.ts';
import type { MemberRecord, Role } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { MemberSource } from '../steps/step-type.ts';
import { settleApproval } from './approvals.ts';
import { allMembers } from './approval-reading.ts';
import { appendAudit } from './history.ts';
import type { Happening } from './history.ts';
import { newDelivery } from './told.ts';
import type { Store, Transaction, Write } from './store.ts';

/** Who asks. What the person may do is read from the member's document in the transaction that does it. */
export interface MemberActor {
  readonly accountId: string;
  readonly uid: string;
}

/** Finds the account of a person at the sign-in service, or makes one, and says its uid. */
export interface PeopleDirectory {
  uidOf(person: { readonly email: string; readonly name: string }): Promise<string>;
}

/** Changes that a member's document remembers, so that a decision can be judged by what its maker was when it was made. */
const PAST_KEPT = 20;
const DELEGATION_MAX_MS = 366 * 24 * 60 * 60 * 1_000;
const AFFECTED_MAX = 200;

/** Reads an account's active members. */
export class StoredMembers implements MemberSource {
  readonly #store: Pick<Store, 'query'>;

  constructor(store: Pick<Store, 'query'>) {
    this.#store = store;
  }

  async list(accountId: string): Promise<readonly MemberRecord[]> {
    return (await allMembers(this.#store, accountId)).filter((member) => member.active);
  }
}

const names = z.array(z.string().trim().min(1).max(100)).max(50);
const roleList = z.array(z.enum(roles)).max(roles.length);

export const inviteInput = z.strictObject({
  email: z.email().max(320),
  name: z.string().trim().max(200).default(''),
  roles: roleList.min(1),
  departments: names.default([]),
});
export const changeMemberInput = z
  .strictObject({
    uid: z.string().min(1).max(128),
    name: z.string().trim().max(200).optional(),
    roles: roleList.optional(),
    departments: names.optional(),
    active: z.boolean().optional(),
  })
  .refine(({ uid: _uid, ...changes }) => Object.keys(changes).length > 0, 'say what to change: name, roles, departments or active');
export const delegateInput = z.strictObject({
  /** Whose requests; the caller's own unless an admin says another. */
  for: z.string().min(1).max(128).optional(),
  to: z.string().min(1).max(128),
  /** Milliseconds since 1970; from now unless stated. */
  from: z.number().int().nonnegative().optional(),
  until: z.number().int().positive(),
  reason: z.string().max(500).optional(),
});
export const endDelegationInput = z.strictObject({ for: z.string().min(1).max(128).optional() });

/** The account's first member, who can invite the others. Refused when the account has members already. */
export async function foundAccount(
  runtime: Runtime,
  founder: { readonly accountId: string; readonly uid: string; readonly email: string; readonly name: string },
): Promise<void> {
  await runtime.store.transaction(async (tx) => {
    const { accountId, uid, email, name } = founder;
    const { docs } = await tx.query({ from: paths.members(accountId), where: [], limit: 1 });
    if (docs.length > 0) throw new KilnError('request.invalid', `account "${accountId}" has members already; ask one of its admins`);
    const now = runtime.clock.now();
    const record = newMember({ accountId, uid, email, name, roles: [...roles], departments: [] }, uid, now);
    const text = `${nameOrEmail(record)} founded the account`;
    const audit = await appendAudit(tx, accountId, [{ kind: 'account_founded', by: uid, text, data: { uid } }], now);
    writeAll(tx, [{ op: 'create', path: paths.member(accountId, uid), data: record }, ...audit]);
  });
}

/** An admin invites somebody, or brings a former member back. The invited person signs in with that address. */
export async function inviteMember(
  runtime: Runtime,
  actor: MemberActor,
  input: z.input<typeof inviteInput>,
  directory: PeopleDirectory,
): Promise<{ readonly uid: string }> {
  const invitation = inviteInput.parse(input);
  // Asked before the sign-in service is: nobody but an admin makes accounts there.
  await requireAdmin(runtime.store, actor);
  const uid = await directory.uidOf(invitation);
  await changeMembers(runtime, actor, async ({ members, now }) => {
    const before = members.get(uid);
    if (before?.active === true)
      throw new KilnError('request.invalid', `${nameOrEmail(before)} is a member already; change the roles instead`);
    if (before === undefined && members.size >= MEMBERS_MAX) {
      throw new KilnError('request.invalid', `an account has at most ${MEMBERS_MAX} members`);
    }
    const fresh = newMember({ accountId: actor.accountId, uid, ...invitation }, actor.uid, now);
    const { roles: given, departments } = invitation;
    const record = before === undefined ? fresh : changed(before, { active: true, roles: given, departments }, actor.uid, now);
    const text = `${nameOf(members, actor.uid)} invited ${invitation.email} as ${given.join(', ')}${inDepartments(departments)}`;
    return {
      records: [record],
      happening: { kind: 'member_invited', by: actor.uid, text, data: { uid, roles: given, departments } },
      also: [invitationMail(record, nameOf(members, actor.uid), now)],
    };
  });
  return { uid };
}

/** An admin changes a member's roles, departments or name, or ends or renews the membership. The last admin stays one. */
export async function changeMember(runtime: Runtime, actor: MemberActor, input: z.input<typeof changeMemberInput>): Promise<void> {
  const { uid, ...changes } = changeMemberInput.parse(input);
  await changeMembers(runtime, actor, async ({ members, now }) => {
    const before = known(members, uid);
    const record = changed(before, changes, actor.uid, now);
    const text = `${nameOf(members, actor.uid)} changed ${nameOrEmail(before)}: ${describe(before, record)}`;
    return { records: [record], happening: { kind: 'member_changed', by: actor.uid, text, data: { uid, ...changes } } };
  });
  await settleOpenRequests(runtime, actor.accountId, uid);
}

/** Somebody stands in for a member between two times: set by the member, or by an admin for a member who is away. */
export async function delegate(runtime: Runtime, actor: MemberActor, input: z.input<typeof delegateInput>): Promise<void> {
  const { for: whose = actor.uid, to, until, reason, ...rest } = delegateInput.parse(input);
  await changeMembers(
    runtime,
    actor,
    async ({ members, now }) => {
      const from = rest.from ?? now;
      const before = known(members, whose);
      const standIn = known(members, to);
      if (to === whose) throw new KilnError('request.invalid', 'nobody stands in for themselves');
      if (!standIn.active) throw new KilnError('request.invalid', `${nameOrEmail(standIn)} is no active member`);
      if (until <= from || until <= now)
        throw new KilnError('request.invalid', 'the delegation ends before it begins, or has ended already');
      if (until - from > DELEGATION_MAX_MS) throw new KilnError('request.invalid', 'a delegation lasts at most a year');
      const delegation = { to, from, until, setBy: actor.uid, ...(reason === undefined ? {} : { reason }) };
      const record = changed(before, { delegation }, actor.uid, now);
      const text = `${nameOf(members, actor.uid)} let ${nameOrEmail(standIn)} stand in for ${nameOrEmail(before)} from ${day(from)} to ${day(until)}`;
      return { records: [record], happening: { kind: 'delegation_set', by: actor.uid, text, data: { uid: whose, ...delegation } } };
    },
    whose,
  );
  await settleOpenRequests(runtime, actor.accountId, whose);
}

export async function endDelegation(runtime: Runtime, actor: MemberActor, input: z.input<typeof endDelegationInput>): Promise<void> {
  const { for: whose = actor.uid } = endDelegationInput.parse(input);
  await changeMembers(
    runtime,
    actor,
    async ({ members, now }) => {
      const before = known(members, whose);
      if (before.delegation === undefined) throw new KilnError('request.invalid', 'nobody stands in for this member');
      const record = changed(before, { delegation: undefined }, actor.uid, now);
      const text = `${nameOf(members, actor.uid)} ended the delegation of ${nameOrEmail(before)}`;
      return { records: [record], happening: { kind: 'delegation_ended', by: actor.uid, text, data: { uid: whose } } };
    },
    whose,
  );
  await settleOpenRequests(runtime, actor.accountId, whose);
}

interface Account {
  readonly members: ReadonlyMap<string, MemberRecord>;
  readonly now: number;
}

interface Change {
  readonly records: readonly MemberRecord[];
  readonly happening: Happening;
  readonly also?: readonly Write[];
}

/** Reads all members in one transaction, so that two admins who take each other's role away cannot both succeed. */
async function changeMembers(
  runtime: Runtime,
  actor: MemberActor,
  work: (account: Account) => Promise<Change>,
  self?: string,
): Promise<void> {
  await runtime.store.transaction(async (tx) => {
    const members = new Map((await allMembers(tx, actor.accountId)).map((member) => [member.uid, member] as const));
    const now = runtime.clock.now();
    const me = members.get(actor.uid);
    if (me?.active !== true || (self !== actor.uid && !me.roles.includes('admin'))) throw forbidden();
    const { records, happening, also } = await work({ members, now });
    const after = new Map([...members, ...records.map((record) => [record.uid, record] as const)]);
    if (![...after.values()].some((member) => member.active && member.roles.includes('admin'))) {
      throw new KilnError('request.invalid', 'an account keeps at least one active admin; make somebody else an admin first');
    }
    const audit = await appendAudit(tx, actor.accountId, [happening], now);
    writeAll(tx, [
      ...records.map((record) => ({ op: 'set' as const, path: paths.member(actor.accountId, record.uid), data: record })),
      ...audit,
      ...(also ?? []),
    ]);
  });
}

async function requireAdmin(store: Pick<Store, 'get'>, actor: MemberActor): Promise<void> {
  const { docs } = await store.get([paths.member(actor.accountId, actor.uid)]);
  const member = docs[0] === undefined ? undefined : memberRecordSchema.parse(docs[0].data);
  if (member?.active !== true || !member.roles.includes('admin')) throw forbidden();
}

function forbidden(): KilnError {
  return new KilnError('auth.forbidden', 'only an admin of this account may do that');
}

function known(members: ReadonlyMap<string, MemberRecord>, uid: string): MemberRecord {
  const member = members.get(uid);
  if (member === undefined) throw new KilnError('request.invalid', `"${uid}" is no member of this account`);
  return member;
}

type Seed = Pick<MemberRecord, 'accountId' | 'uid' | 'email' | 'name' | 'departments'> & { readonly roles: Role[] };

function newMember(seed: Seed, by: string, now: number): MemberRecord {
  return { v: 1, ...seed, active: true, updatedAt: now, updatedBy: by };
}

type MemberChange = { [K in 'name' | 'roles' | 'departments' | 'active' | 'delegation']?: MemberRecord[K] | undefined };

function changed(before: MemberRecord, changes: MemberChange, by: string, now: number): MemberRecord {
  const { roles: had, departments, active, delegation } = before;
  const past = { until: now, roles: had, departments, active, ...(delegation === undefined ? {} : { delegation }) };
  const given = Object.fromEntries(Object.entries(changes).filter(([field, value]) => value !== undefined || field === 'delegation'));
  return { ...before, ...given, past: [past, ...(before.past ?? [])].slice(0, PAST_KEPT), updatedAt: now, updatedBy: by };
}

function describe(before: MemberRecord, after: MemberRecord): string {
  const parts = [
    before.active === after.active ? '' : after.active ? 'membership renewed' : 'membership ended',
    before.roles.join() === after.roles.join() ? '' : `roles are now ${after.roles.join(', ') || 'none'}`,
    before.departments.join() === after.departments.join() ? '' : `departments are now ${after.departments.join(', ') || 'none'}`,
    before.name === after.name ? '' : `name is now ${after.name}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'nothing new' : parts.join('; ');
}

function invitationMail(record: MemberRecord, inviter: string, now: number): Write {
  const { accountId, uid, email } = record;
  const id = digest(`${accountId}/invitation/${uid}/${now}`).slice(0, 32);
  const subject = `You are invited to ${accountId}`;
  const body = `Hello ${nameOrEmail(record)},\n\n${inviter} has invited you to the account ${accountId}. Sign in with this address.`;
  const mail = newDelivery({ accountId, id, kind: 'mail', to: email, subject, body, link: '/' }, now);
  return { op: 'create', path: paths.outbox(accountId, id), data: mail };
}

function nameOrEmail(member: Pick<MemberRecord, 'name' | 'email'>): string {
  return member.name === '' ? member.email : member.name;
}

function inDepartments(departments: readonly string[]): string {
  return departments.length === 0 ? '' : ` in ${departments.join(', ')}`;
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function writeAll(tx: Transaction, writes: readonly Write[]): void {
  for (const write of writes) tx.write(write);
}

/**
 * Brings the open requests up to date that the member could decide: who may decide them, and whether anybody is left. Should
 * the process die before, the engine still judges by the member's document; only the list that the rules check is older.
 */
async function settleOpenRequests(runtime: Runtime, accountId: string, uid: string): Promise<void> {
  const { docs } = await runtime.store.query({
    from: paths.approvals(accountId),
    where: [
      ['status', '==', 'pending'],
      ['eligible', 'array-contains', uid],
    ],
    limit: AFFECTED_MAX,
  });
  for (const doc of docs) await settleApproval(runtime, { accountId, approvalId: doc.id });
}
