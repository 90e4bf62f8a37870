import { z } from 'zod';
import { canonicalJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { validateAgainst } from '../engine/schema-check.ts';
import { approversSchema } from '../model/approval.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { HttpResponse } from '../services/http/client.ts';
import { statusError } from '../services/http/status.ts';
import { taintWrites } from './guarded.ts';
import type { EffectStepType, Performed, PerformContext } from './step-type.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);

const schema = z
  .strictObject({
    type: z.literal('http'),
    method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).optional(),
    url: z.string().min(1).max(8_000),
    query: z.record(z.string(), scalar).optional(),
    headers: z.record(z.string(), scalar).optional(),
    /** Sent as JSON. */
    body: z.json().optional(),
    /** Sent as a form. */
    form: z.record(z.string(), scalar).optional(),
    /** Sent as it is; name its type in the header content-type. */
    text: z.string().optional(),
    /** JSON Schema of the answer's JSON. */
    responseSchema: z.json().optional(),
    maxBytes: z
      .number()
      .int()
      .min(1)
      .max(6 * 1024 * 1024)
      .optional(),
    /** The request changes nothing: it may be repeated, and needs no approval in a tainted run. GET, HEAD and OPTIONS are so anyway. */
    readOnly: z.boolean().optional(),
    /** What the target answers was written by outsiders: the run counts as tainted from here on. */
    taints: z.boolean().optional(),
    /** Who allows the request when the run is tainted. Default: approvers and admins. */
    approvers: approversSchema.optional(),
  })
  .refine(
    ({ body, form, text }) => [body, form, text].filter((value) => value !== undefined).length <= 1,
    'give one of "body", "form" and "text"',
  );
type Config = z.infer<typeof schema>;

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** By their definition in HTTP, repeating them changes nothing more. */
const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
/** What later steps may need. All others may carry sessions and tokens. */
const keptHeaders = ['content-type', 'location', 'etag', 'last-modified', 'retry-after', 'link', 'x-request-id', 'x-total-count'] as const;

export const http: EffectStepType<Config> = {
  type: 'http',
  title: 'HTTP request',
  description: 'Calls a web service. Only public addresses, checked after name resolution and at each redirect.',
  kind: 'effect',
  schema,
  idempotent: false,
  isIdempotent: (config) => ('readOnly' in config && (config as Config).readOnly === true ? true : repeatableMethods.has(methodOf(config))),
  literalFields: ['responseSchema', 'approvers'],
  schemaFields: ['responseSchema'],
  secretFields: ['url', 'query', 'headers', 'body', 'form', 'text'],
  guard: (config) => (isReadOnly(config) ? undefined : { what: `${methodOf(config)} ${config.url}`, approvers: config.approvers }),
  outputSchema: (config) => ({
    type: 'object',
    properties: {
      status: { type: 'integer' },
      headers: { type: 'object', additionalProperties: { type: 'string' } },
      json: config['responseSchema'] ?? true,
      text: { type: 'string' },
      base64: { type: 'string' },
    },
    additionalProperties: false,
  }),
  preflight: (config, { place, services }) => {
    const start = fixedStart(config.url);
    if (start === undefined || services.http === undefined) return [];
    try {
      services.http.check(start);
      return [];
    } catch (error) {
      const { message } = toErrorRecord(error);
      return [{ path: `${place.path}.url`, code: error instanceof KilnError ? error.code : 'request.invalid', message }];
    }
  },
  perform,
};

function methodOf(config: object): string {
  return 'method' in config && typeof config.method === 'string' ? config.method : 'GET';
}

function isReadOnly(config: Config): boolean {
  return config.readOnly ?? readingMethods.has(methodOf(config));
}

