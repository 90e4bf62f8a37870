import { z } from 'zod';

/** Counters of an account, for one day or of all time, spread over several documents so that no one has many writers. */
export const metricsRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  /** `2026-03-02` (UTC), or `total`. */
  period: z.string(),
  shard: z.number().int().nonnegative(),
  /** JSON text: series to number. */
  series: z.string(),
  updatedAt: z.number(),
  due: z.string().optional(),
  expiresAt: z.number().optional(),
});
export type MetricsRecord = z.infer<typeof metricsRecordSchema>;

/** Says of a run that it has been counted, and as what: `runs/{id}/marks/metrics`. */
export const countedRecordSchema = z.strictObject({ v: z.literal(1), status: z.string(), at: z.number() });

/** The figures of one day, made from its counters: `rollups/{day}`. What the app's charts read. */
export const rollupRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  day: z.string(),
  /** Runs that ended, by status. */
  runs: z.record(z.string(), z.number()),
  steps: z.number(),
  retries: z.number(),
  preventedDuplicates: z.number(),
  tokens: z.number(),
  costUsd: z.number(),
  /** Seconds that runs waited for people, and how many requests they were. */
  humanWaitSeconds: z.number(),
  humanWaits: z.number(),
  escalations: z.number(),
  exceptions: z.strictObject({ business: z.number(), technical: z.number() }),
  reconciliations: z.record(z.string(), z.number()),
  compensations: z.record(z.string(), z.number()),
  /** JSON text: every series of the day; of histograms the sum and the count. */
  series: z.string(),
  updatedAt: z.number(),
});
export type RollupRecord = z.infer<typeof rollupRecordSchema>;
