import { z } from 'zod';

/** What a doorbell carries: ids only; the document says the rest. */
export const ringSchema = z.strictObject({
  accountId: z.string().min(1),
  runId: z.string().min(1),
  key: z.string().min(1),
  hop: z.number().int().nonnegative(),
});
export type Ring = z.infer<typeof ringSchema>;
