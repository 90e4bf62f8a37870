import type { z } from 'zod';
import type { Json } from '../engine/json.ts';
import type { StepTypeFacts } from '../engine/output-schema.ts';
import type { Problem } from '../engine/problem.ts';
import type { DefinitionIndex, Place } from '../engine/definition-index.ts';
import type { Approvers } from '../model/approval.ts';
import type { StepCommon } from '../model/definition.ts';
import type { StepRef } from '../model/paths.ts';
import type { AnswerRecord, Recipe } from '../model/recipe.ts';
import type { RunRecord } from '../model/run.ts';
import type { Wait } from '../model/step.ts';
import type { Write } from '../ledger/store.ts';
import type { McpServerRecord } from '../model/mcp-server.ts';
import type { MemberRecord } from '../model/member.ts';
import type { HttpClient } from '../services/http/client.ts';
import type { AddressGuard } from '../services/http/guard.ts';
import type { KnowledgeBase } from '../services/kb/knowledge-base.ts';
import type { LlmClient } from '../services/llm.ts';
import type { McpClient } from '../services/mcp/pool.ts';
import type { SecretSource } from '../services/secrets.ts';
import type { Definitions } from '../runner/runtime.ts';
import type { ActionRegistry } from './action-registry.ts';

/** The outside world as steps see it. Each service is absent where it is not configured. */
export interface StepServices {
  readonly actions: ActionRegistry;
  readonly llm?: LlmClient;
  /** The model of recipes that name none. */
  readonly defaultModel?: string;
  readonly members?: MemberSource;
  readonly secrets?: SecretSource;
  readonly http?: HttpClient & Pick<AddressGuard, 'check'>;
  readonly kb?: KnowledgeBase;
  readonly mcp?: McpClient;
  readonly mcpServers?: McpServers;
  readonly recipes?: RecipeSource;
}

/** An account's published recipes. */
export interface RecipeSource {
  latest(accountId: string, recipeId: string): Promise<number | undefined>;
  /** Throws `recipe.not_found`. */
  version(accountId: string, recipeId: string, version: number): Promise<Recipe>;
}

export interface KeptAnswer {
  readonly record: AnswerRecord;
  readonly text: string;
}

/** What models answered to this step; kept before it is judged, found again by what was asked. */
export interface AnswerStore {
  find(contentKey: string): Promise<KeptAnswer | undefined>;
  keep(
    answer: Omit<AnswerRecord, 'v' | 'accountId' | 'runId' | 'stepKey' | 'workflowId' | 'attempt' | 'text'>,
    text: string,
  ): Promise<void>;
  /** Passages found for the question, so that a retry asks the same question. */
  findContext(): Promise<string | undefined>;
  keepContext(context: string): Promise<void>;
}

/** An account's MCP servers. */
export interface McpServers {
  get(accountId: string, serverId: string): Promise<McpServerRecord | undefined>;
}

/** Reads an account's active members; bounded. */
export interface MemberSource {
  list(accountId: string): Promise<readonly MemberRecord[]>;
}

/** Puts secrets in the place of `{{secret.NAME}}`, for one call. What it handed out is redacted from what the attempt stores. */
export interface SecretFiller {
  /** Errors: `secret.missing`, `secret.too_short`. */
  fillIn<T extends Json>(value: T): T;
}

/** Facts about the run that any step may use. */
export interface RunFacts {
  readonly runId: string;
  readonly accountId: string;
  readonly workflowId: string;
  readonly version: number;
  readonly kind: 'graph' | 'code';
}

interface ContextBase<C> {
  readonly ref: StepRef;
  /** The step's configuration with its templates filled in; `perform` gets it with the secrets, all others with references. */
  readonly config: C & StepCommon;
  /** The step's resolved inputs. */
  readonly input: Json;
  readonly run: RunFacts;
  /** Database time in ms. */
  readonly now: number;
}

/** What costs a read, for the step types that need it. */
interface Lookups {
  /** A fresh id for a document that this step creates: deterministic for the step (and for the attempt, where it has attempts). */
  readonly documentId: string;
  /** The run's own document; one read, made once. */
  readonly facts: () => Promise<RunRecord>;
  /** The people who started the run: it, the runs that started it, and those it was forked from. */
  readonly starters: () => Promise<readonly string[]>;
  readonly definitions: Definitions;
  readonly services: StepServices;
}

export interface PerformContext<C> extends ContextBase<C>, Lookups {
  readonly attempt: number;
  /** The same for every attempt of this step: hand it to the target system. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly answers: AnswerStore;
  /** Shows people what there is so far; costs a write a second at most, and may be lost. Absent where nothing may be shown. */
  readonly progress?: (text: string) => void;
  /** For secrets that stand elsewhere than in the configuration, such as a server's headers. */
  readonly secrets: SecretFiller;
}

/** A result, or what the step waits for now that it has been performed; the end of that wait is the step's result. */
export type Performed =
  | PerformedResult
  | { readonly wait: Entered }
  /** An error, with what the attempt found out and what it cost. */
  | { readonly failure: Error; readonly details: Json };

export interface PerformedResult {
  readonly output: unknown;
  /** Facts for people and audits: model, tokens, cost, request, response. */
  readonly details?: Json;
  /** Documents that come into being with the result, in the same commit. */
  readonly writes?: readonly Write[];
}

export type ComputeContext<C> = ContextBase<C>;

export interface EnterContext<C> extends ContextBase<C>, Lookups {
  readonly stepCreatedAt: number;
}

export interface Entered {
  readonly wait: Wait;
  readonly wakeAt?: number;
  /** Documents created with the wait, in the same commit. */
  readonly writes: readonly Write[];
  readonly details?: Json;
}

export interface PreflightContext {
  readonly accountId: string;
  readonly index: DefinitionIndex;
  readonly place: Place;
  readonly services: StepServices;
  readonly secrets: SecretFiller;
}

interface StepTypeBase<C> extends Omit<StepTypeFacts, 'kind' | 'schema'> {
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** The step's own fields; the common ones are added. */
  readonly schema: z.ZodType<C>;
  preflight?(config: C & StepCommon, context: PreflightContext): readonly Problem[] | Promise<readonly Problem[]>;
}

/** A step with an outside effect: claimed, performed, recorded. */
export interface EffectStepType<C> extends StepTypeBase<C> {
  readonly kind: 'effect';
  /** Whether a lost attempt may be repeated when the definition does not say. */
  readonly idempotent: boolean;
  /** The same, where it depends on the configuration (an action declares it). */
  isIdempotent?(config: object, services: StepServices): boolean;
  /** A limit of the account that each attempt takes a place of. */
  readonly limit?: string;
  /**
   * What a person must allow, word for word, before it happens in a run that has read outside content; undefined when the
   * configuration changes nothing outside.
   */
  guard?(config: C & StepCommon): { readonly what: string; readonly approvers?: Approvers | undefined } | undefined;
  perform(context: PerformContext<C>): Promise<Performed>;
}

/** A step that only computes: one commit. */
export interface ComputeStepType<C> extends StepTypeBase<C> {
  readonly kind: 'compute';
  compute(context: ComputeContext<C>): Json;
}

/** A step that waits. `woken` says what its wake time means. */
export interface WaitStepType<C> extends StepTypeBase<C> {
  readonly kind: 'wait';
  enter(context: EnterContext<C>): Entered | Promise<Entered>;
}

export type StepType<C = never> = EffectStepType<C> | ComputeStepType<C> | WaitStepType<C>;
// A registry holds step types of different configurations; each parses its own before use.
export type AnyStepType = EffectStepType<object> | ComputeStepType<object> | WaitStepType<object>;
