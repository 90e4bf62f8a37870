import { z } from 'zod';
import { errorRecordSchema } from './errors.ts';

/** The check of a completed run's outcome in the system of record, at `reconciliations/{runId}`. */
export const reconciliationRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  runId: z.string(),
  workflowId: z.string(),
  version: z.number().int().nonnegative(),
  state: z.enum(['pending', 'reconciled', 'mismatch', 'accepted']),
  attempt: z.number().int().nonnegative(),
  /** From then on a difference is final. */
  giveUpAt: z.number(),
  nextAt: z.number().optional(),
  leaseUntil: z.number().optional(),
  checkedAt: z.number().optional(),
  /** Canonical JSON of what the check found, as far as it is small. */
  found: z.string().optional(),
  error: errorRecordSchema.optional(),
  due: z.string().optional(),
});
export type ReconciliationRecord = z.infer<typeof reconciliationRecordSchema>;

/** Something that a person has to look at, with both sides: the exception queue, `exceptions/{id}`. */
export const exceptionRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  id: z.string(),
  kind: z.enum(['mismatch', 'business']),
  runId: z.string(),
  workflowId: z.string(),
  /** Of a business exception. */
  code: z.string().optional(),
  text: z.string(),
  /** JSON text: what the run did. */
  expected: z.string().optional(),
  /** JSON text: what the target system shows. */
  found: z.string().optional(),
  state: z.enum(['open', 'accepted', 'fixed']),
  openedAt: z.number(),
  by: z.string().optional(),
  endedAt: z.number().optional(),
});
export type ExceptionRecord = z.infer<typeof exceptionRecordSchema>;
