import { z } from 'zod';
import { payloadSchema } from './payload.ts';

export const approvalStatuses = ['pending', 'decided', 'expired', 'cancelled'] as const;

/** Outcomes that reject; `approve` and `abstain` have a meaning of their own too, and others that a step declares count like `approve`. */
export const rejectingOutcomes: ReadonlySet<string> = new Set(['reject', 'request_changes']);
export const ABSTAIN = 'abstain';

/** Who may decide: any of these, except those named. */
export const approversSchema = z.strictObject({
  users: z.array(z.string()).optional(),
  roles: z.array(z.string()).optional(),
  departments: z.array(z.string()).optional(),
  except: z.array(z.string()).optional(),
});
export type Approvers = z.infer<typeof approversSchema>;

/** How many must agree. A group is a department or role that must contribute at least `min` approvals. */
export const quorumSchema = z.union([
  z.literal('any'),
  z.literal('all'),
  z.strictObject({ quorum: z.number().int().min(1).max(100) }),
  z.strictObject({
    groups: z.array(z.strictObject({ name: z.string(), approvers: approversSchema, min: z.number().int().min(1) })).min(1),
  }),
]);
export type QuorumRule = z.infer<typeof quorumSchema>;

/** People who decide together. The first panel is the step's own; each escalation adds one. Any panel's agreement decides. */
export const panelSchema = z.strictObject({
  approvers: approversSchema,
  quorum: quorumSchema,
  /** Those who fitted when the panel was asked: each holds one seat. */
  seats: z.array(z.string()),
});
export type Panel = z.infer<typeof panelSchema>;

/** What time still has to do for a request. All times by the database's clock. */
export const agendaSchema = z.strictObject({
  reminders: z.array(z.number()),
  ladder: z.array(z.strictObject({ at: z.number(), approvers: approversSchema, quorum: quorumSchema })),
  /** How much longer the deadline moves with each escalation that the deadline itself causes. */
  periodMs: z.number(),
  /** JSON text of the business calendar by which times are counted, if there is one. */
  calendar: z.string().optional(),
  /** Reminders sent so far. */
  reminded: z.number().int().nonnegative(),
  /** The admins know that nobody is left who could decide. */
  alerted: z.boolean(),
});
export type Agenda = z.infer<typeof agendaSchema>;

/** One thing shown to the approver, exactly as stored. */
export const evidenceSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), title: z.string().optional(), text: z.string() }),
  z.strictObject({ kind: z.literal('markdown'), title: z.string().optional(), markdown: z.string() }),
  z.strictObject({ kind: z.literal('table'), title: z.string().optional(), rows: z.array(z.tuple([z.string(), z.json()])) }),
  z.strictObject({
    kind: z.literal('links'),
    title: z.string().optional(),
    links: z.array(z.strictObject({ label: z.string(), url: z.string() })),
  }),
  z.strictObject({ kind: z.literal('diff'), title: z.string().optional(), before: z.json(), after: z.json() }),
  z.strictObject({ kind: z.literal('json'), title: z.string().optional(), value: z.json() }),
]);
export type Evidence = z.infer<typeof evidenceSchema>;

/** A request for a decision. What was shown is `shown`; its digest is what a decision is bound to. */
export const approvalRecordSchema = z.strictObject({
  v: z.literal(2),
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
  /** What was shown, decisions and verdicts are readable only by operators, admins and those who may decide. */
  sensitive: z.boolean(),
  digest: z.string(),
  /** Who may create a decision, stand-ins included; the rules check against it, the engine checks again by the members' documents. */
  eligible: z.array(z.string()),
  /** Those whose decision has been judged. */
  answered: z.array(z.string()),
  /** JSON text of the panels (`panelSchema`). */
  approvers: z.string(),
  /** JSON text of the first panel's rule, for people. */
  quorum: z.string(),
  rejection: z.enum(['veto', 'majority', 'collect']),
  fourEyes: z.boolean(),
  /** The uid of the person who started the run; empty when no person did. */
  startedBy: z.string(),
  /** Others who started what this run is part of, or was forked from: the four-eyes rule holds for them, too. */
  alsoStartedBy: z.array(z.string()),
  /** Whether a rejection is a business exception (`rejected`, `request_changes`) or just another outcome. */
  onReject: z.enum(['exception', 'continue']),
  outcomes: z.array(z.string()),
  /** Outcomes that need a comment. */
  commentRequired: z.array(z.string()),
  /** Asked by the engine: `permission` lets a step begin, `correction` takes the place of a step's output. */
  purpose: z.enum(['permission', 'correction']).optional(),
  /** Digest of what is permitted: anything else needs to be asked for anew. */
  subject: z.string().optional(),
  /** JSON Schema text of correctable values, when corrections are allowed. */
  form: z.string().optional(),
  /** One person may take the request on; the others then cannot decide it until it is released. */
  claimable: z.boolean(),
  claimedBy: z.string().optional(),
  claimedAt: z.number().optional(),
  requestedAt: z.number(),
  /** Database time; the rules compare it with request.time. */
  deadlineAt: z.number(),
  onDeadline: z.enum(['approve', 'reject', 'fail', 'escalate']),
  /** JSON text of reminders and escalation levels still ahead (`agendaSchema`). */
  schedule: z.string(),
  /** Escalations so far. */
  level: z.number().int().nonnegative(),
  outcome: z.string().optional(),
  /** Those whose agreement made the outcome, with their names as they were. */
  decidedBy: z.array(z.string()).optional(),
  decidedByNames: z.array(z.string()).optional(),
  endedAt: z.number().optional(),
  due: z.string().optional(),
  expiresAt: z.number().optional(),
});
export type ApprovalRecord = z.infer<typeof approvalRecordSchema>;

/** People that one request asks. */
export const SEATS_MAX = 200;

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
  /** `DUE_AT_ONCE` until the engine has judged it, so that a decision whose trigger got lost is found. The engine removes it; nothing else changes. */
  due: z.string().optional(),
});
export type DecisionRecord = z.infer<typeof decisionRecordSchema>;

/** What came of a decision, written beside it by the engine at `approvals/{id}/verdicts/{uid}`. */
export const verdictRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  approvalId: z.string(),
  by: z.string(),
  name: z.string(),
  outcome: z.string(),
  /** Whose vote it is: the maker's own, or those for whom the maker stood in. Empty when it did not count. */
  seats: z.array(z.string()),
  accepted: z.boolean(),
  /** Why it did not count, in words for the person. */
  reason: z.string().optional(),
  /** When the decision was made, by the database's clock. */
  decidedAt: z.number(),
  /** When it was judged. */
  at: z.number(),
});
export type VerdictRecord = z.infer<typeof verdictRecordSchema>;
