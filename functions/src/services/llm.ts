import type OpenAI from 'openai';
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import { type Json, parseJson } from '../engine/json.ts';
import { KilnError } from '../model/errors.ts';
import { type Deadline, deadline } from './http/deadline.ts';
import { llmError } from './llm-errors.ts';
import type { Usage } from './prices.ts';

export interface LlmMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** All optional: what is absent is the provider's default. */
export interface LlmParameters {
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh';
}

export interface CompletionRequest {
  readonly model: string;
  readonly messages: readonly LlmMessage[];
  /** JSON Schema of the answer. The provider is asked to follow it; whether it did is for the caller to validate. */
  readonly responseSchema?: { readonly [key: string]: Json };
  readonly parameters?: LlmParameters;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Called with each piece of text as it arrives; makes the call a streaming one. */
  readonly onDelta?: (delta: string) => void;
}

export interface Completion {
  readonly text: string;
  /** The text as JSON, when a schema was given and the text is JSON. */
  readonly parsed?: Json;
  /** The model that answered, as the provider names it. */
  readonly model: string;
  readonly usage: Usage | undefined;
  readonly finishReason: string | undefined;
  readonly refusal: string | undefined;
  readonly requestId: string | undefined;
  readonly latencyMs: number;
}

export interface EmbeddingRequest {
  readonly model: string;
  readonly texts: readonly string[];
  readonly dimensions?: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface EmbeddingResult {
  /** In the order of the texts. */
  readonly vectors: readonly (readonly number[])[];
  readonly model: string;
  readonly usage: Usage | undefined;
}

export interface LlmClient {
  /**
   * One provider call, no retries of its own. A refusal or a truncated text is an answer (it was paid for and must be
   * stored first); `completionError` judges it. Errors: `http.*`, `step.timeout`, `llm.quota`, `llm.refused`, `secret.missing`.
   */
  complete(request: CompletionRequest): Promise<Completion>;
  embed(request: EmbeddingRequest): Promise<EmbeddingResult>;
}

export interface LlmConfig {
  /** Read at each call, so that nothing holds the key. */
  readonly apiKey: () => string | undefined;
  /** Any OpenAI-compatible endpoint, with its version path. */
  readonly baseUrl?: string | undefined;
  readonly now: () => number;
}

const OPENAI_URL = 'https://api.openai.com/v1';
const EMBEDDING_BATCH = 128;

interface Opened {
  readonly sdk: typeof import('openai');
  readonly client: OpenAI;
  readonly origin: string;
}

export function createLlmClient(config: LlmConfig): LlmClient {
  async function open(timeoutMs: number): Promise<Opened> {
    const apiKey = config.apiKey();
    if (apiKey === undefined || apiKey === '') throw new KilnError('secret.missing', 'OPENAI_API_KEY is not configured.');
    const sdk = await import('openai');
    const baseURL = config.baseUrl === undefined || config.baseUrl === '' ? OPENAI_URL : config.baseUrl;
    // The engine retries and the deadline stops the call; the SDK's log would write prompts.
    const client = new sdk.default({ apiKey, baseURL, maxRetries: 0, timeout: timeoutMs + 1_000, logLevel: 'off' });
    return { sdk, client, origin: new URL(baseURL).origin };
  }

  async function call<T>(
    request: { readonly timeoutMs: number; readonly signal?: AbortSignal },
    work: (opened: Opened, limit: Deadline) => Promise<T>,
  ): Promise<T> {
    const limit = deadline(request.timeoutMs, request.signal);
    const opened = await open(request.timeoutMs);
    try {
      return await work(opened, limit);
    } catch (error) {
      throw llmError(error, { sdk: opened.sdk, limit, origin: opened.origin, now: config.now() });
    }
  }

  return {
    complete: (request) =>
      call(request, async (opened, limit) => {
        const started = config.now();
        const raw =
          request.onDelta === undefined
            ? await once(opened, request, limit.signal)
            : await streamed(opened, request, request.onDelta, limit.signal);
        return completionOf(raw, request, config.now() - started);
      }),
    embed: (request) => call(request, (opened, limit) => embedAll(opened, request, limit.signal)),
  };
}

/** Why a completion cannot be used as an answer, or undefined. What it cost travels in `data`. */
export function completionError(completion: Completion): KilnError | undefined {
  const data = {
    model: completion.model,
    usage: completion.usage ?? null,
    requestId: completion.requestId ?? null,
    finishReason: completion.finishReason ?? null,
  };
  if (completion.refusal !== undefined)
    return new KilnError('llm.refused', `The model refused: ${completion.refusal.slice(0, 500)}`, { data });
  if (completion.finishReason === 'content_filter') return new KilnError('llm.refused', 'The content filter cut the answer off.', { data });
  if (completion.finishReason === 'length')
    return new KilnError('llm.truncated', `The answer of ${completion.model} was cut off at its token limit.`, { data });
  return undefined;
}

/** What both kinds of call yield. */
interface RawAnswer {
  readonly text: string;
  readonly refusal: string | null | undefined;
  readonly finishReason: string | null | undefined;
  readonly model: string;
  readonly usage: CompletionUsage | null | undefined;
  readonly requestId: string | null | undefined;
}

async function once({ client, origin }: Opened, request: CompletionRequest, signal: AbortSignal): Promise<RawAnswer> {
  const { data, request_id: requestId } = await client.chat.completions.create(bodyOf(request), { signal }).withResponse();
  // A gateway may answer 200 with something else; the SDK's types promise more than it checks.
  const choice = (data as Partial<ChatCompletion>).choices?.[0];
  if (choice === undefined) throw new KilnError('http.invalid_response', `The answer of ${origin} holds no choice.`);
  return {
    text: choice.message.content ?? '',
    refusal: choice.message.refusal,
    finishReason: choice.finish_reason,
    model: data.model,
    usage: data.usage,
    requestId,
  };
}

async function streamed(
  { client, origin }: Opened,
  request: CompletionRequest,
  onDelta: (delta: string) => void,
  signal: AbortSignal,
): Promise<RawAnswer> {
  const { data: chunks, request_id: requestId } = await client.chat.completions
    .create({ ...bodyOf(request), stream: true, stream_options: { include_usage: true } }, { signal })
    .withResponse();
  let text = '';
  let refusal = '';
  let finishReason: string | undefined;
  let model = request.model;
  let usage: CompletionUsage | null | undefined;
  for await (const chunk of chunks as AsyncIterable<ChatCompletionChunk>) {
    model = chunk.model || model;
    usage = chunk.usage ?? usage;
    const choice = chunk.choices[0];
    if (choice === undefined) continue;
    finishReason = choice.finish_reason ?? finishReason;
    refusal += choice.delta.refusal ?? '';
    const delta = choice.delta.content ?? '';
    text += delta;
    if (delta !== '') onDelta(delta);
  }
  // The SDK ends the loop quietly when it is aborted, and when the connection closes between two events.
  signal.throwIfAborted();
  if (finishReason === undefined) throw new KilnError('http.connection', `The stream of ${origin} ended before the answer did.`);
  return { text, refusal: refusal === '' ? null : refusal, finishReason, model, usage, requestId };
}

function bodyOf(request: CompletionRequest): ChatCompletionCreateParamsNonStreaming {
  const { parameters: p = {}, responseSchema } = request;
  return {
    model: request.model,
    messages: request.messages.map(({ role, content }) => ({ role, content })),
    ...(p.temperature === undefined ? {} : { temperature: p.temperature }),
    ...(p.topP === undefined ? {} : { top_p: p.topP }),
    ...(p.maxTokens === undefined ? {} : { max_completion_tokens: p.maxTokens }),
    ...(p.seed === undefined ? {} : { seed: p.seed }),
    ...(p.stop === undefined ? {} : { stop: [...p.stop] }),
    ...(p.reasoningEffort === undefined ? {} : { reasoning_effort: p.reasoningEffort }),
    ...(responseSchema === undefined
      ? {}
      : {
          response_format: {
            type: 'json_schema' as const,
            json_schema: { name: 'answer', schema: responseSchema, strict: fitsStrictMode(responseSchema) },
          },
        }),
  };
}

function completionOf(raw: RawAnswer, request: CompletionRequest, latencyMs: number): Completion {
  const parsed = request.responseSchema === undefined ? undefined : parsedAnswer(raw.text);
  return {
    text: raw.text,
    ...(parsed === undefined ? {} : { parsed }),
    model: raw.model,
    usage: usageOf(raw.usage),
    finishReason: raw.finishReason ?? undefined,
    refusal: raw.refusal === null || raw.refusal === undefined || raw.refusal === '' ? undefined : raw.refusal,
    requestId: raw.requestId ?? undefined,
    latencyMs,
  };
}

/** Models without a JSON mode like to wrap JSON in a code block. */
function parsedAnswer(text: string): Json | undefined {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text);
  try {
    return parseJson(fenced?.[1] ?? text);
  } catch {
    return undefined;
  }
}

