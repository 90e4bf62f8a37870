import { z } from 'zod';

export const commandKinds = [
  'pause',
  'resume',
  'cancel',
  'retry',
  'skip',
  'override_wait',
  'extend_deadline',
  'compensate',
  'resolve',
  'fork',
  'accept_mismatch',
] as const;
export type CommandKind = (typeof commandKinds)[number];

/** What an operator asks of a run; `result` is written by the engine. */
export const commandRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  runId: z.string(),
  kind: z.enum(commandKinds),
  by: z.string(),
  reason: z.string().min(1).max(2_000),
  at: z.unknown(),
  stepKey: z.string().optional(),
  /** Edited input, supplied output, new deadline, or target version, as JSON text. */
  argument: z.string().max(500_000).optional(),
  status: z.enum(['pending', 'done', 'refused']),
  result: z.string().optional(),
  endedAt: z.number().optional(),
  due: z.string().optional(),
});
export type CommandRecord = z.infer<typeof commandRecordSchema>;
