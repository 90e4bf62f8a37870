import { z } from 'zod';
import { attemptSpanId, callSpanId, parseTraceparent, runSpanId, stepSpanId } from '../engine/trace-context.ts';
import type { RunRecord } from '../model/run.ts';
import type { Attempt, StepRecord } from '../model/step.ts';

/** A span as it follows from documents, before any telemetry package is loaded. */
export interface SpanData {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'internal' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | readonly string[]>>;
  /** Why it failed. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** The span of a run: the root of its trace, or below the span of whoever started it. Undefined when it is not to be traced. */
export function runSpan(run: RunRecord): SpanData | undefined {
  const context = parseTraceparent(run.traceparent);
  if (context?.sampled !== true) return undefined;
  const spanId = runSpanId(run);
  return {
    traceId: context.traceId,
    spanId,
    parentSpanId: context.spanId === spanId ? undefined : context.spanId,
    name: `workflow ${run.workflowId}`,
    kind: 'internal',
    startMs: run.createdAt,
    endMs: run.endedAt ?? run.createdAt,
    attributes: {
      'kiln.account.id': run.accountId,
      'kiln.run.id': run.runId,
      'kiln.run.status': run.status,
      'kiln.workflow.id': run.workflowId,
      'kiln.workflow.version': run.version,
      ...(run.businessKey === undefined ? {} : { 'kiln.business_key': run.businessKey }),
    },
    ...(run.error === undefined ? {} : { error: { code: run.error.code, message: run.error.message } }),
  };
}

/** The spans of a step that has ended: itself, its attempts, and the calls that its last attempt made. */
export function stepSpans(step: StepRecord): readonly SpanData[] {
  const context = parseTraceparent(step.traceparent);
  if (context?.sampled !== true) return [];
  const { traceId } = context;
  const owner = ownerOf(step.key);
  const endMs = step.endedAt ?? step.createdAt;
  const spanId = stepSpanId(step);
  const span: SpanData = {
    traceId,
    spanId,
    parentSpanId: owner === undefined ? runSpanId(step) : stepSpanId({ ...step, key: owner }),
    name: `step ${step.key}`,
    kind: 'internal',
    startMs: step.createdAt,
    endMs,
    attributes: {
      ...placeOf(step),
      'kiln.step.type': step.type,
      'kiln.step.state': step.state,
      ...(step.wait === undefined ? {} : { 'kiln.step.waited_for': step.wait.kind }),
      'kiln.step.attempts': step.attempt,
    },
    ...(step.error === undefined ? {} : { error: { code: step.error.code, message: step.error.message } }),
  };
  return [span, ...step.attempts.flatMap((attempt, i) => attemptSpans(step, traceId, attempt, i === step.attempts.length - 1))];
}

function attemptSpans(step: StepRecord, traceId: string, attempt: Attempt, isLast: boolean): readonly SpanData[] {
  const { n, startedAt, outcome, error } = attempt;
  const endMs = attempt.endedAt ?? step.endedAt ?? startedAt;
  const spanId = attemptSpanId(step, n);
  const span: SpanData = {
    traceId,
    spanId,
    parentSpanId: stepSpanId(step),
    name: `attempt ${n} of ${step.key}`,
    kind: 'internal',
    startMs: startedAt,
    endMs,
    attributes: { ...placeOf(step), 'kiln.attempt': n, 'kiln.attempt.outcome': outcome ?? 'cut_off' },
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
  };
  const calls = isLast ? callsOf(step) : [];
  return [
    span,
    ...calls.map(({ name, attributes, at, latencyMs }, i): SpanData => {
      const startMs = at === undefined || at < startedAt || at > endMs ? startedAt : at;
      return {
        traceId,
        spanId: callSpanId(step, n, i),
        parentSpanId: spanId,
        name,
        kind: 'client',
        startMs,
        endMs: latencyMs === undefined ? endMs : Math.min(endMs, startMs + latencyMs),
        attributes: { ...placeOf(step), ...attributes },
      };
    }),
  ];
}

function placeOf(step: StepRecord): SpanData['attributes'] {
  return { 'kiln.account.id': step.accountId, 'kiln.run.id': step.runId, 'kiln.workflow.id': step.workflowId, 'kiln.step.key': step.key };
}

interface CallFacts {
  readonly name: string;
  readonly attributes: SpanData['attributes'];
  readonly at?: number | undefined;
  readonly latencyMs?: number | undefined;
}

const llmCallSchema = z.looseObject({
  model: z.string().nullish(),
  responseModel: z.string().nullish(),
  at: z.number().optional(),
  latencyMs: z.number().optional(),
  finishReason: z.string().optional(),
  requestId: z.string().optional(),
  usage: z.looseObject({ inputTokens: z.number().optional(), outputTokens: z.number().optional() }).optional(),
  reused: z.boolean().optional(),
});
const detailsSchema = z.looseObject({
  calls: z.array(llmCallSchema).optional(),
  method: z.string().optional(),
  origin: z.string().optional(),
  status: z.number().optional(),
  server: z.string().optional(),
  tool: z.string().optional(),
});

/** The calls that a step's details tell of, in the words of the semantic conventions for GenAI and HTTP. */
function callsOf(step: StepRecord): readonly CallFacts[] {
  if (step.details === undefined) return [];
  const parsed = detailsSchema.safeParse(JSON.parse(step.details));
  if (!parsed.success) return [];
  const { calls = [], method, origin, status, server, tool } = parsed.data;
  const facts: CallFacts[] = calls.filter(({ reused }) => reused !== true).map(llmCall);
  if (method !== undefined && origin !== undefined) {
    const address = URL.parse(origin);
    facts.push({
      name: method,
      attributes: {
        'http.request.method': method,
        ...(address === null ? {} : { 'server.address': address.hostname, 'server.port': Number(address.port) || defaultPort(address) }),
        ...(status === undefined ? {} : { 'http.response.status_code': status }),
      },
    });
  }
  if (tool !== undefined) {
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      ...(server === undefined ? {} : { 'server.address': server }),
    };
    facts.push({ name: `execute_tool ${tool}`, attributes });
  }
  return facts;
}

