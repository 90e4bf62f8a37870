import type { APIError } from 'openai';
import { KilnError } from '../model/errors.ts';
import { type Deadline, stoppedError } from './http/deadline.ts';
import { networkCode } from './http/exchange.ts';
import { parseRetryAfter } from './http/retry-after.ts';
import { statusError } from './http/status.ts';

/** The classes of the SDK, which is loaded only when a call is made. */
type OpenAIModule = typeof import('openai');

interface CallFacts {
  readonly sdk: OpenAIModule;
  readonly limit: Deadline;
  readonly origin: string;
  readonly now: number;
}

/** A failed provider call as a Kiln error. Repeating a call costs money but decides nothing twice, so broken connections are retryable. */
export function llmError(error: unknown, facts: CallFacts): KilnError {
  const { sdk, limit, origin } = facts;
  if (error instanceof KilnError) return error;
  if (limit.signal.aborted) return stoppedError(limit, `The call to the model at ${origin}`);
  if (error instanceof sdk.APIConnectionTimeoutError)
    return new KilnError('step.timeout', `The model at ${origin} did not answer in time.`, { cause: error });
  if (error instanceof sdk.APIError && error.status !== undefined) return statusFailure(error, facts);
  if (error instanceof SyntaxError) return new KilnError('http.invalid_response', `The answer of ${origin} is not JSON.`, { cause: error });
  if (error instanceof sdk.APIError && !(error instanceof sdk.APIConnectionError)) {
    // An error event inside a stream: the provider gave up half-way.
    return new KilnError('http.server_error', `The model at ${origin} failed while it was answering.`, { cause: error });
  }
  return new KilnError('http.connection', `The connection to the model at ${origin} failed (${networkCode(error)}).`, { cause: error });
}

function statusFailure(error: APIError, { origin, now }: CallFacts): KilnError {
  const status = Number(error.status);
  const facts = { status, code: error.code ?? null, type: error.type ?? null, requestId: error.requestID ?? null };
  if (status === 429 && error.code === 'insufficient_quota')
    return new KilnError('llm.quota', `${origin}: the quota is used up.`, { data: facts, cause: error });
  if (status === 400 && error.code === 'content_filter')
    return new KilnError('llm.refused', `The content filter of ${origin} refused the prompt.`, { data: facts, cause: error });
  // A 401 quotes a part of the key.
  const detail = status === 401 ? 'The API key was not accepted.' : withoutStatus(error.message, status);
  const headers = { 'retry-after': error.headers?.get('retry-after') ?? undefined };
  const mapped = statusError({ status, headers, origin, detail, now });
  if (mapped === undefined) return new KilnError('http.invalid_response', `${origin} answered ${status}.`, { data: facts, cause: error });
  const milliseconds = parseMilliseconds(error.headers?.get('retry-after-ms'));
  const retryAfterMs = mapped.retryAfterMs ?? milliseconds;
  return new KilnError(mapped.code, mapped.message, { data: facts, cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}

/** OpenAI's own finer header; only read where the standard one is missing. */
function parseMilliseconds(value: string | null | undefined): number | undefined {
  if (value === null || value === undefined || !/^\d+$/.test(value)) return undefined;
  return Math.min(Number(value), parseRetryAfter(String(Math.ceil(Number(value) / 1000)), 0) ?? 0);
}

function withoutStatus(message: string, status: number): string {
  return message.startsWith(`${status} `) ? message.slice(String(status).length + 1) : message;
}
