import http, { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { KilnError } from '../../model/errors.ts';
import type { Address, Target } from './guard.ts';

export interface HopRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
  /** Called when the connection stands and the request starts to leave: from here on it may take effect. */
  readonly onSent?: () => void;
}

export interface HopResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Decoded; fails when the connection breaks before the end. */
  readonly body: Readable;
}

/** What Node's own error says, for the message: `ECONNREFUSED`, `ERR_TLS_…`. */
export function networkCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return networkCode(error.errors[0]);
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  if (!(error instanceof Error)) return 'unknown';
  // SDKs wrap the error that says something.
  return error.cause instanceof Error ? networkCode(error.cause) : error.name;
}

/**
 * One request and its answer over a fresh connection to a checked address; no redirects, no reuse of
 * connections (a reused one that breaks would leave open whether the request had left).
 * Rejects with Node's error, or with `signal.reason`.
 */
export function exchange(target: Target, request: HopRequest): Promise<HopResponse> {
  const { url } = target;
  const secure = url.protocol === 'https:';
  const options: RequestOptions = {
    method: request.method,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? undefined : Number(url.port),
    path: `${url.pathname}${url.search}`,
    headers: { ...request.headers, ...contentLength(request) },
    lookup: fixedLookup(target.addresses),
    agent: false,
    signal: request.signal,
  };
  return new Promise((resolve, reject) => {
    let sending: http.ClientRequest;
    try {
      sending = secure ? https.request(options) : http.request(options);
    } catch (error) {
      reject(
        new KilnError('request.invalid', `The request cannot be sent: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        }),
      );
      return;
    }
    sending.once('socket', (socket) => socket.once(secure ? 'secureConnect' : 'connect', () => request.onSent?.()));
    sending.once('response', (incoming) =>
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        body: hasBody(request.method, incoming) ? decoded(incoming) : incoming,
      }),
    );
    // Stays on: an error after the answer has begun is reported by the body, and must not end the process here.
    sending.on('error', (error) => reject(request.signal.aborted ? request.signal.reason : error));
    sending.end(request.body);
  });
}

function contentLength(request: HopRequest): Record<string, string> {
  if (request.body !== undefined) return { 'content-length': String(request.body.byteLength) };
  return request.method === 'POST' || request.method === 'PUT' || request.method === 'PATCH' ? { 'content-length': '0' } : {};
}

/** Answers every question of the socket with the addresses that were checked, so DNS has no second say. */
function fixedLookup(addresses: readonly Address[]): LookupFunction {
  return (_hostname, options, callback) => {
    const first = addresses[0];
    if (first === undefined) callback(new Error('no address'), '', 4);
    else if (options.all === true)
      callback(
        null,
        addresses.map(({ address, family }) => ({ address, family })),
      );
    else callback(null, first.address, first.family);
  };
}

/** Whether a body follows at all: the headers describe one even where it is left out, and decoding nothing is an error. */
function hasBody(method: string, incoming: IncomingMessage): boolean {
  return method !== 'HEAD' && incoming.statusCode !== 204 && incoming.statusCode !== 304 && incoming.headers['content-length'] !== '0';
}

/** Undoes a content encoding. We ask for none, but some servers compress regardless; the byte cap counts what comes out. */
function decoded(incoming: IncomingMessage): Readable {
  const decoder = decoderFor(incoming.headers['content-encoding']);
  if (decoder === undefined) return incoming;
  incoming.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => incoming.destroy());
  return incoming.pipe(decoder);
}

function decoderFor(encoding: string | undefined): ReturnType<typeof createGunzip> | undefined {
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
