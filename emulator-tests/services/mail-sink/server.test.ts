import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mailPackage, type MailService } from '../../functions-packages.ts';
import { startMailSink, type MailSinkServer } from './server.ts';

let sink: MailSinkServer;
beforeEach(async () => {
  sink = await startMailSink();
});
afterEach(() => sink.close());

/** The real client with another base URL. Each has its own HTTP client: the package's default one is shared state. */
function sendGrid(baseUrl: string, key = 'SG.test'): MailService {
  const fromFunctions = createRequire(new URL('../../../functions/package.json', import.meta.url));
  const fromMail = createRequire(fromFunctions.resolve('@sendgrid/mail'));
  const { Client } = fromMail('@sendgrid/client') as {
    Client: new () => { setApiKey(key: string): void; setDefaultRequest(key: string, value: string): void };
  };
  const http = new Client();
  const service = new (mailPackage().MailService)();
  service.setClient(http);
  service.setApiKey(key);
  http.setDefaultRequest('baseUrl', `${baseUrl}/`);
  return service;
}

const mail = {
  to: 'ann@example.com',
  from: { email: 'kiln@example.com', name: 'Kiln' },
  subject: 'Please decide: invoice 17',
  text: 'Open https://kiln.example.com/approvals/1?a=2&b=3 to decide.',
  html: '<p>Open the <a href="https://kiln.example.com/approvals/1">approval</a>.</p>',
  customArgs: { outbox: 'o1' },
};

describe('the real SendGrid client against the sink', () => {
  test('a mail is accepted with an id and can be read', async () => {
    const [response] = await sendGrid(sink.url).send(mail);
    expect(response.statusCode).toBe(202);
    const id = String(response.headers['x-message-id']);
    const read = (await (await fetch(`${sink.url}/mails/${id}`)).json()) as object;
    expect(read).toMatchObject({
      id,
      to: ['ann@example.com'],
      from: 'Kiln <kiln@example.com>',
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      customArgs: { outbox: 'o1' },
    });
  });

  test('mails can be listed by recipient and cleared', async () => {
    const client = sendGrid(sink.url);
    await client.send(mail);
    await client.send({ ...mail, to: ['bob@example.com', 'cy@example.com'], isMultiple: true });
    const list = async (query: string): Promise<{ to: string[] }[]> =>
      ((await (await fetch(`${sink.url}/mails${query}`)).json()) as { mails: { to: string[] }[] }).mails;
    expect((await list('')).map((each) => each.to)).toEqual([['ann@example.com'], ['bob@example.com'], ['cy@example.com']]);
    expect(await list('?to=cy@')).toHaveLength(1);
    await fetch(`${sink.url}/mails`, { method: 'DELETE' });
    expect(await list('')).toEqual([]);
  });

  test('what SendGrid refuses is refused with its error form', async () => {
    const client = sendGrid(sink.url);
    const refused = await client.send({ ...mail, to: 'nobody' }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 400, response: { body: { errors: [{ field: 'personalizations.0.to.email' }] } } });
    await expect(client.send({ ...mail, subject: '' })).rejects.toMatchObject({ code: 400 });
    const keyless = await fetch(`${sink.url}/v3/mail/send`, { method: 'POST', body: '{}' });
    expect(keyless.status).toBe(401);
    expect(sink.mails).toHaveLength(0);
    expect(sink.stats).toMatchObject({ accepted: 0, refused: 3 });
  });

  test('faults: 429 and 500 send nothing; a dropped connection has sent the mail', async () => {
    const client = sendGrid(sink.url);
    sink.faults.add({ kind: '429', retryAfterSeconds: 3 });
    sink.faults.add({ kind: '500' });
    const limited = await client.send(mail).catch((error: unknown) => error);
    expect(limited).toMatchObject({ code: 429, response: { headers: { 'retry-after': '3' } } });
    await expect(client.send(mail)).rejects.toMatchObject({ code: 500 });
    expect(sink.mails).toHaveLength(0);
    sink.faults.add({ kind: 'drop', match: 'invoice 17' });
    await expect(client.send(mail)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(sink.mails).toHaveLength(1);
    expect(sink.stats.faults).toEqual({ '429': 1, '500': 1, drop: 1 });
  });
});

describe('the page', () => {
  test('shows a hostile mail as text, without script and without leaving its frame', async () => {
    const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(2)>`;
    await sendGrid(sink.url).send({
      ...mail,
      subject: hostile,
      text: `${hostile} https://e.example/"onmouseover=alert(3) javascript:alert(4)`,
      html: `</iframe>${hostile}`,
    });
    const response = await fetch(sink.url);
    const page = await response.text();
    expect(page).not.toContain('<script');
    expect(page).not.toContain('<img');
    expect(page).not.toContain('"onmouseover');
    expect(page).not.toMatch(/href="(?!https?:)/);
    expect(page.match(/<\/iframe>/g)).toHaveLength(1);
    expect(page).toContain('<iframe sandbox ');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  test('links the approval address', async () => {
    await sendGrid(sink.url).send(mail);
    expect(await (await fetch(sink.url)).text()).toContain('href="https://kiln.example.com/approvals/1?a=2&amp;b=3"');
  });
});

test('memory is bounded: the oldest mails are forgotten, by count and by size', async () => {
  const small = await startMailSink({ maxMails: 3, maxBytes: 20_000 });
  const client = sendGrid(small.url);
  for (let index = 0; index < 5; index += 1) await client.send({ ...mail, subject: `mail ${index}` });
  expect(small.mails.map((each) => each.subject)).toEqual(['mail 2', 'mail 3', 'mail 4']);
  await client.send({ ...mail, subject: 'large', text: 'x'.repeat(19_500) });
  expect(small.mails.map((each) => each.subject)).toEqual(['large']);
  expect(small.stats.forgotten).toBe(5);
  await small.close();
});
