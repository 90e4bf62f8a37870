import { z } from 'zod';

/** What a step type notes about its work, as far as people want to see it apart: model, tokens and cost. */
const factsSchema = z.looseObject({
  model: z.string().optional(),
  responseModel: z.string().optional(),
  latencyMs: z.number().optional(),
  costMicroUsd: z.number().nullish(),
  usage: z.looseObject({ inputTokens: z.number().optional(), outputTokens: z.number().optional() }).optional(),
});

export interface StepFacts {
  readonly model?: string;
  readonly latencyMs?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly costUsd?: number;
}

export function factsOf(details: string | undefined): StepFacts {
  const parsed = factsSchema.safeParse(jsonOf(details));
  if (!parsed.success) return {};
  const { model, responseModel, latencyMs, usage, costMicroUsd } = parsed.data;
  const shownModel = responseModel ?? model;
  return {
    ...(shownModel === undefined ? {} : { model: shownModel }),
    ...(latencyMs === undefined ? {} : { latencyMs }),
    ...(usage?.inputTokens === undefined ? {} : { inputTokens: usage.inputTokens }),
    ...(usage?.outputTokens === undefined ? {} : { outputTokens: usage.outputTokens }),
    ...(costMicroUsd === undefined || costMicroUsd === null ? {} : { costUsd: costMicroUsd / 1_000_000 }),
  };
}

function jsonOf(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
