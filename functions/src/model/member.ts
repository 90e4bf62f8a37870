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
  updatedAt: z.number(),
  updatedBy: z.string(),
});
export type MemberRecord = z.infer<typeof memberRecordSchema>;
