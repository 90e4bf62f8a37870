import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { asObject, parseJson } from '../json-fields.ts';
import { cutConnection, sendJson, startLocalServer, type LocalRequest } from '../local-server.ts';
import { ScriptedFaults } from '../scripted-faults.ts';
import { problemsOf, readMails, type SunkMail } from './mail.ts';
import { mailPage, pageHeaders } from './page.ts';

export const mailFaultKinds = ['400', '401', '403', '429', '500', '503', 'timeout', 'drop'] as const;

export interface MailSinkStats {
  accepted: number;
  refused: number;
  /** Mails that were forgotten to keep memory bounded. */
  forgotten: number;
  readonly faults: Record<string, number>;
}

export interface MailSinkServer {
  readonly port: number;
  /** The value of KILN_MAIL_BASE_URL. */
  readonly url: string;
  readonly faults: ScriptedFaults;
  readonly stats: MailSinkStats;
  /** Oldest first. */
  readonly mails: readonly SunkMail[];
  clear(): void;
  close(): Promise<void>;
}

export interface MailSinkOptions {
  readonly port?: number;
  readonly maxMails?: number;
  readonly maxBytes?: number;
}

class Box {
  readonly mails: SunkMail[] = [];
  #bytes = 0;
  readonly #maxMails: number;
  readonly #maxBytes: number;

  constructor(maxMails: number, maxBytes: number) {
    this.#maxMails = maxMails;
    this.#maxBytes = maxBytes;
  }

  /** Returns how many old mails had to go. */
  put(mails: readonly SunkMail[]): number {
    for (const mail of mails) {
      this.mails.push(mail);
      this.#bytes += mail.bytes;
    }
    let forgotten = 0;
    while (this.mails.length > this.#maxMails || (this.#bytes > this.#maxBytes && this.mails.length > 1)) {
      this.#bytes -= this.mails.shift()?.bytes ?? 0;
      forgotten += 1;
    }
    return forgotten;
  }

  clear(): void {
    this.mails.length = 0;
    this.#bytes = 0;
  }
}

function sendErrors(response: ServerResponse, status: number, errors: readonly object[], headers: Record<string, string> = {}): void {
  sendJson(response, status, { errors }, headers);
}

/** Returns false when the mail is to be accepted before the connection is cut. */
async function failed(kind: string, retryAfterSeconds: number, request: LocalRequest, response: ServerResponse): Promise<boolean> {
  if (kind === 'drop') return false;
  if (kind === 'timeout') {
    await new Promise<void>((resolve) => {
      if (request.signal.aborted) resolve();
      request.signal.addEventListener('abort', () => resolve());
    });
    cutConnection(response);
    return true;
  }
  const headers: Record<string, string> = kind === '429' ? { 'retry-after': String(retryAfterSeconds) } : {};
  sendErrors(response, Number(kind), [{ message: 'Injected by the mail sink.', field: null, help: null }], headers);
  return true;
}

/** Speaks SendGrid's v3 `mail/send`, keeps what it gets, and shows it. */
export async function startMailSink(options: MailSinkOptions = {}): Promise<MailSinkServer> {
  const box = new Box(options.maxMails ?? 500, options.maxBytes ?? 16 * 1024 * 1024);
  const faults = new ScriptedFaults(mailFaultKinds);
  const stats: MailSinkStats = { accepted: 0, refused: 0, forgotten: 0, faults: {} };

  const onSend = async (request: LocalRequest, response: ServerResponse): Promise<void> => {
    const text = request.body.toString('utf8');
    const fault = faults.take(text);
    if (fault !== undefined) {
      stats.faults[fault.kind] = (stats.faults[fault.kind] ?? 0) + 1;
      if (await failed(fault.kind, fault.retryAfterSeconds ?? 1, request, response)) return void (stats.refused += 1);
    }
    if (!/^Bearer \S+/.test(request.headers.authorization ?? '')) {
      stats.refused += 1;
      return sendErrors(response, 401, [
        { message: 'The provided authorization grant is invalid, expired, or revoked', field: null, help: null },
      ]);
    }
    const body = asObject(parseJson(text));
    const problems = body === undefined ? [{ message: 'Bad Request', field: null, help: null }] : problemsOf(body);
    if (body === undefined || problems.length > 0) {
      stats.refused += 1;
      return sendErrors(response, 400, problems);
    }
    const id = randomBytes(12).toString('base64url');
    stats.forgotten += box.put(readMails(body, id, new Date().toISOString(), request.body.length));
    stats.accepted += 1;
    if (fault?.kind === 'drop') return cutConnection(response);
    response.writeHead(202, { 'x-message-id': id });
    response.end();
  };

  const onRead = (request: LocalRequest, response: ServerResponse): void => {
    const one = /^\/mails\/([^/]+)$/.exec(request.path)?.[1];
    if (request.method === 'GET' && one !== undefined) {
      const mail = box.mails.find((candidate) => candidate.id === decodeURIComponent(one));
      return mail === undefined
        ? sendErrors(response, 404, [{ message: 'No such mail.', field: 'id', help: null }])
        : sendJson(response, 200, mail);
    }
    switch (`${request.method} ${request.path}`) {
      case 'GET /':
        response.writeHead(200, pageHeaders);
        return void response.end(mailPage(box.mails));
      case 'GET /mails': {
        const to = request.query.get('to');
        return sendJson(response, 200, { mails: box.mails.filter((mail) => to === null || mail.to.some((person) => person.includes(to))) });
      }
      case 'DELETE /mails':
        box.clear();
        return sendJson(response, 200, {});
      case 'GET /__stats':
        return sendJson(response, 200, { ...stats, kept: box.mails.length });
      case 'POST /__faults':
        faults.addFrom(parseJson(request.body.toString('utf8')));
        return sendJson(response, 200, { pending: faults.pending });
      case 'DELETE /__faults':
        faults.clear();
        return sendJson(response, 200, { pending: [] });
      default:
        return sendErrors(response, 404, [
          { message: `The mail sink does not know ${request.method} ${request.path}.`, field: null, help: null },
        ]);
    }
  };

  const server = await startLocalServer({
    ...(options.port === undefined ? {} : { port: options.port }),
    handle: (request, response) =>
      request.method === 'POST' && request.path === '/v3/mail/send' ? onSend(request, response) : onRead(request, response),
  });
  return { port: server.port, url: server.url, faults, stats, mails: box.mails, clear: () => box.clear(), close: server.close };
}
