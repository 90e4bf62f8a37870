import { z } from 'zod';
import { checkCondition, evaluateCondition } from '../engine/conditions.ts';
import type { Json } from '../engine/json.ts';
import type { Problem } from '../engine/problem.ts';
import { templatesIn } from '../engine/templates.ts';
import { BusinessException, KilnError, toErrorRecord } from '../model/errors.ts';
import { recipeBodyShape, runContextSchema } from '../model/recipe.ts';
import type { RecipeBody, RunContext } from '../model/recipe.ts';
import type { LlmMessage } from '../services/llm.ts';
import { taintWrites } from './guarded.ts';
import { Asking, costOf, promptHash } from './recipe-answer.ts';
import type { Answer } from './recipe-answer.ts';
import { messagesOf, withInputs } from './recipe-messages.ts';
import type { Passage } from './recipe-messages.ts';
import { passagesFor, retrieveSchema } from './recipe-passages.ts';
import { correctionSchema, handToPerson } from './recipe-review.ts';
import type { EffectStepType, Performed, PerformContext, PreflightContext, StepServices } from './step-type.ts';

const schema = z
  .strictObject({
    type: z.literal('recipe'),
    ...recipeBodyShape,
    prompt: recipeBodyShape.prompt.optional(),
    /** A published recipe, by its id; its `{{input.x}}` are the step's inputs. Its newest version when the run begins, unless pinned. */
    recipe: z
      .union([z.string().min(1).max(128), z.strictObject({ id: z.string().min(1).max(128), version: z.number().int().positive() })])
      .optional(),
    /** Whether the workflow's context documents are used. Default true. */
    context: z.boolean().optional(),
    /** Looks for passages that fit instead of taking documents as a whole. */
    retrieve: retrieveSchema.optional(),
    /** Shows the answer on the step while the model writes it: a write a second at most. Default false. */
    stream: z.boolean().optional(),
    /** CEL over `output` and `input`: a person looks at the answer. A model's own word about its confidence is weak evidence. */
    reviewIf: z.string().min(1).max(4_000).optional(),
    /** CEL over `output` and `input`: the answer is that there is not enough evidence; the business exception `abstained`. */
    abstainIf: z.string().min(1).max(4_000).optional(),
    /** Who corrects an answer that cannot be used; `false`: the step fails instead. */
    correction: z.union([z.literal(false), correctionSchema]).optional(),
  })
  .refine(({ prompt, recipe }) => (prompt === undefined) !== (recipe === undefined), 'give either "prompt" or "recipe"');
type Config = z.infer<typeof schema>;

const DEFAULT_MODEL = 'gpt-5-mini';

export const recipe: EffectStepType<Config> = {
  type: 'recipe',
  title: 'Recipe',
  description: 'Asks a language model, checks the answer against a schema and rules, and hands what cannot be used to a person.',
  kind: 'effect',
  schema,
  idempotent: true,
  limit: 'llm',
  literalFields: ['schema', 'examples', 'policy', 'reviewIf', 'abstainIf', 'correction', 'recipe'],
  schemaFields: ['schema'],
  outputSchema: (config) => (config['recipe'] === undefined ? (config['schema'] ?? { type: 'string' }) : undefined),
  preflight,
  perform,
};

interface Plan {
  readonly body: RecipeBody;
  /** `id@version` of a published recipe. */
  readonly source: string | undefined;
  readonly passages: readonly Passage[];
  readonly messages: readonly LlmMessage[];
}

