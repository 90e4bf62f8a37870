import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { type Json, parseJson } from '../../engine/json.ts';
import { KilnError } from '../../model/errors.ts';
import { type Deadline, deadline, stoppedError } from './deadline.ts';
import { exchange, type HopResponse, networkCode } from './exchange.ts';
import type { AddressGuard } from './guard.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  /** Secrets are already filled in; nothing of them reaches an error message. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For everything together: name look-up, redirects and the whole answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Cap on the decoded answer. */
  readonly maxBytes?: number;
  /** Sent as `Idempotency-Key`, and taken as a promise that repeating the request is harmless. */
  readonly idempotencyKey?: string;
}

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names; repeated headers joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** Present when the content type says JSON and the text is JSON. */
  readonly json?: Json;
  /** Where the answer came from in the end. */
  readonly origin: string;
  readonly redirects: number;
}

export interface HttpClient {
  /**
   * Sends one request and reads the whole answer; any HTTP status is an answer (`statusError` judges it).
   * Errors: `request.invalid`, `http.blocked_address`, `http.redirect`, `http.too_large`, `http.connection` (may be repeated),
   * `http.interrupted` (a request that must not be repeated blindly broke or timed out after it left), `step.timeout`, `run.cancelled`.
   */
  request(request: HttpRequest): Promise<HttpResponse>;
}

export const MAX_REDIRECTS = 3;
const DEFAULT_MAX_BYTES = 5 * 1024 * 1024;
const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
const methodPattern = /^[A-Z]{3,10}$/;

/** Headers that steer the connection itself; letting a definition set them invites request smuggling. */
const connectionHeaders = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'keep-alive',
]);

/** What may follow a redirect to another origin. All else may be a credential: besides Authorization and Cookie there is X-Api-Key and a hundred like it. */
const harmlessHeaders = new Set(['accept', 'accept-language', 'user-agent', 'accept-encoding']);

/** One hop's request; redirects make the next one out of it. */
interface Hop {
  readonly method: string;
  readonly url: URL | string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

/** What is known about the call so far, for judging a failure. */
interface Progress {
  sent: boolean;
  origin: string;
}

export function createHttpClient(guard: AddressGuard): HttpClient {
  return {
    async request(request) {
      const limit = deadline(request.timeoutMs, request.signal);
      const progress: Progress = { sent: false, origin: 'the address' };
      const first = firstHop(request);
      const repeatable = request.idempotencyKey !== undefined || idempotentMethods.has(first.method);
      try {
        return await follow(guard, first, request.maxBytes ?? DEFAULT_MAX_BYTES, limit.signal, progress);
      } catch (error) {
        throw callError(error, progress, repeatable, limit);
      }
    },
  };
}

async function follow(guard: AddressGuard, first: Hop, maxBytes: number, signal: AbortSignal, progress: Progress): Promise<HttpResponse> {
  let hop = first;
  for (let redirects = 0; ; redirects += 1) {
    const target = await guard.resolve(hop.url, signal);
    progress.origin = target.url.origin;
    const response = await exchange(target, { ...hop, signal, onSent: () => (progress.sent = true) });
    const location = redirectLocation(response);
    if (location === undefined) return readResponse(response, maxBytes, target.url.origin, redirects, signal);
    response.body.destroy();
    if (redirects === MAX_REDIRECTS)
      throw new KilnError('http.redirect', `${first.method} was redirected more than ${MAX_REDIRECTS} times.`);
    hop = nextHop(hop, target.url, response.status, location);
  }
}

function firstHop(request: HttpRequest): Hop {
  const method = request.method.toUpperCase();
  if (!methodPattern.test(method) || method === 'CONNECT' || method === 'TRACE')
    throw new KilnError('request.invalid', `${JSON.stringify(request.method)} is not a method that can be called.`);
  const headers: Record<string, string> = { 'user-agent': 'kiln', accept: '*/*' };
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    const lower = name.toLowerCase();
    if (connectionHeaders.has(lower) || lower.startsWith('proxy-'))
      throw new KilnError('request.invalid', `The header ${lower} cannot be set.`);
    headers[lower] = value;
  }
  // An encoding we did not ask for cannot hide a bomb behind the byte cap's back; see `decoded`.
  headers['accept-encoding'] = 'identity';
  if (request.idempotencyKey !== undefined) headers['idempotency-key'] = request.idempotencyKey;
  const body = typeof request.body === 'string' ? Buffer.from(request.body, 'utf8') : request.body;
  if (body !== undefined && (method === 'GET' || method === 'HEAD'))
    throw new KilnError('request.invalid', `A ${method} request has no body.`);
  return { method, url: request.url, headers, body };
}

function redirectLocation(response: HopResponse): string | undefined {
  const redirecting =
    response.status === 301 || response.status === 302 || response.status === 303 || response.status === 307 || response.status === 308;
  return redirecting ? response.headers.location : undefined;
}

function nextHop(hop: Hop, from: URL, status: number, location: string): Hop {
  const url = URL.parse(location, from.href);
  if (url === null) throw new KilnError('http.redirect', `${from.origin} redirected to something that is not an address.`);
  const sameOrigin = url.origin === from.origin;
  const rewritten = status === 303 ? hop.method !== 'HEAD' : (status === 301 || status === 302) && hop.method === 'POST';
  if (!rewritten && hop.body !== undefined && !sameOrigin) {
    throw new KilnError(
      'http.redirect',
      `${from.origin} redirected a request with a body to ${url.origin}; it is not passed on. Call that address directly.`,
    );
  }
  const kept = Object.entries(hop.headers).filter(
    ([name]) => (sameOrigin || harmlessHeaders.has(name)) && !(rewritten && name.startsWith('content-')),
  );
  return { method: rewritten ? 'GET' : hop.method, url, headers: Object.fromEntries(kept), body: rewritten ? undefined : hop.body };
}

async function readResponse(
  response: HopResponse,
  maxBytes: number,
  origin: string,
  redirects: number,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const bytes = await readAll(response.body, maxBytes, origin, signal);
  const text = new TextDecoder('utf-8').decode(bytes);
  const headers = flatHeaders(response.headers);
  const answer = { status: response.status, headers, bytes, text, origin, redirects };
  const json = parseIfJson(headers['content-type'], text);
  return json === undefined ? answer : { ...answer, json };
}

async function readAll(body: Readable, maxBytes: number, origin: string, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > maxBytes)
        throw new KilnError('http.too_large', `The answer of ${origin} is over ${maxBytes} bytes.`, { data: { maxBytes } });
      chunks.push(chunk);
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    body.destroy();
  }
  return Buffer.concat(chunks, size);
}

export function flatHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

function parseIfJson(contentType: string | undefined, text: string): Json | undefined {
  const essence = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (essence !== 'application/json' && !essence.endsWith('+json')) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Judges a failure by whether the request had left, and whether it may be repeated. */
function callError(error: unknown, progress: Progress, repeatable: boolean, limit: Deadline): KilnError {
  if (error instanceof KilnError) return error;
  const stopped = limit.signal.aborted;
  if (progress.sent && !repeatable) {
    const what = stopped
      ? limit.timedOut
        ? `no answer within ${limit.timeoutMs} ms`
        : 'the call was stopped'
      : `the connection broke (${networkCode(error)})`;
    return new KilnError('http.interrupted', `The request to ${progress.origin} was sent, then ${what}.`, { cause: error });
  }
  if (stopped) return stoppedError(limit, `The call to ${progress.origin}`);
  return new KilnError('http.connection', `The connection to ${progress.origin} failed (${networkCode(error)}).`, { cause: error });
}
