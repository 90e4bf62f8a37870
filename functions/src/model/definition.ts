import { z } from 'zod';
import { limitNamePattern } from './limit.ts';
import { stepIdPattern } from './paths.ts';

/** Limits that hold for every definition; a run may lower or raise those that `limits` names. */
export const definitionLimits = {
  maxDefinitionBytes: 512 * 1024,
  maxNesting: 30,
  maxStepKeyBytes: 1_200,
  maxSteps: 10_000,
  maxLoopItems: 10_000,
  maxConcurrency: 1_000,
  maxChainDepth: 8,
} as const;

const durationSchema = z.union([z.number().nonnegative(), z.string().min(1)]);

export const retrySchema = z.strictObject({
  maxAttempts: z.number().int().min(1).max(100).optional(),
  baseMs: z.number().int().min(0).optional(),
  capMs: z.number().int().min(0).optional(),
  jitterMs: z.number().int().min(0).optional(),
  jitter: z.enum(['additive', 'full', 'equal', 'none']).optional(),
});

/** Where an input comes from. Any other JSON value is taken as it is, with its templates filled in. */
export const inputMappingSchema = z.discriminatedUnion('source', [
  z.strictObject({ source: z.literal('workflowInput'), path: z.string(), default: z.json().optional() }),
  z.strictObject({ source: z.literal('previousStep'), stepId: z.string(), path: z.string().optional(), default: z.json().optional() }),
  z.strictObject({ source: z.literal('static'), value: z.json() }),
  z.strictObject({ source: z.literal('loopItem'), path: z.string().optional(), default: z.json().optional() }),
]);
export type InputMapping = z.infer<typeof inputMappingSchema>;

export const stepIdSchema = z
  .string()
  .regex(stepIdPattern, 'a step id starts with a letter and has at most 64 letters, digits, "-" or "_"');

/** A name that becomes part of a step key: a branch, or the code of a business exception. */
export const branchNameSchema = z
  .string()
  .regex(stepIdPattern, 'a branch name starts with a letter and has at most 64 letters, digits, "-" or "_"')
  .refine((name) => name !== 'onException', 'onException is a reserved name');

/** What is undone, and how: another step’s configuration, run when the run compensates. */
const compensateSchema = z.looseObject({ type: z.string(), retry: retrySchema.optional(), timeout: durationSchema.optional() });

/** A step's configuration that looks an effect up. `happened` is CEL over its `output`, which is the step's own output then. */
const confirmSchema = z.looseObject({ type: z.string(), happened: z.string().min(1).max(4_000) });

const stepCommonShape = {
  id: stepIdSchema,
  type: z.string(),
  name: z.string().max(200).optional(),
  description: z.string().max(2_000).optional(),
  owner: z.string().max(200).optional(),
  /** Named inputs: mappings, or JSON with templates. */
  inputs: z.record(z.string(), z.json()).optional(),
  retry: retrySchema.optional(),
  timeout: durationSchema.optional(),
  /** True when repeating the step after a lost attempt is harmless. */
  idempotent: z.boolean().optional(),
  /** The business key of the effect, e.g. `payment:{{workflow_input.invoiceId}}`: applied at most once in the account. */
  effectKey: z.string().max(500).optional(),
  /** How to look up in the target whether an attempt without an answer took effect. */
  confirm: confirmSchema.optional(),
  /** A limit of the account that each attempt takes a place of, by its name. */
  limit: z.string().regex(limitNamePattern).optional(),
  continueOnError: z.boolean().optional(),
  compensate: compensateSchema.optional(),
  /** The business state that the run enters when the step succeeds. */
  setsState: z.string().max(100).optional(),
  /** Input and output are readable only by operators and named approvers. */
  sensitive: z.boolean().optional(),
} as const;

export interface StepCommon {
  readonly id: string;
  readonly type: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly owner?: string | undefined;
  readonly inputs?: Readonly<Record<string, z.core.util.JSONType>> | undefined;
  readonly retry?: z.infer<typeof retrySchema> | undefined;
  readonly timeout?: number | string | undefined;
  readonly idempotent?: boolean | undefined;
  readonly effectKey?: string | undefined;
  readonly confirm?: z.infer<typeof confirmSchema> | undefined;
  readonly limit?: string | undefined;
  readonly continueOnError?: boolean | undefined;
  readonly compensate?: z.infer<typeof compensateSchema> | undefined;
  readonly setsState?: string | undefined;
  readonly sensitive?: boolean | undefined;
  /** Paths for business exceptions by code; `*` takes any other code. */
  readonly onException?: Readonly<Record<string, readonly StepConfig[]>> | undefined;
}