function llmCall({ model, responseModel, at, latencyMs, usage, finishReason, requestId }: z.infer<typeof llmCallSchema>): CallFacts {
  const asked = model ?? responseModel ?? 'unknown';
  return {
    name: `chat ${asked}`,
    at,
    latencyMs,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': asked,
      ...(responseModel === null || responseModel === undefined ? {} : { 'gen_ai.response.model': responseModel }),
      ...(requestId === undefined ? {} : { 'gen_ai.response.id': requestId }),
      ...(finishReason === undefined ? {} : { 'gen_ai.response.finish_reasons': [finishReason] }),
      ...(usage?.inputTokens === undefined ? {} : { 'gen_ai.usage.input_tokens': usage.inputTokens }),
      ...(usage?.outputTokens === undefined ? {} : { 'gen_ai.usage.output_tokens': usage.outputTokens }),
    },
  };
}

function defaultPort({ protocol }: URL): number {
  return protocol === 'http:' ? 80 : 443;
}

/** The step that contains this one: `each` of `each[3].pay`, `fan` of `fan.left.mail`, `pay` of `pay.$undo`. */
export function ownerOf(key: string): string | undefined {
  const cut = key.lastIndexOf('.');
  if (cut === -1) return undefined;
  const rest = key.slice(0, cut);
  if (key.slice(cut + 1).startsWith('$')) return rest;
  if (rest.endsWith(']')) return rest.slice(0, rest.lastIndexOf('['));
  const branch = rest.lastIndexOf('.');
  return branch === -1 ? undefined : rest.slice(0, branch);
}
