import { z } from 'zod';
import { payloadSchema } from './payload.ts';

export const approvalStatuses = ['pending', 'decided', 'expired', 'cancelled'] as const;

/** Who may decide: any of these. */
export const approversSchema = z.strictObject({
  users: z.array(z.string()).optional(),
  roles: z.array(z.string()).optional(),
  departments: z.array(z.string()).optional(),
});
export type Approvers = z.infer<typeof approversSchema>;

/** How many must agree. A group is a department or role that must contribute at least `min` approvals. */
export const quorumSchema = z.union([
  z.literal('any'),
  z.literal('all'),
  z.strictObject({ quorum: z.number().int().min(1).max(100) }),
  z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), approvers: approversSchema, min: z.number().int().min(1) })).min(1) }),
]);
export type QuorumRule = z.infer<typeof quorumSchema>;

/** One thing shown to the approver, exactly as stored. */
export const evidenceSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), title: z.string().optional(), text: z.string() }),
  z.strictObject({ kind: z.literal('markdown'), title: z.string().optional(), markdown: z.string() }),
  z.strictObject({ kind: z.literal('table'), title: z.string().optional(), rows: z.array(z.tuple([z.string(), z.json()])) }),
  z.strictObject({ kind: z.literal('links'), title: z.string().optional(), links: z.array(z.strictObject({ label: z.string(), url: z.string() })) }),
  z.strictObject({ kind: z.literal('diff'), title: z.string().optional(), before: z.json(), after: z.json() }),
  z.strictObject({ kind: z.literal('json'), title: z.string().optional(), value: z.json() }),
]);
export type Evidence = z.infer<typeof evidenceSchema>;

/** A request for a decision. What was shown is `shown`; its digest is what a decision is bound to. */
export const approvalRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  approvalId: z.string(),
  runId: z.string(),
  stepKey: z.string(),
  workflowId: z.string(),
  status: z.enum(approvalStatuses),
  title: z.string(),
  /** The effect of approving, in words. */
  effect: z.string().optional(),
  /** Canonical JSON of {title, effect, evidence, form, values}: exactly what is shown. */
  shown: payloadSchema,
  digest: z.string(),
  /** Eligible people, resolved when the request was made, with standing-in people; the rules check against it. */
  eligible: z.array(z.string()),
  approvers: z.string(),
  quorum: z.string(),
  rejection: z.enum(['veto', 'majority', 'collect']),
  fourEyes: z.boolean(),
  startedBy: z.string(),
  outcomes: z.array(z.string()),
  /** Outcomes that need a comment. */
  commentRequired: z.array(z.string()),
  /** JSON Schema text of correctable values, when corrections are allowed. */
  form: z.string().optional(),
  claimedBy: z.string().optional(),
  requestedAt: z.number(),
  /** Database time; the rules compare it with request.time. */
  deadlineAt: z.number(),
  onDeadline: z.enum(['approve', 'reject', 'fail', 'escalate']),
  /** JSON text of reminders and escalation levels still ahead. */
  schedule: z.string().optional(),
  level: z.number().int().nonnegative(),
  outcome: z.string().optional(),
  decidedBy: z.array(z.string()).optional(),
  endedAt: z.number().optional(),
  due: z.string().optional(),
  expiresAt: z.number().optional(),
});
export type ApprovalRecord = z.infer<typeof approvalRecordSchema>;

/** One person's decision: created once by that person at `decisions/{uid}`, never changed. `at` is server time. */
export const decisionRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  approvalId: z.string(),
  by: z.string(),
  outcome: z.string(),
  comment: z.string().max(4_000).optional(),
  /** Digest of what was shown. */
  digest: z.string(),
  /** Edited values as JSON text, when the request has a form. */
  values: z.string().max(200_000).optional(),
  at: z.unknown(),
});
export type DecisionRecord = z.infer<typeof decisionRecordSchema>;

/** What came of a decision, written beside it by the engine at `approvals/{id}/verdicts/{uid}`. */
export const verdictRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  approvalId: z.string(),
  by: z.string(),
  forWhom: z.string().optional(),
  accepted: z.boolean(),
  /** Why it did not count, in words for the person. */
  reason: z.string().optional(),
  at: z.number(),
});
export type VerdictRecord = z.infer<typeof verdictRecordSchema>;
