import { z } from 'zod';

/** Starts a workflow at the times of a cron expression: `schedules/{scheduleId}`. */
export const scheduleRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  scheduleId: z.string(),
  workflowId: z.string(),
  /** JSON text. */
  input: z.string(),
  cron: z.string(),
  timeZone: z.string(),
  /** Each start is put off by up to this, by the same amount whenever the same occurrence is looked at. */
  jitterMs: z.number().int().nonnegative(),
  /** What happens while the run before still runs: leave the occurrence out, wait for it, or run beside it. */
  overlap: z.enum(['skip', 'queue', 'parallel']),
  /** What happens with occurrences that nobody could start in time: the last of them, each of them, or none. A queue keeps each. */
  catchUp: z.enum(['latest', 'all', 'none']),
  active: z.boolean(),
  /** The code of the workflow declares it: its runs are handed their occurrence, and it goes when the declaration goes. */
  declared: z.literal(true).optional(),
  /** The next occurrence. */
  nextAt: z.number(),
  lastRunId: z.string().optional(),
  lastAt: z.number().optional(),
  /** Occurrences that were left out. */
  skipped: z.number().int().nonnegative(),
  /** Why the last occurrence could not be started. */
  error: z.string().optional(),
  updatedAt: z.number(),
  updatedBy: z.string(),
  due: z.string().optional(),
});
export type ScheduleRecord = z.infer<typeof scheduleRecordSchema>;
