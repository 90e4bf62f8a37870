import { KilnError } from '../../model/errors.ts';
import { type Deadline, stoppedError } from '../http/deadline.ts';
import { networkCode } from '../http/exchange.ts';
import { statusError } from '../http/status.ts';

interface McpFailure {
  readonly serverId: string;
  readonly origin: string;
  readonly limit: Deadline;
  readonly now: number;
  /** The tool call had left. False while connecting and listing. */
  readonly sent: boolean;
  /** Doing it twice is harmless: the tool is read-only or idempotent, or nothing was asked of it yet. */
  readonly repeatable: boolean;
}

/** Statuses with which a server says that it did not act. */
const refusedStatuses = new Set([429, 503]);

/** A failed exchange with a server as a Kiln error. A call that may have acted and must not be repeated ends as `http.interrupted`. */
export function mcpError(error: unknown, failure: McpFailure): KilnError {
  const known = kilnErrorIn(error);
  if (known !== undefined) return known;
  const { serverId, origin, limit } = failure;
  const mayHaveActed = failure.sent && !failure.repeatable;
  const status = statusOf(error);
  if (status !== undefined) return statusFailure(status, error, failure);
  if (isProtocolError(error))
    return new KilnError('mcp.protocol', `The server ${serverId} refused: ${error.message.slice(0, 500)}`, {
      data: { code: error.code },
      cause: error,
    });
  const timedOut =
    limit.timedOut || (error instanceof Error && 'code' in error && error.code === 'REQUEST_TIMEOUT' && !limit.signal.aborted);
  if (mayHaveActed) {
    const what = timedOut
      ? `it did not answer within ${limit.timeoutMs} ms`
      : limit.signal.aborted
        ? 'the call was stopped'
        : `the reply was lost (${networkCode(error)})`;
    return new KilnError('http.interrupted', `The server ${serverId} received the call, then ${what}.`, { cause: error });
  }
  if (limit.signal.aborted) return stoppedError(limit, `The call to the server ${serverId}`);
  if (timedOut) return new KilnError('step.timeout', `The server ${serverId} did not answer in time.`, { cause: error });
  if (error instanceof Error && 'code' in error && error.code === 'CLIENT_HTTP_UNEXPECTED_CONTENT') {
    return new KilnError('http.invalid_response', `${origin} answers, but not as an MCP server.`, { cause: error });
  }
  return new KilnError('http.connection', `The connection to the server ${serverId} at ${origin} failed (${networkCode(error)}).`, {
    cause: error,
  });
}

function statusFailure(status: number, error: unknown, { serverId, origin, now, sent, repeatable }: McpFailure): KilnError {
  // The session is unknown to the server, which therefore did nothing; a new one is opened next time.
  if (status === 404 && sent)
    return new KilnError('http.connection', `The server ${serverId} no longer knows the session.`, { cause: error });
  if (status >= 500 && !refusedStatuses.has(status) && sent && !repeatable) {
    return new KilnError('http.interrupted', `The server ${serverId} received the call, then answered ${status}.`, {
      data: { status },
      cause: error,
    });
  }
  const mapped = statusError({ status, headers: {}, origin, now });
  return (
    mapped ??
    new KilnError('http.invalid_response', `${origin} answered ${status}; it does not seem to be an MCP server.`, {
      data: { status },
      cause: error,
    })
  );
}

/** Errors of our own `fetch` come back as they are or as the cause of an SDK error. */
function kilnErrorIn(error: unknown): KilnError | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    if (current instanceof KilnError) return current;
  }
  return undefined;
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  return typeof error.status === 'number' ? error.status : undefined;
}

/** JSON-RPC errors carry numbers as codes, the SDK's own errors words. */
function isProtocolError(error: unknown): error is Error & { readonly code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number';
}