export interface ConditionStep extends StepCommon {
  readonly type: 'condition';
  /** CEL over workflow_input, step, loop_item, loop_index. */
  readonly if: string;
  readonly then: readonly StepConfig[];
  readonly else?: readonly StepConfig[] | undefined;
}

export type LoopSource =
  | { readonly source: 'static'; readonly items: readonly z.core.util.JSONType[] }
  | { readonly source: 'previousStep'; readonly stepId: string; readonly path?: string | undefined }
  | { readonly source: 'workflowInput'; readonly path: string }
  | { readonly source: 'loopItem'; readonly path?: string | undefined };

export interface LoopStep extends StepCommon {
  readonly type: 'loop';
  readonly over: LoopSource;
  readonly steps: readonly StepConfig[];
  /** Iterations at once; 1 (the default) runs them in order. */
  readonly concurrency?: number | undefined;
  readonly maxItems?: number | undefined;
  /** `fail` (default) ends the loop at the first failed iteration; `continue` records it and goes on. */
  readonly onItemError?: 'fail' | 'continue' | undefined;
  /** `results` (default) collects each iteration’s last output; `none` keeps only counts. */
  readonly collect?: 'results' | 'none' | undefined;
}

export interface ParallelStep extends StepCommon {
  readonly type: 'parallel';
  readonly branches: Readonly<Record<string, readonly StepConfig[]>>;
  /** `settled` (default) waits for all and never fails; `all` fails at the first failed branch; `any` succeeds at the first success. */
  readonly policy?: 'settled' | 'all' | 'any' | undefined;
}

/** Any other step: its own fields are checked by the step type of that name. */
export interface WorkStep extends StepCommon {
  readonly [field: string]: unknown;
}

export type StepConfig = ConditionStep | LoopStep | ParallelStep | WorkStep;

export const controlTypes = ['condition', 'loop', 'parallel'] as const;
export type ControlType = (typeof controlTypes)[number];

export const stepListSchema: z.ZodType<readonly StepConfig[]> = z.lazy(() => z.array(stepConfigSchema).max(2_000));

/** Fields that steps of every type may have, beside `type`. */
export const commonStepFields: ReadonlySet<string> = new Set(
  [...Object.keys(stepCommonShape), 'onException'].filter((field) => field !== 'type'),
);

const withException = { ...stepCommonShape, onException: z.record(z.string(), stepListSchema).optional() };

const loopSourceSchema = z.discriminatedUnion('source', [
  z.strictObject({ source: z.literal('static'), items: z.array(z.json()) }),
  z.strictObject({ source: z.literal('previousStep'), stepId: z.string(), path: z.string().optional() }),
  z.strictObject({ source: z.literal('workflowInput'), path: z.string() }),
  z.strictObject({ source: z.literal('loopItem'), path: z.string().optional() }),
]);

export const conditionStepSchema = z.strictObject({
  ...withException,
  type: z.literal('condition'),
  if: z.string().min(1).max(4_000),
  then: stepListSchema,
  else: stepListSchema.optional(),
});

export const loopStepSchema = z.strictObject({
  ...withException,
  type: z.literal('loop'),
  over: loopSourceSchema,
  steps: stepListSchema,
  concurrency: z.number().int().min(1).max(definitionLimits.maxConcurrency).optional(),
  maxItems: z.number().int().min(0).max(1_000_000).optional(),
  onItemError: z.enum(['fail', 'continue']).optional(),
  collect: z.enum(['results', 'none']).optional(),
});

export const parallelStepSchema = z.strictObject({
  ...withException,
  type: z.literal('parallel'),
  branches: z
    .record(branchNameSchema, stepListSchema)
    .refine((branches) => Object.keys(branches).length > 0, 'a parallel needs at least one branch'),
  policy: z.enum(['settled', 'all', 'any']).optional(),
});

const workStepSchema = z.looseObject(withException);

/** The shape every step shares; a step type adds its own fields to it. */
export const stepCommonSchema = z.strictObject(withException);

/** By type, not a union: that would check nested lists once for each alternative, 4^depth times in all. */
export const stepConfigSchema = z.unknown().check((payload) => {
  const checked = stepSchemaFor(payload.value).safeParse(payload.value);
  if (!checked.success) payload.issues.push(...(checked.error.issues as z.core.$ZodRawIssue[]));
}) as unknown as z.ZodType<StepConfig>;

function stepSchemaFor(step: unknown): z.ZodType {
  switch (typeof step === 'object' && step !== null && 'type' in step ? step.type : undefined) {
    case 'condition':
      return conditionStepSchema;
    case 'loop':
      return loopStepSchema;
    case 'parallel':
      return parallelStepSchema;
    default:
      return workStepSchema;
  }
}

