import type sendgrid from '@sendgrid/mail';
import { KilnError } from '../model/errors.ts';
import { type Deadline, deadline, stoppedError } from './http/deadline.ts';
import { networkCode } from './http/exchange.ts';
import { statusError } from './http/status.ts';

export interface Mail {
  /** Each recipient gets a mail of their own and sees no other. */
  readonly to: string | readonly string[];
  readonly subject: string;
  readonly text: string;
  /** Only what `mailBody` made. */
  readonly html?: string;
  /** Travels with the mail as `kiln_key` and `X-Kiln-Key`. SendGrid does not de-duplicate by it; the caller's ledger does. */
  readonly idempotencyKey: string;
  readonly categories?: readonly string[];
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface SentMail {
  readonly messageId: string | undefined;
}

export interface Mailer {
  /**
   * Hands one mail to the provider. Errors: `request.invalid`, `secret.missing`, `http.*`, `step.timeout`.
   * A break after the request left is `http.interrupted`: the mail may be on its way.
   */
  send(mail: Mail): Promise<SentMail>;
}

export interface MailConfig {
  readonly apiKey: () => string | undefined;
  /** `Name <address>` or an address. */
  readonly from: string | undefined;
  /** KILN_MAIL_BASE_URL: another region's host, or the sink in development. */
  readonly baseUrl?: string | undefined;
  readonly now: () => number;
}

const DEFAULT_BASE_URL = 'https://api.sendgrid.com/';
const DEFAULT_TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const addressPattern = /^[^\s@<>,;"]{1,64}@[^\s@<>,;"]{1,255}$/;

type SendGrid = typeof sendgrid;
type MailData = Exclude<Parameters<SendGrid['send']>[0], readonly unknown[]>;

/** Parts of SendGrid's package that its types do not show: the class of the mail service, and the client inside. */
interface Package {
  readonly MailService: new () => SendGrid & {
    readonly client: {
      setDefaultHeader(name: string, value: string): unknown;
      setDefaultRequest(name: string, value: unknown): unknown;
    };
  };
}

export function createMailer(config: MailConfig): Mailer {
  return {
    async send(mail) {
      const apiKey = config.apiKey();
      if (apiKey === undefined || apiKey === '') throw new KilnError('secret.missing', 'SENDGRID_API_KEY is not configured.');
      const data = mailData(mail, config.from);
      const base = config.baseUrl === undefined || config.baseUrl === '' ? DEFAULT_BASE_URL : config.baseUrl;
      const limit = deadline(mail.timeoutMs ?? DEFAULT_TIMEOUT_MS, mail.signal);
      const { MailService } = (await import('@sendgrid/mail')).default as unknown as Package;
      // One service per mail: its client holds the deadline, and the key does not stay in a singleton.
      const service = new MailService();
      const { client } = service;
      client.setDefaultHeader('Authorization', `Bearer ${apiKey}`);
      client.setDefaultRequest('baseUrl', base);
      client.setDefaultRequest('signal', limit.signal);
      client.setDefaultRequest('maxRedirects', 0);
      client.setDefaultRequest('maxContentLength', MAX_ANSWER_BYTES);
      try {
        const [response] = await service.send(data, true);
        return { messageId: messageId(response.headers) };
      } catch (error) {
        throw mailError(error, new URL(base).origin, limit, config.now());
      }
    },
  };
}

function mailData(mail: Mail, from: string | undefined): MailData {
  if (from === undefined || from === '') throw new KilnError('request.invalid', 'No sender is configured (KILN_MAIL_FROM).');
  const to = typeof mail.to === 'string' ? [mail.to] : [...mail.to];
  const wrong = to.filter((address) => !addressPattern.test(address));
  if (to.length === 0) throw new KilnError('request.invalid', 'The mail has no recipient.');
  if (wrong.length > 0) throw new KilnError('request.invalid', `Not an e-mail address: ${wrong.slice(0, 5).join(', ')}.`);
  return {
    to,
    from,
    // A line break in a header field would begin another one.
    subject: mail.subject.replace(/[\r\n]+/g, ' '),
    text: mail.text,
    ...(mail.html === undefined ? {} : { html: mail.html }),
    categories: [...(mail.categories ?? [])],
    customArgs: { kiln_key: mail.idempotencyKey },
    headers: { 'X-Kiln-Key': mail.idempotencyKey },
    // Links and texts stay as they were written: no rewritten addresses, no pixel.
    trackingSettings: { clickTracking: { enable: false, enableText: false }, openTracking: { enable: false } },
  };
}

function messageId(headers: unknown): string | undefined {
  const id: unknown = typeof headers === 'object' && headers !== null && 'x-message-id' in headers ? headers['x-message-id'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

/** What SendGrid's client rejects with: its own error for 4xx and 5xx, axios' for the rest. */
interface Rejected {
  readonly code?: unknown;
  readonly response?: { readonly status?: unknown; readonly headers?: Readonly<Record<string, unknown>>; readonly body?: unknown };
}

function mailError(error: unknown, origin: string, limit: Deadline, now: number): KilnError {
  if (error instanceof KilnError) return error;
  const { code, response } = (typeof error === 'object' && error !== null ? error : {}) as Rejected;
  if (response !== undefined && typeof code === 'number') {
    const retryAfter = response.headers?.['retry-after'];
    const headers = { 'retry-after': typeof retryAfter === 'string' ? retryAfter : undefined };
    const mapped = statusError({ status: code, headers, origin, detail: problems(response.body), now });
    if (mapped !== undefined) return mapped;
  }
  if (response !== undefined)
    return new KilnError('http.redirect', `${origin} answered ${String(response.status)}; a mail is not sent on.`);
  if (neverLeft(error)) {
    return limit.signal.aborted
      ? stoppedError(limit, `The mail to ${origin}`)
      : new KilnError('http.connection', `The connection to ${origin} failed (${networkCode(error)}).`, { cause: error });
  }
  const what = limit.timedOut
    ? `no answer within ${limit.timeoutMs} ms`
    : limit.signal.aborted
      ? 'the call was stopped'
      : `the connection broke (${networkCode(error)})`;
  return new KilnError('http.interrupted', `The mail was handed to ${origin}, then ${what}.`, { cause: error });
}

function problems(body: unknown): string {
  const list: unknown = typeof body === 'object' && body !== null && 'errors' in body ? body.errors : [];
  if (!Array.isArray(list)) return '';
  const messages = list.map((item: unknown) =>
    typeof item === 'object' && item !== null && 'message' in item ? String(item.message) : '',
  );
  return messages.slice(0, 5).join(' ').slice(0, 1_000);
}

/** True only when the failure is known to lie before the request: no name, no connection, no trusted certificate. */
function neverLeft(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(neverLeft);
  if (!(error instanceof Error)) return false;
  if (error.cause instanceof Error) return neverLeft(error.cause);
  const { syscall, code } = error as NodeJS.ErrnoException;
  return syscall === 'connect' || syscall === 'getaddrinfo' || /^(CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO)/.test(code ?? '');
}
