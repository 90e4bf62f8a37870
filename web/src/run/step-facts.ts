import { z } from 'zod';

const callSchema = z.looseObject({
  usage: z.looseObject({ inputTokens: z.number().optional(), outputTokens: z.number().optional() }).nullish(),
  latencyMs: z.number().nullish(),
  reused: z.boolean().optional(),
});
const sourceSchema = z.looseObject({
  title: z.string(),
  version: z.number().optional(),
  heading: z.string().optional(),
  score: z.number().optional(),
});

/** What a step type notes about its work, as far as people want to see it apart: model, tokens, cost and sources. */
const factsSchema = z.looseObject({
  model: z.string().nullish(),
  responseModel: z.string().nullish(),
  costMicroUsd: z.number().nullish(),
  calls: z.array(callSchema).optional().catch(undefined),
  context: z.array(sourceSchema).optional().catch(undefined),
});

export interface Source {
  readonly title: string;
  readonly heading: string;
  readonly score: number | undefined;
}

export interface StepFacts {
  readonly model?: string;
  readonly latencyMs?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly costUsd?: number;
  readonly sources: readonly Source[];
}

export function factsOf(details: string | undefined): StepFacts {
  const parsed = factsSchema.safeParse(jsonOf(details));
  if (!parsed.success) return { sources: [] };
  const { model, responseModel, costMicroUsd, calls = [], context = [] } = parsed.data;
  const shownModel = responseModel ?? model ?? undefined;
  const paid = calls.filter((call) => call.reused !== true);
  const total = (of: (call: (typeof calls)[number]) => number | null | undefined): number =>
    paid.reduce((sum, call) => sum + (of(call) ?? 0), 0);
  return {
    sources: context.map(({ title, heading = '', score }) => ({ title, heading, score })),
    ...(shownModel === undefined ? {} : { model: shownModel }),
    ...(paid.length === 0
      ? {}
      : {
          inputTokens: total((call) => call.usage?.inputTokens),
          outputTokens: total((call) => call.usage?.outputTokens),
          latencyMs: total((call) => call.latencyMs),
        }),
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
