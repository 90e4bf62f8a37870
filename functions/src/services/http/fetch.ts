import { Readable, Transform } from 'node:stream';
import { KilnError } from '../../model/errors.ts';
import { flatHeaders } from './client.ts';
import { exchange } from './exchange.ts';
import type { AddressGuard } from './guard.ts';

export interface FetchHooks {
  /** The request starts to leave. */
  readonly onSent?: () => void;
}

export type GuardedFetch = (url: string | URL, init?: RequestInit, hooks?: FetchHooks) => Promise<Response>;

const DEFAULT_MAX_BYTES = 20 * 1024 * 1024;
const never = new AbortController().signal;

/**
 * A `fetch` for SDKs that take one: the same address checks as `HttpClient`, streaming, no redirects
 * (the 3xx is handed back), a cap on the bytes of an answer. Bodies are text or bytes.
 */
export function createGuardedFetch(guard: AddressGuard, maxBytes = DEFAULT_MAX_BYTES): GuardedFetch {
  return async (url, init = {}, hooks = {}) => {
    const signal = init.signal ?? never;
    const target = await guard.resolve(url, signal);
    const headers: Record<string, string> = {};
    new Headers(init.headers).forEach((value, name) => (headers[name] = value));
    headers['accept-encoding'] = 'identity';
    const answer = await exchange(target, {
      method: (init.method ?? 'GET').toUpperCase(),
      headers,
      body: bodyBytes(init.body),
      signal,
      ...hooks,
    });
    const bare = answer.status === 204 || answer.status === 205 || answer.status === 304;
    if (bare) answer.body.resume();
    const kept = flatHeaders(answer.headers);
    // The body is already decoded; these describe how it travelled.
    delete kept['content-encoding'];
    delete kept['content-length'];
    delete kept['transfer-encoding'];
    return new Response(bare ? null : capped(answer.body, maxBytes, target.url.origin), { status: answer.status, headers: kept });
  };
}

function bodyBytes(body: RequestInit['body']): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return Buffer.from(body, 'utf8');
  if (body instanceof URLSearchParams) return Buffer.from(body.toString(), 'utf8');
  if (body instanceof Uint8Array) return body;
  throw new KilnError('request.invalid', 'The body must be text or bytes.');
}

function capped(body: Readable, maxBytes: number, origin: string): ReadableStream<Uint8Array> {
  let size = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.byteLength;
      if (size > maxBytes)
        done(new KilnError('http.too_large', `The answer of ${origin} is over ${maxBytes} bytes.`, { data: { maxBytes } }));
      else done(null, chunk);
    },
  });
  body.on('error', (error) => counter.destroy(error));
  counter.on('close', () => body.destroy());
  return Readable.toWeb(body.pipe(counter)) as ReadableStream<Uint8Array>;
}