export const limitsSchema = z.strictObject({
  maxSteps: z.number().int().min(1).max(1_000_000).optional(),
  maxLoopItems: z.number().int().min(0).max(1_000_000).optional(),
});

export const concurrencySchema = z.strictObject({
  /** A template over workflow_input; runs with the same key share the limit. */
  key: z.string().max(500).optional(),
  limit: z.number().int().min(1).max(1_000),
});

export const businessStatesSchema = z.strictObject({
  initial: z.string(),
  transitions: z.record(z.string(), z.array(z.string())),
  /** Longest time in a state before people are alerted. */
  deadlines: z.record(z.string(), durationSchema).optional(),
});

export const alertsSchema = z.strictObject({
  /** Alert when a run has not ended after this time. */
  after: durationSchema.optional(),
  /** Alert when a run has failed. */
  onFailure: z.boolean().optional(),
  /** Who is told besides the owners: uids, mail addresses or departments. Default: the operators. */
  to: z.array(z.string().min(1)).max(20).optional(),
  webhook: z.strictObject({ url: z.string(), secret: z.string().optional() }).optional(),
  /** An alert that nobody acknowledges is passed on to the admins after this time. Default 4 hours. */
  escalateAfter: durationSchema.optional(),
});

/** The ends of a run after which the destination is served. Default: `completed`. */
const destinationOn = z
  .array(z.enum(['completed', 'failed', 'cancelled', 'compensated']))
  .min(1)
  .optional();

export const destinationSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('webhook'), url: z.string(), secret: z.string().optional(), on: destinationOn }),
  z.strictObject({ type: z.literal('email'), to: z.array(z.string()).min(1), subject: z.string().optional(), on: destinationOn }),
  z.strictObject({ type: z.literal('kb'), collection: z.string(), title: z.string().optional(), on: destinationOn }),
  z.strictObject({ type: z.literal('firestore'), path: z.string(), on: destinationOn }),
]);

export const reconcileSchema = z.strictObject({
  /** A step that looks the outcome up in the system of record. */
  check: z.looseObject({ type: z.string() }),
  /** CEL over `output` (the run’s) and `found` (the check’s). */
  expect: z.string(),
  after: durationSchema.optional(),
  retryEvery: durationSchema.optional(),
  giveUpAfter: durationSchema.optional(),
  nightly: z.boolean().optional(),
});

export const definitionSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,127}$/),
  name: z.string().max(200).optional(),
  description: z.string().max(4_000).optional(),
  owner: z.string().max(200).optional(),
  department: z.string().max(100).optional(),
  /** JSON Schema of the input. */
  input: z.json().optional(),
  steps: stepListSchema,
  /** Template of the run’s output; without it, the last step’s output. */
  output: z.json().optional(),
  /** Limit of active time; waiting on people, events and timers does not count. Default 5 minutes. */
  timeout: durationSchema.optional(),
  /** Limit of wall-clock time. */
  deadline: durationSchema.optional(),
  onError: z.enum(['fail', 'continue', 'compensate']).optional(),
  limits: limitsSchema.optional(),
  concurrency: concurrencySchema.optional(),
  rateLimit: z.strictObject({ limit: z.number().int().min(1), per: durationSchema }).optional(),
  /** A tainted run (it read outside content) needs an approval before an effect that is not read-only. Default true. */
  guardTainted: z.boolean().optional(),
  businessKey: z.string().max(500).optional(),
  attributes: z.record(z.string(), z.string()).optional(),
  states: businessStatesSchema.optional(),
  alerts: alertsSchema.optional(),
  destinations: z.array(destinationSchema).max(10).optional(),
  reconcile: reconcileSchema.optional(),
  context: z
    .strictObject({
      documents: z.array(z.string()).optional(),
      collections: z.array(z.string()).optional(),
      department: z.boolean().optional(),
    })
    .optional(),
  /** Fields of the input that only operators and named approvers may read. */
  sensitive: z.array(z.string()).optional(),
});
export type Definition = z.infer<typeof definitionSchema>;

/** A published, immutable version. `json` is the canonical text that `hash` is taken of. */
export const versionRecordSchema = z.strictObject({
  v: z.literal(1),
  workflowId: z.string(),
  version: z.number().int().positive(),
  hash: z.string(),
  json: z.string(),
  publishedAt: z.number(),
  publishedBy: z.string(),
  note: z.string().optional(),
});
export type VersionRecord = z.infer<typeof versionRecordSchema>;

export const workflowRecordSchema = z.strictObject({
  v: z.literal(1),
  workflowId: z.string(),
  name: z.string(),
  description: z.string().optional(),
  latest: z.number().int().positive(),
  /** Of the latest version. */
  hash: z.string(),
  updatedAt: z.number(),
});
export type WorkflowRecord = z.infer<typeof workflowRecordSchema>;
