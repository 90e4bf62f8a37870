import { evaluateCondition } from '../engine/conditions.ts';
import { digest, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { validateAgainst } from '../engine/schema-check.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { AnswerRecord, RecipeBody } from '../model/recipe.ts';
import { completionError } from '../services/llm.ts';
import type { Completion, LlmMessage } from '../services/llm.ts';
import { cost } from '../services/prices.ts';
import { contentKeyOf, parametersOf, repairMessages } from './recipe-messages.ts';
import type { PerformContext } from './step-type.ts';

/** One provider call, for the step's details. What was reused costs nothing. */
export interface Call {
  readonly record: Omit<AnswerRecord, 'v' | 'accountId' | 'runId' | 'stepKey' | 'workflowId' | 'attempt' | 'text'>;
  readonly reused: boolean;
}

export interface Answer {
  readonly value: Json;
  readonly text: string;
  readonly model: string;
  /** Why it cannot be used; empty when it keeps the schema and every rule. */
  readonly faults: readonly string[];
}

const FAULTS_SHOWN = 10;

/**
 * Asks one model, within one attempt. Whatever it answers is stored before it is looked at, and a retry that asks the very same
 * finds it there: a lost connection never leads to a second decision, nor to a second bill.
 */
export class Asking {
  readonly calls: Call[] = [];
  readonly #context: PerformContext<object>;
  readonly #body: RecipeBody;
  readonly #timeoutMs: number;
  readonly #progress: ((text: string) => void) | undefined;

  constructor(context: PerformContext<object>, body: RecipeBody, timeoutMs: number, streams: boolean) {
    this.#context = context;
    this.#body = body;
    this.#timeoutMs = timeoutMs;
    this.#progress = streams ? context.progress : undefined;
  }

  /** An answer, repaired once by the model itself when it cannot be used. Throws what the provider, or the answer's own end, throws. */
  async answer(model: string, messages: readonly LlmMessage[]): Promise<Answer> {
    const first = this.#judged(model, await this.#ask(model, messages, 'answer'));
    if (first.faults.length === 0) return first;
    const again = repairMessages(messages, first.text, first.faults);
    try {
      return this.#judged(model, await this.#ask(model, again, 'repair'));
    } catch (error) {
      // The first answer stands; a person may still correct it.
      if (error instanceof KilnError && error.code.startsWith('llm.')) return first;
      throw error;
    }
  }

  async #ask(model: string, messages: readonly LlmMessage[], purpose: 'answer' | 'repair'): Promise<string> {
    const { services, answers, signal, now } = this.#context;
    if (services.llm === undefined) throw new KilnError('secret.missing', 'no language model is configured: set OPENAI_API_KEY');
    const contentKey = contentKeyOf(model, messages, this.#body);
    const kept = await answers.find(contentKey);
    if (kept !== undefined && usable(kept.record)) {
      this.calls.push({ record: kept.record, reused: true });
      return kept.text;
    }
    const schema = this.#body.schema as { readonly [key: string]: Json } | undefined;
    const completion = await services.llm.complete({
      model,
      messages,
      ...(schema === undefined || typeof schema !== 'object' ? {} : { responseSchema: schema }),
      parameters: parametersOf(this.#body),
      timeoutMs: this.#timeoutMs,
      signal,
      ...this.#watching(),
    });
    const record = recordOf(completion, { contentKey, purpose, model, at: now });
    this.calls.push({ record, reused: false });
    await answers.keep(record, completion.text);
    const fault = completionError(completion);
    if (fault !== undefined) throw fault;
    return completion.text;
  }

  /** A call that is watched is a streaming one. */
  #watching(): { readonly onDelta?: (delta: string) => void } {
    const show = this.#progress;
    if (show === undefined) return {};
    let text = '';
    return { onDelta: (delta) => show((text += delta)) };
  }

  #judged(model: string, text: string): Answer {
    const { schema, policy } = this.#body;
    const read = schema === undefined ? { value: text } : readJson(text);
    if ('fault' in read) return { value: null, text, model, faults: [read.fault] };
    const { value } = read;
    const mismatches = schema === undefined ? [] : validateAgainst(schema, value);
    const faults = mismatches.map(({ path, message }) => `${path === '' ? 'the whole' : path}: ${message}`);
    // A rule about an answer of another form would only fail for that reason.
    const broken = faults.length > 0 ? [] : brokenRules(policy ?? [], { output: value, input: this.#context.input });
    return { value, text, model, faults: [...faults, ...broken].slice(0, FAULTS_SHOWN) };
  }
}

function usable({ refusal, finishReason }: Call['record']): boolean {
  return refusal === undefined && finishReason !== 'length' && finishReason !== 'content_filter';
}

function recordOf(
  { model: responseModel, usage, latencyMs, requestId, finishReason, refusal }: Completion,
  asked: Pick<AnswerRecord, 'contentKey' | 'purpose' | 'model' | 'at'>,
): Call['record'] {
  return {
    ...asked,
    responseModel,
    ...(usage === undefined ? {} : { usage: { ...usage } }),
    costMicroUsd: usage === undefined ? null : (cost(usage, responseModel) ?? cost(usage, asked.model) ?? null),
    latencyMs,
    ...(requestId === undefined ? {} : { requestId }),
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(refusal === undefined ? {} : { refusal }),
  };
}

/** Models without a JSON mode like to wrap JSON in a code block. */
function readJson(text: string): { readonly value: Json } | { readonly fault: string } {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text);
  try {
    return { value: parseJson(fenced?.[1] ?? text) };
  } catch {
    return { fault: 'it is not JSON' };
  }
}

function brokenRules(policy: NonNullable<RecipeBody['policy']>, variables: Readonly<Record<string, Json>>): string[] {
  return policy.flatMap((given) => {
    const { rule, message } = typeof given === 'string' ? { rule: given, message: undefined } : given;
    try {
      return evaluateCondition(rule, variables) ? [] : [message ?? `it does not keep the rule ${rule}`];
    } catch (error) {
      return [message ?? `the rule ${rule} cannot be applied: ${toErrorRecord(error).message}`];
    }
  });
}

/** What the calls of an attempt cost; undefined as soon as one has no known price. */
export function costOf(calls: readonly Call[]): number | null {
  const paid = calls.filter(({ reused }) => !reused).map(({ record }) => record.costMicroUsd);
  return paid.includes(null) ? null : paid.reduce<number>((sum, each) => sum + (each ?? 0), 0);
}

export function promptHash(messages: readonly LlmMessage[]): string {
  return digest(JSON.stringify(messages));
}
