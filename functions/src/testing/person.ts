import type { MemberRecord } from '../model/member.ts';

/** The account in which the people of these tests work. */
export const ACCOUNT = 'acme';

/** A member with sensible fields; the uid is the lower-case name. */
export function person(uid: string, fields: Partial<MemberRecord> = {}, accountId = ACCOUNT): MemberRecord {
  return {
    v: 1,
    accountId,
    uid,
    email: `${uid}@acme.example`,
    name: `${uid.charAt(0).toUpperCase()}${uid.slice(1)}`,
    roles: ['approver'],
    departments: [],
    active: true,
    updatedAt: 0,
    updatedBy: 'seed',
    ...fields,
  };
}
