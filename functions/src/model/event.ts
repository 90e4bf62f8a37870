import { z } from 'zod';
import { payloadSchema } from './payload.ts';

/** The key of waits that take an event of any key. */
export const ANY_KEY = '*';

/** A fact from outside. Stored first, matched second; kept for the retention window so that a later wait finds it. */
export const eventRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  eventId: z.string(),
  name: z.string(),
  /** Correlation: waits with the same key, or without one, may take it. */
  key: z.string().optional(),
  /** Addressed to one run only. */
  runId: z.string().optional(),
  payload: payloadSchema,
  source: z.string(),
  receivedAt: z.number(),
  /** `new` until its trigger looked for waits; then how many took it. */
  state: z.enum(['new', 'handled']),
  taken: z.number().int().nonnegative(),
  /** Outsiders wrote it: a run that takes it or is started by it is tainted. */
  tainted: z.boolean().optional(),
  /** How many runs led to it. */
  chainDepth: z.number().int().nonnegative().optional(),
  /** Why a workflow that it should have started was not. */
  error: z.string().optional(),
  due: z.string().optional(),
  expiresAt: z.number(),
});
export type EventRecord = z.infer<typeof eventRecordSchema>;

/** What a waiting step waits for. Closed in the commit that ends the wait. */
export const waitRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  waitId: z.string(),
  runId: z.string(),
  stepKey: z.string(),
  name: z.string(),
  /** `*` where the wait takes events of any key. */
  key: z.string(),
  /** CEL over event (name, key, payload) and vars. */
  match: z.string().optional(),
  /** JSON text of values for the expression. */
  vars: z.string().optional(),
  /** Events received before this time do not count. */
  since: z.number(),
  state: z.enum(['open', 'closed']),
  createdAt: z.number(),
  endedAt: z.number().optional(),
  eventId: z.string().optional(),
  due: z.string().optional(),
  expiresAt: z.number().optional(),
});
export type WaitRecord = z.infer<typeof waitRecordSchema>;