async function perform(context: PerformContext<Config>): Promise<Performed> {
  const { config, services, timeoutMs } = context;
  const plan = await planOf(context);
  const models = [plan.body.model ?? services.defaultModel ?? DEFAULT_MODEL, ...(plan.body.fallbackModels ?? [])];
  // Each model gets its share of the time, so that one that hangs leaves some for the next.
  const asking = new Asking(context, plan.body, Math.max(1, Math.floor(timeoutMs / models.length)), config.stream === true);
  let answer: Answer;
  try {
    answer = await firstAnswer(asking, models, plan.messages);
  } catch (error) {
    if (!(error instanceof KilnError) || asking.calls.length === 0) throw error;
    return { failure: error, details: detailsOf(plan, asking) };
  }
  const details = detailsOf(plan, asking);
  const taint = plan.passages.length === 0 ? [] : await taintWrites(context);
  const { correction = {} } = config;
  const { abstains, reasons } =
    answer.faults.length > 0 ? { abstains: false, reasons: answer.faults } : routeOf(config, context.input, answer);
  if (abstains) {
    const data = { abstained: true, answer: answer.value };
    return { failure: new BusinessException('abstained', data, `${answer.model} has not enough evidence for an answer`), details };
  }
  if (reasons.length === 0) return { output: answer.value, details, writes: taint };
  if (correction === false) {
    if (answer.faults.length > 0) return { failure: unusable(answer), details };
    return { output: answer.value, details, writes: taint };
  }
  try {
    const entered = await handToPerson(context, { answer, schema: plan.body.schema, reasons, correction, details });
    return { wait: { ...entered, writes: [...entered.writes, ...taint] } };
  } catch (error) {
    // Nobody is there to correct it: the fault of the answer says more than that.
    if (answer.faults.length > 0 && error instanceof KilnError && error.code === 'approval.no_eligible')
      return { failure: unusable(answer), details };
    throw error;
  }
}

function unusable({ faults, model, text }: Answer): KilnError {
  return new KilnError('schema.mismatch', `the answer of ${model} cannot be used: ${faults.slice(0, 5).join('; ')}`, {
    data: { answer: text.slice(0, 2_000), faults },
  });
}

async function planOf(context: PerformContext<Config>): Promise<Plan> {
  const { config, services, input } = context;
  const wantsContext = config.context !== false;
  // One read, where the run has settled something for its recipes.
  const needsRun = typeof config.recipe === 'string' || wantsContext;
  const run = needsRun && (await hasContext(context)) ? contextOf(await context.facts()) : undefined;
  const { body, source } = await bodyOf(services, context.ref.accountId, config, input, run);
  const passages = await passagesFor(context, {
    retrieve: config.retrieve,
    useContext: wantsContext,
    context: run,
    prompt: body.prompt,
  });
  return { body, source, passages, messages: messagesOf(body, passages) };
}

/** Whether the run can have settled anything: only its definition says so, and that is at hand. */
async function hasContext({ ref, run, config, definitions }: PerformContext<Config>): Promise<boolean> {
  if (typeof config.recipe === 'string') return true;
  if (run.kind === 'code') return false;
  const { definition } = await definitions.get(ref.accountId, run.workflowId, run.version);
  return definition.context !== undefined;
}

function contextOf({ context }: { readonly context?: string | undefined }): RunContext | undefined {
  return context === undefined ? undefined : runContextSchema.parse(JSON.parse(context));
}

async function bodyOf(
  services: StepServices,
  accountId: string,
  config: Config,
  input: Json,
  run: RunContext | undefined,
): Promise<{ readonly body: RecipeBody; readonly source: string | undefined }> {
  if (config.recipe === undefined) return { body: { ...config, prompt: config.prompt ?? '' }, source: undefined };
  const { recipes } = services;
  const id = typeof config.recipe === 'string' ? config.recipe : config.recipe.id;
  const version = typeof config.recipe === 'string' ? (run?.recipes[id] ?? (await recipes?.latest(accountId, id))) : config.recipe.version;
  if (recipes === undefined || version === undefined) throw new KilnError('recipe.not_found', `there is no recipe "${id}" in this account`);
  const published = await recipes.version(accountId, id, version);
  const own = config.model === undefined ? {} : { model: config.model };
  return { body: withInputs({ ...published, ...own }, input), source: `${id}@${version}` };
}

/** Other models are asked when one is out of reach, out of quota, or does not want to. */
async function firstAnswer(asking: Asking, models: readonly string[], messages: readonly LlmMessage[]): Promise<Answer> {
  let last: unknown;
  for (const [n, model] of models.entries()) {
    try {
      const answer = await asking.answer(model, messages);
      if (answer.faults.length === 0 || n === models.length - 1) return answer;
      last = unusable(answer);
    } catch (error) {
      if (!(error instanceof KilnError) || error.code === 'secret.missing' || error.code === 'run.cancelled') throw error;
      last = error;
    }
  }
  throw last;
}

