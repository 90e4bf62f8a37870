import { KilnError } from '../../model/errors.ts';
import { parseRetryAfter } from './retry-after.ts';

interface StatusInput {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Who answered, without path or query: those may hold tokens. */
  readonly origin: string;
  /** What the target said about it, already redacted by the caller if it may be shown. */
  readonly detail?: string | undefined;
  readonly now: number;
}

/** The error that an HTTP status stands for, or undefined for 1xx to 3xx. */
export function statusError(input: StatusInput): KilnError | undefined {
  const { status, origin } = input;
  if (status < 400) return undefined;
  const detail = input.detail === undefined || input.detail === '' ? '' : ` ${input.detail}`;
  const retryAfterMs = parseRetryAfter(input.headers['retry-after'], input.now);
  const options = retryAfterMs === undefined ? { data: { status } } : { data: { status }, retryAfterMs };
  if (status === 429) return new KilnError('http.rate_limited', `${origin} answered 429.${detail}`, options);
  // 408 and 425 mean "not now", and the request was not acted upon.
  if (status >= 500 || status === 408 || status === 425)
    return new KilnError('http.server_error', `${origin} answered ${status}.${detail}`, options);
  return new KilnError('http.client_error', `${origin} answered ${status}.${detail}`, { data: { status } });
}
