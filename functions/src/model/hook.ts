import { z } from 'zod';

/** An address that outside systems post to: `/hooks/{account}/{hook}`. Starts a run or delivers an event. */
export const hookRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  hookId: z.string(),
  /** The signature scheme, as the webhooks service knows it. */
  scheme: z.json(),
  /** Names of the secrets whose values are keys; several while one is being replaced. */
  keys: z.array(z.string()).min(1),
  contentType: z.string().optional(),
  /** Only deliveries with one of these event names are taken; others are answered 202 and ignored. */
  events: z.array(z.string()).optional(),
  target: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('start'), workflowId: z.string() }),
    /** `key` is a template over the body: `{{workflow_input.order.id}}`. */
    z.strictObject({ kind: z.literal('event'), name: z.string(), key: z.string().optional() }),
  ]),
  active: z.boolean(),
  maxBytes: z.number().int().positive().optional(),
  /** Deliveries taken in each span of time; the others are answered 429. Default: 600 a minute. */
  rateLimit: z.strictObject({ limit: z.number().int().min(1).max(100_000), per: z.union([z.number(), z.string()]) }).optional(),
});
export type HookRecord = z.infer<typeof hookRecordSchema>;
