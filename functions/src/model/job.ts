import { z } from 'zod';
import { commandKinds } from './command.ts';
import { runStatuses } from './run.ts';

/** What runs are searched for. Everything that is given must hold. */
export const runFilterSchema = z.strictObject({
  workflowId: z.string().min(1).optional(),
  status: z.enum(runStatuses).optional(),
  businessState: z.string().min(1).optional(),
  businessKey: z.string().min(1).optional(),
  /** A declared attribute with its value. */
  attribute: z.strictObject({ name: z.string().min(1), value: z.string() }).optional(),
  /** Asked for at this time or later, before that time; ms. */
  from: z.number().optional(),
  to: z.number().optional(),
});
export type RunFilter = z.infer<typeof runFilterSchema>;

export const bulkRequestSchema = z.strictObject({
  filter: runFilterSchema,
  command: z.enum(commandKinds),
  argument: z.string().max(10_000).optional(),
  reason: z.string().min(1).max(2_000),
  /** Commands a minute. */
  rate: z.number().int().min(1).max(1_000).default(200),
});
export type BulkRequest = z.infer<typeof bulkRequestSchema>;

/** Whose data is to be erased: by the runs they started and by what runs declare about them. */
export const subjectSchema = z.strictObject({
  uid: z.string().min(1).optional(),
  email: z.string().min(3).optional(),
  attribute: z.strictObject({ name: z.string().min(1), value: z.string() }).optional(),
  businessKey: z.string().min(1).optional(),
});
export type Subject = z.infer<typeof subjectSchema>;

const cursorSchema = z.strictObject({ createdAt: z.number(), runId: z.string() });

const jobBase = {
  v: z.literal(1),
  accountId: z.string(),
  jobId: z.string(),
  by: z.string(),
  state: z.enum(['running', 'done', 'cancelled']),
  createdAt: z.number(),
  endedAt: z.number().optional(),
  due: z.string().optional(),
} as const;

/** Work on many runs that goes on by itself: `jobs/{id}`. */
export const jobRecordSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    ...jobBase,
    kind: z.literal('bulk'),
    request: bulkRequestSchema,
    /** How far the walk has come: the last run looked at. */
    cursor: cursorSchema.optional(),
    /** Commands created so far, and runs that had one already. */
    commanded: z.number(),
    repeated: z.number(),
  }),
  z.strictObject({
    ...jobBase,
    kind: z.literal('erase'),
    subject: subjectSchema,
    cursor: cursorSchema.optional(),
    /** Which of the subject's traits the walk is at. */
    stage: z.number().int(),
    report: z.strictObject({
      runs: z.number(),
      /** Runs that have not ended, and so were left alone. */
      live: z.array(z.string()),
      decisions: z.number(),
      notifications: z.number(),
      mails: z.number(),
      member: z.enum(['none', 'erased', 'still_active']),
    }),
  }),
]);
export type JobRecord = z.infer<typeof jobRecordSchema>;
export type BulkJob = Extract<JobRecord, { kind: 'bulk' }>;
export type EraseJob = Extract<JobRecord, { kind: 'erase' }>;

/** How long an account keeps what: `settings/retention`. Days after the run's end. */
export const retentionSchema = z.strictObject({
  v: z.literal(1),
  /** Inputs, outputs and everything else that runs carried. */
  payloadDays: z.number().int().min(1).max(36_500),
  /** Steps and their states. */
  runDays: z.number().int().min(1).max(36_500),
  /** What people did: history, commands, requests and decisions. */
  auditDays: z.number().int().min(1).max(36_500),
  /** Nothing is deleted before it has been exported. */
  exportFirst: z.boolean(),
});
export type Retention = z.infer<typeof retentionSchema>;

export const defaultRetention: Retention = { v: 1, payloadDays: 90, runDays: 400, auditDays: 3_650, exportFirst: false };

export const expiryStages = ['payloads', 'steps', 'audit'] as const;
/** What of a run that has ended is to go next: `expiries/{runId}`. */
export const expiryRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  runId: z.string(),
  stage: z.enum(expiryStages),
  endedAt: z.number(),
  due: z.string().optional(),
});
export type ExpiryRecord = z.infer<typeof expiryRecordSchema>;
