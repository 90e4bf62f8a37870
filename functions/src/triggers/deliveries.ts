import type { Deliver } from '../ledger/outbox.ts';
import { createMailer } from '../services/mail.ts';
import { mailBody } from '../services/mail-body.ts';
import type { Config } from './config.ts';

/** Sends an outbox mail by SendGrid. The outbox id is its idempotency key. */
export function mailDelivery(config: Config): Deliver {
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
