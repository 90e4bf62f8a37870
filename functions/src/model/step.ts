import { z } from 'zod';
import { errorRecordSchema } from './errors.ts';
import { payloadSchema } from './payload.ts';

export const stepStates = ['ready', 'running', 'waiting', 'unresolved', 'succeeded', 'failed', 'skipped', 'cancelled'] as const;
export type StepState = (typeof stepStates)[number];

export const liveStepStates = ['ready', 'running', 'waiting', 'unresolved'] as const satisfies readonly StepState[];

export function isLive(state: StepState): boolean {
  return (liveStepStates as readonly StepState[]).includes(state);
}

/** One loop that encloses the step: which iteration this is, of how many, in how many lanes. */
export const loopFrameSchema = z.strictObject({
  stepId: z.string(),
  index: z.number().int().nonnegative(),
  count: z.number().int().nonnegative(),
  lanes: z.number().int().positive(),
});
export type LoopFrame = z.infer<typeof loopFrameSchema>;

export const attemptSchema = z.strictObject({
  n: z.number().int().positive(),
  startedAt: z.number(),
  endedAt: z.number().optional(),
  outcome: z.enum(['succeeded', 'failed', 'lost', 'discarded']).optional(),
  error: errorRecordSchema.optional(),
  /** When the next attempt is due. */
  nextAt: z.number().optional(),
});
export type Attempt = z.infer<typeof attemptSchema>;

/** What a waiting step waits for. */
export const waitSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('timer') }),
  z.strictObject({ kind: z.literal('retry') }),
  z.strictObject({ kind: z.literal('slot'), limit: z.string() }),
  z.strictObject({ kind: z.literal('children') }),
  z.strictObject({ kind: z.literal('approval'), approvalId: z.string() }),
  z.strictObject({ kind: z.literal('event'), waitId: z.string(), event: z.string(), key: z.string().optional() }),
  z.strictObject({ kind: z.literal('run'), runId: z.string() }),
  z.strictObject({ kind: z.literal('document'), path: z.string() }),
  /** Code workflows: the result is recorded; it waits for its turn to be handed to the code. */
  z.strictObject({ kind: z.literal('turn') }),
]);
export type Wait = z.infer<typeof waitSchema>;

/** What an attempt that is under way has so far; of no meaning when the step is not running, or another attempt is. */
const stepProgressSchema = z.strictObject({
  attempt: z.number().int().positive(),
  chars: z.number().int().nonnegative(),
  /** Its end, where it is long. */
  text: z.string(),
  at: z.number(),
});
export type StepProgress = z.infer<typeof stepProgressSchema>;

/** One step run. Everything that the next transition needs is in this document. */
export const stepRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  runId: z.string(),
  key: z.string(),
  stepId: z.string(),
  type: z.string(),
  kind: z.enum(['graph', 'code']),
  workflowId: z.string(),
  version: z.number().int().nonnegative(),
  state: z.enum(stepStates),
  /** `paused` while an operator holds the run: nothing begins. */
  gate: z.enum(['open', 'paused']),
  loops: z.array(loopFrameSchema),
  /** Steps so far on this path, this one included. */
  seq: z.number().int().nonnegative(),
  /** Time this path was active before this step, in ms. */
  activeMs: z.number().nonnegative(),
  deadlineAt: z.number().optional(),
  attempt: z.number().int().nonnegative(),
  attempts: z.array(attemptSchema),
  lease: z.strictObject({ token: z.string(), until: z.number() }).optional(),
  wait: waitSchema.optional(),
  wakeAt: z.number().optional(),
  due: z.string().optional(),
  input: payloadSchema.optional(),
  output: payloadSchema.optional(),
  error: errorRecordSchema.optional(),
  createdAt: z.number(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** Who or what created it, for the timeline: the key of the step before. */
  after: z.string().optional(),
  /** Step-type specific facts for people: provenance, effect, tool, branch taken; JSON text. */
  details: z.string().optional(),
  progress: stepProgressSchema.optional(),
  /** For `$join`: why it fires (`complete`, or the lane that decided early). */
  join: z
    .strictObject({
      owner: z.string(),
      ownerKey: z.string(),
      reason: z.enum(['complete', 'failed', 'succeeded']),
      /** The lane that fired it, and where its failure is recorded. */
      lane: z.number().int().nonnegative(),
      mark: z.string().optional(),
      /** Sum of the lanes' `seq`, and their number, to count the steps after the join. */
      seqSum: z.number().int().nonnegative(),
      lanes: z.number().int().positive(),
    })
    .optional(),
  /** Code workflows: the journal as far as it was known when the step was created; a line of JSON and a line an entry. */
  baton: z.string().optional(),
  /** Code workflows: the step's outcome is known (`output`, or `turnError`), and the code has not seen it yet. */
  turn: z.boolean().optional(),
  turnError: errorRecordSchema.optional(),
  /** The effect that it holds while nobody knows whether it happens: a document of `effects`. */
  effect: z.string().optional(),
  /** A person allowed exactly this: the digest of what was shown. */
  permission: z.strictObject({ digest: z.string(), approvalId: z.string() }).optional(),
  /** Input, output and errors are for operators and named approvers; `run`: those of everything that follows, too. */
  sensitive: z.enum(['step', 'run']).optional(),
  /** An operator's edited input for the next attempt. */
  editedInput: payloadSchema.optional(),
  traceparent: z.string().optional(),
  expiresAt: z.number().optional(),
});
export type StepRecord = z.infer<typeof stepRecordSchema>;
