import { z } from 'zod';
import { digest } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { approversSchema, quorumSchema } from '../model/approval.ts';
import type { Evidence } from '../model/approval.ts';
import { enterApproval } from './approval.ts';
import type { Answer } from './recipe-answer.ts';
import type { Entered, PerformContext } from './step-type.ts';

/** Who corrects an answer, and until when. */
export const correctionSchema = z.strictObject({
  title: z.string().min(1).max(300).optional(),
  approvers: approversSchema.optional(),
  quorum: quorumSchema.optional(),
  deadline: z.union([z.number(), z.string()]).optional(),
  /** Whether the starter of the run is kept from correcting. Default false: who started it often knows best. */
  fourEyes: z.boolean().optional(),
});
export type Correction = z.infer<typeof correctionSchema>;

const DEFAULT_APPROVERS = { roles: ['approver', 'operator', 'admin'] };
const SHOWN_CHARS = 20_000;

export interface Review {
  readonly answer: Answer;
  readonly schema: Json | undefined;
  /** Why a person is asked, in words. */
  readonly reasons: readonly string[];
  readonly correction: Correction;
  /** What the attempt found out and cost. */
  readonly details: Json;
}

/** Hands an answer to a person. The values that the person accepts, edited or not, become the output of the step. */
export async function handToPerson(context: PerformContext<object>, review: Review): Promise<Entered> {
  const { ref, run, now, documentId, facts, starters, definitions, services, config } = context;
  const { answer, schema, correction } = review;
  const evidence: Evidence[] = [
    { kind: 'text', title: 'Why you are asked', text: review.reasons.join('\n') },
    { kind: 'text', title: `Answer of ${answer.model}`, text: answer.text.slice(0, SHOWN_CHARS) },
  ];
  const entered = await enterApproval(
    {
      ref,
      run,
      now,
      stepCreatedAt: now,
      input: {},
      documentId,
      facts,
      starters,
      definitions,
      services,
      config: {
        type: 'approval',
        id: config.id,
        title: correction.title ?? `Check the answer of "${config.name ?? ref.key}"`.slice(0, 300),
        effect: 'the run goes on with the values below as you leave them',
        evidence,
        approvers: correction.approvers ?? (correction.quorum === undefined ? DEFAULT_APPROVERS : {}),
        ...(correction.quorum === undefined ? {} : { quorum: correction.quorum }),
        form: schema ?? { type: 'string' },
        values: answer.value,
        fourEyes: correction.fourEyes ?? false,
        ...(correction.deadline === undefined ? {} : { deadline: correction.deadline }),
        sensitive: config.sensitive,
      },
    },
    { purpose: 'correction', subject: digest(answer.text) },
  );
  return { ...entered, details: review.details };
}
