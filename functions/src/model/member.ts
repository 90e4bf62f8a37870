import { z } from 'zod';

export const roles = ['viewer', 'author', 'operator', 'approver', 'admin'] as const;
export type Role = (typeof roles)[number];

/** Somebody stands in for the member between two times. */
export const delegationSchema = z.strictObject({
  to: z.string(),
  from: z.number(),
  until: z.number(),
  setBy: z.string(),
  reason: z.string().optional(),
});

/** What a member was until a change: a decision is judged by what its maker was when it was made. */
export const pastMemberSchema = z.strictObject({
  until: z.number(),
  roles: z.array(z.enum(roles)),
  departments: z.array(z.string()),
  active: z.boolean(),
  delegation: delegationSchema.optional(),
});
export type PastMember = z.infer<typeof pastMemberSchema>;

export const memberRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  uid: z.string(),
  email: z.string(),
  name: z.string(),
  roles: z.array(z.enum(roles)),
  departments: z.array(z.string()),
  active: z.boolean(),
  delegation: delegationSchema.optional(),
  /** Newest first; the last few changes. */
  past: z.array(pastMemberSchema).optional(),
  updatedAt: z.number(),
  updatedBy: z.string(),
});
export type MemberRecord = z.infer<typeof memberRecordSchema>;

/** Members that one account may have; every reader of the whole list is bounded by it. */
export const MEMBERS_MAX = 500;
