import { z } from 'zod';
import { errorRecordSchema } from './errors.ts';
import { payloadSchema } from './payload.ts';

export const runStatuses = [
  'pending',
  'running',
  'paused',
  'cancelling',
  'compensating',
  'completed',
  'failed',
  'cancelled',
  'rejected',
  'compensated',
  'needs_resolution',
  // A code run whose code no longer matches what it recorded: fork it, cancel it, or deploy the old code and retry.
  'diverged',
] as const;
export type RunStatus = (typeof runStatuses)[number];

export const terminalRunStatuses: ReadonlySet<RunStatus> = new Set(['completed', 'failed', 'cancelled', 'rejected', 'compensated']);

const starterKinds = z.enum(['user', 'webhook', 'schedule', 'event', 'run', 'code', 'system']);
export const startedBySchema = z.strictObject({
  kind: starterKinds,
  id: z.string(),
});
export type StartedBy = z.infer<typeof startedBySchema>;

/** One execution of a pinned workflow version. Times are milliseconds since 1970 by the database's clock. */
export const runRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  runId: z.string(),
  kind: z.enum(['graph', 'code']),
  workflowId: z.string(),
  version: z.number().int().nonnegative(),
  hash: z.string(),
  status: z.enum(runStatuses),
  /** Human requests that are open now; the run list shows "waiting for a person" from it. */
  pendingApprovals: z.number().int(),
  input: payloadSchema,
  output: payloadSchema.optional(),
  error: errorRecordSchema.extend({ stepKey: z.string().optional() }).optional(),
  /** While many live steps are being ended in chunks: what the run becomes when none is left. */
  ending: z.strictObject({ status: z.enum(runStatuses), error: errorRecordSchema.optional() }).optional(),
  /** The problems that pre-flight found; only on rejected runs. */
  problems: z.string().optional(),
  startedBy: startedBySchema,
  /** On a fork: who brought the input that it takes over, so that it is read as it was there. */
  inputFrom: starterKinds.optional(),
  createdAt: z.number(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** Wall-clock deadline. */
  deadlineAt: z.number().optional(),
  pausedAt: z.number().optional(),
  /** How many runs started this one in a chain. */
  chainDepth: z.number().int().nonnegative(),
  parent: z.strictObject({ runId: z.string(), stepKey: z.string() }).optional(),
  /** Set on a fork: the run and step it was forked from. */
  forkedFrom: z.strictObject({ runId: z.string(), stepKey: z.string() }).optional(),
  startKey: z.string().optional(),
  businessKey: z.string().optional(),
  businessState: z.string().optional(),
  /** When the business state was entered. */
  stateSince: z.number().optional(),
  attributes: z.record(z.string(), z.string()).optional(),
  /** The attributes as `name=value`, to search by. */
  tags: z.array(z.string()).optional(),
  /** Keys of steps whose effects could not be undone (so far). */
  left: z.array(z.string()).optional(),
  /** Places of limits that it holds until it ends: paths of slots. */
  slots: z.array(z.string()).optional(),
  /** Why a pending run has not begun: the limit that it waits for. */
  queuedFor: z.string().optional(),
  /** Reads content from outside the account; see the taint rule. */
  tainted: z.boolean().optional(),
  /** Everything in it is for operators and named approvers: it was started with what a sensitive step gave it. */
  sensitive: z.literal('run').optional(),
  reconciliation: z.enum(['pending', 'reconciled', 'mismatch', 'accepted']).optional(),
  traceparent: z.string().optional(),
  /** Pre-flight's resolved context documents, as JSON text. */
  context: z.string().optional(),
  /** When everything that the run carried was taken out of it. */
  erasedAt: z.number().optional(),
  due: z.string().optional(),
  expiresAt: z.number().optional(),
});
export type RunRecord = z.infer<typeof runRecordSchema>;
