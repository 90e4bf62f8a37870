import { z } from 'zod';
import { payloadSchema } from './payload.ts';

/** A rule that an answer must keep: CEL over `output` and `input` that is true when it is kept. */
export const policyRuleSchema = z.union([
  z.string().min(1).max(4_000),
  z.strictObject({ rule: z.string().min(1).max(4_000), message: z.string().max(500).optional() }),
]);

/** What a model is asked, and what counts as an answer. Inline in a step, or published as a recipe of its own. */
export const recipeBodyShape = {
  prompt: z.string().min(1).max(100_000),
  system: z.string().max(50_000).optional(),
  model: z.string().min(1).max(200).optional(),
  /** Asked in this order when a model does not answer, or refuses. */
  fallbackModels: z.array(z.string().min(1).max(200)).max(5).optional(),
  /** JSON Schema of the answer; without it the answer is text. */
  schema: z.json().optional(),
  examples: z
    .array(z.strictObject({ input: z.string().max(20_000), output: z.json() }))
    .max(20)
    .optional(),
  policy: z.array(policyRuleSchema).max(50).optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  maxTokens: z.number().int().min(1).optional(),
  seed: z.number().int().optional(),
  reasoningEffort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
} as const;

export const recipeSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,127}$/),
  name: z.string().max(200).optional(),
  description: z.string().max(4_000).optional(),
  ...recipeBodyShape,
});
export type Recipe = z.infer<typeof recipeSchema>;
export type RecipeBody = Omit<Recipe, 'id' | 'name' | 'description'>;

/** `recipes/{id}/versions/{n}`: immutable. `json` is the canonical text that `hash` is taken of. */
export const recipeVersionRecordSchema = z.strictObject({
  v: z.literal(1),
  recipeId: z.string(),
  version: z.number().int().positive(),
  hash: z.string(),
  json: z.string(),
  publishedAt: z.number(),
  publishedBy: z.string(),
});
export type RecipeVersionRecord = z.infer<typeof recipeVersionRecordSchema>;

/** `recipes/{id}` */
export const recipeRecordSchema = z.strictObject({
  v: z.literal(1),
  recipeId: z.string(),
  name: z.string(),
  description: z.string().optional(),
  latest: z.number().int().positive(),
  hash: z.string(),
  updatedAt: z.number(),
});
export type RecipeRecord = z.infer<typeof recipeRecordSchema>;

export const usageSchema = z.strictObject({
  inputTokens: z.number(),
  cachedInputTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
});

/**
 * One provider call that was answered: `runs/{id}/answers/{stepKey}~{start of the content key}`. Stored before anything judges it, so
 * that a retry does not pay for it again. The costs of a run are the sum of these.
 */
export const answerRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  runId: z.string(),
  stepKey: z.string(),
  workflowId: z.string(),
  /** SHA-256 over messages, model, schema and parameters. */
  contentKey: z.string().length(64),
  attempt: z.number().int(),
  /** `repair`: the model was shown what was wrong with its answer. */
  purpose: z.enum(['answer', 'repair']),
  model: z.string(),
  responseModel: z.string(),
  usage: usageSchema.optional(),
  /** Millionths of a US dollar; null for a model without a known price. */
  costMicroUsd: z.number().nullable(),
  latencyMs: z.number(),
  requestId: z.string().optional(),
  finishReason: z.string().optional(),
  refusal: z.string().optional(),
  text: payloadSchema,
  at: z.number(),
});
export type AnswerRecord = z.infer<typeof answerRecordSchema>;

/** A document of the knowledge base that had a part in an answer. */
export const citationSchema = z.strictObject({
  documentId: z.string(),
  version: z.number().int(),
  title: z.string(),
  collection: z.string(),
  /** For a passage: where it stands, and how well it fitted. */
  heading: z.string().optional(),
  n: z.number().int().optional(),
  score: z.number().optional(),
  method: z.enum(['vector', 'keyword']).optional(),
});
export type Citation = z.infer<typeof citationSchema>;

/** What pre-flight settled for the whole run: `context` of the run, as JSON text. */
export const runContextSchema = z.strictObject({
  documents: z.array(citationSchema),
  /** The versions of the recipes that the run uses. */
  recipes: z.record(z.string(), z.number().int().positive()),
});
export type RunContext = z.infer<typeof runContextSchema>;

/** What a person made of an answer: `corrections/{approvalId}`. Data to judge models and thresholds by. */
export const correctionRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  approvalId: z.string(),
  runId: z.string(),
  stepKey: z.string(),
  workflowId: z.string(),
  /** Whether the person changed anything. */
  changed: z.boolean(),
  /** Canonical JSON; clipped at 100,000 characters. */
  answer: z.string(),
  accepted: z.string(),
  by: z.array(z.string()),
  comments: z.array(z.string()),
  at: z.number(),
});
export type CorrectionRecord = z.infer<typeof correctionRecordSchema>;
