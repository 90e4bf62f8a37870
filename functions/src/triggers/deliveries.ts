import { parseJson } from '../engine/json.ts';
import { documentPath } from '../ledger/destinations.ts';
import type { Deliver } from '../ledger/outbox.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { OutboxRecord } from '../model/outbox.ts';
import { CallSecrets } from '../runner/call-secrets.ts';
import type { Runtime } from '../runner/runtime.ts';
import { createMailer } from '../services/mail.ts';
import { mailBody } from '../services/mail-body.ts';
import { requireSecret } from '../services/secrets.ts';
import { signWebhook } from '../services/webhooks/sign.ts';
import type { Config } from './config.ts';

const WEBHOOK_TIMEOUT_MS = 20_000;
/** Of the answer only the status counts. */
const ANSWER_MAX_BYTES = 64 * 1024;
const GONE = 410;

/** How each kind of delivery is made. Alerts are the engine's own. */
export function deliveriesOf(config: Config): Runtime['deliveries'] {
  return { mail: mailDelivery(config), webhook: webhookDelivery, kb: kbDelivery, document: documentDelivery };
}

/** Sends an outbox mail by SendGrid. The outbox id is its idempotency key. */
function mailDelivery(config: Config): Deliver {
  const mailer = createMailer({
    apiKey: () => config.sendgridApiKey,
    from: config.mailFrom,
    baseUrl: config.mailBaseUrl,
    now: () => Date.now(),
  });
  return async (_runtime, record) => {
    const link = record.link === undefined ? {} : { link: { label: 'Open', url: new URL(record.link, config.webUrl).href } };
    const body = mailBody({ heading: record.subject ?? 'Kiln', paragraphs: record.body.split('\n\n'), ...link });
    await mailer.send({
      to: record.to,
      subject: record.subject ?? 'Kiln',
      text: body.text,
      html: body.html,
      idempotencyKey: record.id,
      categories: ['kiln'],
    });
  };
}

/**
 * Posts a signed webhook. The receiver de-duplicates by its id, which is the same for every try. Anything but a 2xx is tried again
 * for a day, since a receiver that is being repaired answers all sorts of things; 410 means that nobody wants it any more.
 */
export const webhookDelivery: Deliver = async (runtime, record) => {
  const secrets = new CallSecrets(runtime.services.secrets);
  try {
    const { http } = runtime.services;
    if (http === undefined) throw new KilnError('request.invalid', 'this deployment makes no outgoing calls');
    const { status, origin } = await http.request({
      method: 'POST',
      url: secrets.fillIn(record.to),
      headers: webhookHeaders(runtime, record),
      body: record.body,
      timeoutMs: WEBHOOK_TIMEOUT_MS,
      maxBytes: ANSWER_MAX_BYTES,
      idempotencyKey: record.id,
    });
    if (status === GONE)
      throw new KilnError('http.client_error', `${origin} answered 410: it wants no more of these.`, { data: { status } });
    if (status < 200 || status >= 300) throw new KilnError('webhook.refused', `${origin} answered ${status}.`, { data: { status } });
  } catch (error) {
    const { code, message, data, retryAfterMs } = secrets.error(toErrorRecord(error));
    if (!(error instanceof KilnError)) throw new Error(`${code}: ${message}`, { cause: error });
    throw new KilnError(error.code, message, { data, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  }
};

function webhookHeaders(runtime: Runtime, { id, body, secret, chainDepth }: OutboxRecord): Readonly<Record<string, string>> {
  const timestamp = runtime.clock.now();
  // Several names while a key is being replaced.
  const names = secret === undefined ? [] : secret.split(',').map((name) => name.trim());
  const source = runtime.services.secrets ?? { get: () => undefined };
  const keys = names.map((name) => requireSecret(source, name));
  const signed =
    keys.length === 0
      ? { 'content-type': 'application/json; charset=utf-8', 'webhook-id': id, 'webhook-timestamp': String(Math.floor(timestamp / 1_000)) }
      : signWebhook({ id, timestamp, body, keys });
  return { ...signed, 'kiln-chain-depth': String(chainDepth ?? 0) };
}

/** The same content under the same title is one version, so sending it again changes nothing. */
const kbDelivery: Deliver = async ({ services }, { accountId, to, subject, body, runId }) => {
  if (services.kb === undefined) throw new KilnError('kb.missing', 'this deployment has no knowledge base');
  await services.kb.add(accountId, {
    collection: to,
    title: subject ?? to,
    markdown: body,
    ...(runId === undefined ? {} : { sourceRunId: runId }),
  });
};

const documentDelivery: Deliver = async ({ store, clock }, { accountId, to, body }) => {
  // Checked again: what is in the outbox may be older than the rules for it.
  const path = documentPath(accountId, to);
  const result = parseJson(body);
  const fields = typeof result === 'object' && result !== null && !Array.isArray(result) ? result : {};
  const { output, ...facts } = fields;
  // As JSON text: the database does not take every value (lists in lists), nor every key.
  const data = { ...facts, ...(output === undefined ? {} : { output: JSON.stringify(output) }), deliveredAt: clock.now() };
  await store.commit([{ op: 'set', path, data }]);
};
