import { z } from 'zod';
import { errorRecordSchema } from './errors.ts';

/** Created by the commit that ends a run; what happens after a run hangs on it. */
export const completionRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  runId: z.string(),
  status: z.string(),
  at: z.number(),
  due: z.string().optional(),
  expiresAt: z.number().optional(),
});
export type CompletionRecord = z.infer<typeof completionRecordSchema>;

/** One delivery: a mail, a webhook; or an alert, which becomes a notification and a mail for each person. Attempted until it is sent or a day has passed. */
export const outboxRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  id: z.string(),
  kind: z.enum(['mail', 'webhook', 'kb', 'document', 'alert']),
  /** Mail address, URL or path. */
  to: z.string(),
  subject: z.string().optional(),
  /** Body: text of the mail, JSON of the webhook. */
  body: z.string(),
  link: z.string().optional(),
  /** Name of the secret that signs a webhook. */
  secret: z.string().optional(),
  runId: z.string().optional(),
  /** Of the run that sends it, so that systems which call each other in circles are noticed. */
  chainDepth: z.number().int().nonnegative().optional(),
  state: z.enum(['queued', 'sending', 'sent', 'failed']),
  attempt: z.number().int().nonnegative(),
  leaseUntil: z.number().optional(),
  nextAt: z.number().optional(),
  error: errorRecordSchema.optional(),
  createdAt: z.number(),
  sentAt: z.number().optional(),
  due: z.string().optional(),
  expiresAt: z.number().optional(),
});
export type OutboxRecord = z.infer<typeof outboxRecordSchema>;

/** Shown in the app to one person. */
export const notificationRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  id: z.string(),
  to: z.string(),
  kind: z.enum(['approval', 'reminder', 'escalation', 'handoff', 'notify', 'alert', 'decided']),
  title: z.string(),
  body: z.string(),
  link: z.string().optional(),
  runId: z.string().optional(),
  createdAt: z.number(),
  readAt: z.number().optional(),
  expiresAt: z.number().optional(),
});
export type NotificationRecord = z.infer<typeof notificationRecordSchema>;