/** Where an answer that keeps its form goes. A condition that cannot be evaluated on it is a reason to look at it, not to go on. */
function routeOf(
  { reviewIf, abstainIf }: Config,
  input: Json,
  answer: Answer,
): { readonly abstains: boolean; readonly reasons: readonly string[] } {
  const reasons: string[] = [];
  const holds = (expression: string | undefined): boolean => {
    if (expression === undefined) return false;
    try {
      return evaluateCondition(expression, { output: answer.value, input });
    } catch (error) {
      reasons.push(`${expression}: ${toErrorRecord(error).message}`);
      return false;
    }
  };
  const abstains = holds(abstainIf);
  if (holds(reviewIf)) reasons.push(`the workflow asks for a look at such answers: ${reviewIf ?? ''}`);
  return { abstains: abstains && reasons.length === 0, reasons };
}

/** Where the answer is from, and what it cost: everything that an audit asks. */
function detailsOf({ source, passages, messages, body }: Plan, { calls }: Asking): Json {
  const last = calls.at(-1)?.record;
  return {
    ...(source === undefined ? {} : { recipe: source }),
    model: last?.model ?? null,
    responseModel: last?.responseModel ?? null,
    promptHash: promptHash(messages),
    schemaHash: body.schema === undefined ? null : promptHash([{ role: 'system', content: JSON.stringify(body.schema) }]),
    parameters: {
      temperature: body.temperature ?? null,
      topP: body.topP ?? null,
      maxTokens: body.maxTokens ?? null,
      seed: body.seed ?? null,
    },
    context: passages.map(({ citation }) => ({ ...citation })) as Json,
    calls: calls.map(({ record, reused }) => ({ ...record, reused })) as unknown as Json,
    costMicroUsd: costOf(calls),
  };
}

async function preflight(config: Config, { place, services, accountId }: PreflightContext): Promise<readonly Problem[]> {
  const at = (path: string, found: readonly Problem[]): Problem[] =>
    found.map((problem) => ({ ...problem, path: `${place.path}.${path}` }));
  const rules = (config.policy ?? []).flatMap((rule, n) => at(`policy[${n}]`, checkCondition(typeof rule === 'string' ? rule : rule.rule)));
  const routes = (['reviewIf', 'abstainIf'] as const).flatMap((field) =>
    at(field, config[field] === undefined ? [] : checkCondition(config[field])),
  );
  const llm: Problem[] =
    services.llm === undefined
      ? [{ path: place.path, code: 'secret.missing', message: 'no language model is configured: set OPENAI_API_KEY' }]
      : [];
  return [
    ...llm,
    ...rules,
    ...routes,
    ...(await inputProblems(config, place.path, services, accountId, Object.keys(place.step.inputs ?? {}))),
  ];
}

/** The inputs that a published recipe asks for are there. */
async function inputProblems(
  { recipe: used }: Config,
  path: string,
  { recipes }: StepServices,
  accountId: string,
  given: readonly string[],
): Promise<readonly Problem[]> {
  if (used === undefined) return [];
  try {
    const id = typeof used === 'string' ? used : used.id;
    const version = typeof used === 'string' ? await recipes?.latest(accountId, id) : used.version;
    if (recipes === undefined || version === undefined)
      throw new KilnError('recipe.not_found', `there is no recipe "${id}" in this account`);
    const { prompt, system = '' } = await recipes.version(accountId, id, version);
    const wanted = templatesIn([prompt, system]).references.flatMap(({ reference }) =>
      reference.root === 'input' && reference.fallback === undefined && typeof reference.path[0] === 'string' ? [reference.path[0]] : [],
    );
    return [...new Set(wanted)]
      .filter((name) => !given.includes(name))
      .map((name): Problem => ({
        path: `${path}.inputs`,
        code: 'template.missing_path',
        message: `the recipe "${id}" needs the input "${name}"`,
      }));
  } catch (error) {
    if (!(error instanceof KilnError)) throw error;
    return [{ path: `${path}.recipe`, code: error.code, message: toErrorRecord(error).message }];
  }
}
