import { z } from 'zod';

/**
 * What people are alerted to: work that needs a person, is late or stands still. Ordinary retries are none of it.
 * - `unresolved`: nobody knows whether a step took effect
 * - `compensation`: something could not be undone
 * - `mismatch`: the target system shows something else than the run did
 * - `stuck`: nothing would ever move it on
 * - `run_overdue`, `state_overdue`: the run has not ended, or has stayed in a business state, for longer than declared
 * - `failed`: the run failed, where the workflow asks for it
 */
export const alertKinds = ['unresolved', 'compensation', 'mismatch', 'stuck', 'run_overdue', 'state_overdue', 'failed'] as const;
export type AlertKind = (typeof alertKinds)[number];

/** One breach, told once. Its id follows from the breach. */
export const alertRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  alertId: z.string(),
  kind: z.enum(alertKinds),
  runId: z.string(),
  workflowId: z.string(),
  version: z.number().int().nonnegative(),
  stepKey: z.string().optional(),
  /** The business state that lasts too long. */
  businessState: z.string().optional(),
  title: z.string(),
  text: z.string(),
  link: z.string(),
  /** `over` once what it is about is over. */
  state: z.enum(['open', 'acknowledged', 'over']),
  /** 0: told to those who own the work; 1: passed on to the admins. */
  level: z.number().int().nonnegative(),
  openedAt: z.number(),
  by: z.string().optional(),
  endedAt: z.number().optional(),
  expiresAt: z.number(),
});
export type AlertRecord = z.infer<typeof alertRecordSchema>;

/** Something that must be looked at again at a time: whether the run has ended, or left a business state. */
export const watchRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  runId: z.string(),
  kind: z.enum(['run', 'state']),
  businessState: z.string().optional(),
  /** When the state was entered; the same state entered later has a watch of its own. */
  since: z.number(),
  at: z.number(),
  due: z.string().optional(),
});
export type WatchRecord = z.infer<typeof watchRecordSchema>;
