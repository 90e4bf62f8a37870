import { z } from 'zod';
import { digest, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { validateAgainst } from '../engine/schema-check.ts';
import { KilnError } from '../model/errors.ts';
import { completionError } from '../services/llm.ts';
import type { Completion } from '../services/llm.ts';
import { cost } from '../services/prices.ts';
import type { EffectStepType } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('recipe'),
  /** The prompt, with templates. */
  prompt: z.string().min(1).max(100_000),
  system: z.string().max(50_000).optional(),
  model: z.string().max(200).optional(),
  /** JSON Schema of the answer; without it the answer is text. */
  schema: z.json().optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.number().int().min(1).optional(),
  seed: z.number().int().optional(),
});

export const recipe: EffectStepType<z.infer<typeof schema>> = {
  type: 'recipe',
  title: 'Recipe',
  description: 'Fills a prompt in, asks a language model, and checks the answer against a schema.',
  kind: 'effect',
  schema,
  idempotent: true,
  literalFields: ['schema'],
  schemaFields: ['schema'],
  outputSchema: (config) => config['schema'] ?? { type: 'string' },
  async perform({ config, services, timeoutMs, signal }) {
    if (services.llm === undefined) throw new KilnError('secret.missing', 'no language model is configured: set OPENAI_API_KEY');
    const answerSchema = config.schema as { readonly [key: string]: Json } | undefined;
    const model = config.model ?? services.defaultModel ?? 'gpt-5-mini';
    const completion = await services.llm.complete({
      model,
      messages: [
        ...(config.system === undefined ? [] : [{ role: 'system', content: config.system } as const]),
        { role: 'user', content: config.prompt },
      ],
      ...(answerSchema === undefined ? {} : { responseSchema: answerSchema }),
      parameters: {
        ...(config.temperature === undefined ? {} : { temperature: config.temperature }),
        ...(config.maxTokens === undefined ? {} : { maxTokens: config.maxTokens }),
        ...(config.seed === undefined ? {} : { seed: config.seed }),
      },
      timeoutMs,
      signal,
    });
    const fault = completionError(completion);
    if (fault !== undefined) throw fault;
    const output = answerSchema === undefined ? completion.text : checkedAnswer(completion, answerSchema);
    return { output, details: provenance(completion, config.prompt, model) };
  },
};

function checkedAnswer(completion: Completion, schema: Json): Json {
  const value = completion.parsed ?? parseJson(completion.text);
  const problems = validateAgainst(schema, value);
  if (problems.length === 0) return value;
  const list = problems.slice(0, 5).map((problem) => `${problem.path || '/'}: ${problem.message}`);
  throw new KilnError('schema.mismatch', `the model's answer does not match the schema: ${list.join('; ')}`, {
    data: { answer: completion.text.slice(0, 2_000) },
  });
}

function provenance(completion: Completion, prompt: string, model: string): Json {
  const { usage } = completion;
  return {
    model,
    responseModel: completion.model,
    promptHash: digest(prompt),
    requestId: completion.requestId ?? null,
    latencyMs: completion.latencyMs,
    ...(usage === undefined ? {} : { usage: { ...usage }, costMicroUsd: cost(usage, completion.model) ?? null }),
  };
}
