import { z } from 'zod';

/** One of the places that a limit has: `limits/{name}/slots/{n}`. Free when it does not exist or its time is over. */
export const slotRecordSchema = z.strictObject({
  v: z.literal(1),
  /** Who holds it: a run, or a step of one. */
  holder: z.string(),
  /** A run holds its place until it ends: when the time is over, it is looked whether the run has. */
  kind: z.enum(['call', 'run', 'window']),
  until: z.number(),
});
export type SlotRecord = z.infer<typeof slotRecordSchema>;

/** Names of limits in the account's document: `{limits: {llm: 10}}`. */
export const limitNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export const accountLimitsSchema = z.looseObject({
  limits: z.record(z.string(), z.number().int().min(1).max(1_000)).optional(),
});

/** What holds where the account says nothing else. */
export const defaultLimits: Readonly<Record<string, number>> = { llm: 10 };