function usageOf(usage: CompletionUsage | null | undefined): Usage | undefined {
  if (usage === undefined || usage === null) return undefined;
  return {
    inputTokens: usage.prompt_tokens,
    cachedInputTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    outputTokens: usage.completion_tokens,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

/** OpenAI's strict mode demands that every object is closed and every property required; other schemas are sent as a wish. */
export function fitsStrictMode(schema: Json): boolean {
  const pending: Json[] = [schema];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next) && next['type'] === 'object') {
      const properties = next['properties'];
      const required = next['required'];
      const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
      if (next['additionalProperties'] !== false || !names.every((name) => Array.isArray(required) && required.includes(name)))
        return false;
    }
    pending.push(...Object.values(next));
  }
  return true;
}

async function embedAll({ client, origin }: Opened, request: EmbeddingRequest, signal: AbortSignal): Promise<EmbeddingResult> {
  const vectors: (readonly number[])[] = [];
  let model = request.model;
  let inputTokens = 0;
  for (let start = 0; start < request.texts.length; start += EMBEDDING_BATCH) {
    const input = request.texts.slice(start, start + EMBEDDING_BATCH);
    const dimensions = request.dimensions === undefined ? {} : { dimensions: request.dimensions };
    // Plain numbers: not every compatible server knows the SDK's default, base64.
    const answer = await client.embeddings.create({ model: request.model, input, encoding_format: 'float', ...dimensions }, { signal });
    const sorted = [...answer.data].sort((a, b) => a.index - b.index).map(({ embedding }) => embedding);
    if (sorted.length !== input.length)
      throw new KilnError('http.invalid_response', `${origin} embedded ${sorted.length} of ${input.length} texts.`);
    vectors.push(...sorted);
    model = answer.model;
    inputTokens += answer.usage?.prompt_tokens ?? 0;
  }
  return { vectors, model, usage: { inputTokens, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 } };
}
