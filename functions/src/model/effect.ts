import { z } from 'zod';
import { payloadSchema } from './payload.ts';

/**
 * One effect in the outside world, by its business key: `effects/{sha256 of the key}`. It is written before the effect is brought
 * about, so whoever comes second sees that somebody is at it, or was.
 */
export const effectRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  key: z.string(),
  /** `claimed`: an attempt may be acting now. `settled`: it happened, with this result. `unknown`: nobody knows whether it happened. */
  state: z.enum(['claimed', 'settled', 'unknown']),
  runId: z.string(),
  stepKey: z.string(),
  /** The attempt that holds it. An attempt of that number which never began did nothing. */
  attempt: z.number().int().positive(),
  /** Digest of what was asked, to see whether a later request under the same key asks for something else. */
  request: z.string(),
  result: payloadSchema.optional(),
  /** How often the same effect was asked for again and not repeated. */
  prevented: z.number().int().nonnegative(),
  claimedAt: z.number(),
  settledAt: z.number().optional(),
});
export type EffectRecord = z.infer<typeof effectRecordSchema>;
