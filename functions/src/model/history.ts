import { z } from 'zod';

/** What is written down in words: decisions, commands, changes of members, starts and ends. Never a step's ordinary progress. */
export const historyEntrySchema = z.strictObject({
  v: z.literal(1),
  /** 1, 2, 3 … without a gap. */
  n: z.number().int().positive(),
  /** Database time, ms. */
  at: z.number(),
  kind: z.string(),
  /** A uid, `run:…`, or `system`. */
  by: z.string(),
  /** One plain sentence. */
  text: z.string(),
  /** Facts for machines, as canonical JSON text. */
  data: z.string().optional(),
  /** Hash of the entry before; of the first one, 64 zeros. */
  prev: z.string().length(64),
  /** SHA-256 over the canonical JSON of everything above. */
  hash: z.string().length(64),
});
export type HistoryEntry = z.infer<typeof historyEntrySchema>;