/** As much of an address as stands before its first template, if that names the host; only then can it be judged early. */
function fixedStart(url: string): string | undefined {
  const end = url.indexOf('{{');
  if (end === -1) return url;
  return /^[a-z]+:\/\/[^/?#{]+[/?#]/i.exec(url.slice(0, end))?.[0];
}

async function perform(context: PerformContext<Config>): Promise<Performed> {
  const { config, services, idempotencyKey, timeoutMs, signal, now } = context;
  if (services.http === undefined) throw new KilnError('request.invalid', 'this deployment makes no HTTP calls');
  const method = methodOf(config);
  const readOnly = isReadOnly(config);
  const repeatable = config.idempotent ?? (readOnly || repeatableMethods.has(method));
  const { body, contentType } = bodyOf(config);
  const own = Object.fromEntries(Object.entries(config.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
  const headers = {
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    // A target that knows the header answers a repetition with its first answer. Ours to promise it is only what the definition declares.
    ...(readOnly ? {} : { 'idempotency-key': idempotencyKey, 'kiln-chain-depth': String((await context.facts()).chainDepth) }),
    ...own,
  };
  let response: HttpResponse;
  try {
    response = await services.http.request({
      method,
      url: withQuery(config.url, config.query),
      headers,
      ...(body === undefined ? {} : { body }),
      timeoutMs,
      signal,
      ...(config.maxBytes === undefined ? {} : { maxBytes: config.maxBytes }),
      ...(repeatable && !readOnly ? { idempotencyKey: own['idempotency-key'] ?? idempotencyKey } : {}),
    });
  } catch (error) {
    // The target has answered, so it has acted; only the answer could not be taken.
    if (!repeatable && error instanceof KilnError && error.code === 'http.too_large') throw unclear(error.message, error);
    throw error;
  }
  judgeStatus(response, { method, repeatable, strict: config.effectKey !== undefined, now });
  const problems = config.responseSchema === undefined ? [] : validateAgainst(config.responseSchema, response.json ?? null);
  if (problems.length > 0) {
    const list = problems.slice(0, 5).map((problem) => `${problem.path === '' ? 'the whole' : problem.path}: ${problem.message}`);
    const message = `the answer of ${response.origin} does not match responseSchema: ${list.join('; ')}`;
    throw repeatable ? new KilnError('schema.mismatch', message, { data: { answer: response.text.slice(0, 2_000) } }) : unclear(message);
  }
  return {
    output: outputOf(response),
    details: { method, origin: response.origin, status: response.status, bytes: response.bytes.byteLength, redirects: response.redirects },
    writes: config.taints === true ? await taintWrites(context) : [],
  };
}

function unclear(message: string, cause?: unknown): KilnError {
  return new KilnError('http.unclear_answer', message, { cause });
}

function bodyOf(config: Config): { readonly body?: string; readonly contentType?: string } {
  if (config.body !== undefined) return { body: canonicalJson(config.body), contentType: 'application/json' };
  if (config.form !== undefined) {
    const form = new URLSearchParams(Object.fromEntries(Object.entries(config.form).map(([name, value]) => [name, String(value)])));
    return { body: form.toString(), contentType: 'application/x-www-form-urlencoded' };
  }
  return config.text === undefined ? {} : { body: config.text, contentType: 'text/plain; charset=utf-8' };
}

function withQuery(address: string, query: Config['query']): string {
  if (query === undefined) return address;
  const url = URL.parse(address);
  if (url === null) return address;
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, String(value));
  return url.href;
}

interface Judging {
  readonly method: string;
  readonly repeatable: boolean;
  /** The effect has a business key: it must not happen twice, whatever the target's habits. */
  readonly strict: boolean;
  readonly now: number;
}

/**
 * 429 and 5xx are tried again, other 4xx are not. A gateway that gave up (502, 504) does not say whether the target acted; nor
 * does any 5xx but 503 where doing it twice must be ruled out.
 */
function judgeStatus(response: HttpResponse, { method, repeatable, strict, now }: Judging): void {
  const { status, origin, headers, text } = response;
  const error = statusError({ status, headers, origin, detail: text.slice(0, 300), now });
  if (error === undefined) return;
  const unsure = status === 502 || status === 504 || (strict && status >= 500 && status !== 503);
  if (unsure && !repeatable)
    throw new KilnError('http.interrupted', `${origin} answered ${status} to ${method}; it may have acted.`, { data: { status } });
  throw new KilnError(error.code, error.message, {
    data: { status, answer: text.slice(0, 2_000) },
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
}

function outputOf({ status, headers, json, text, bytes }: HttpResponse): Json {
  const kept = Object.fromEntries(keptHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));
  const base = { status, headers: kept };
  if (json !== undefined) return { ...base, json };
  return isText(bytes) ? { ...base, text } : { ...base, base64: Buffer.from(bytes).toString('base64') };
}

function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
