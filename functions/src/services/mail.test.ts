import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { localServer, type LocalServer, type Seen } from './local-server.testing.ts';
import { createMailer, type Mail, type Mailer } from './mail.ts';
import { mailBody } from './mail-body.ts';

let server: LocalServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function sink(answer: (seen: Seen, response: ServerResponse) => void): Promise<Mailer> {
  server = await localServer(answer);
  return createMailer({
    apiKey: () => 'SG.test',
    from: 'Kiln <kiln@example.com>',
    baseUrl: server.origin,
    now: () => Date.parse('2026-11-20T12:00:00Z'),
  });
}

const mail: Mail = {
  to: 'ada@example.com',
  subject: 'Approve invoice 7',
  text: 'Please look.',
  idempotencyKey: 'run-1:notify',
  categories: ['approval'],
};

test('a mail reaches the provider with its key, its categories and no tracking', async () => {
  const mailer = await sink((_seen, response) => response.writeHead(202, { 'x-message-id': 'msg-1' }).end());
  const body = mailBody({ heading: 'Invoice', paragraphs: ['{{step.x}} stays as it is'] });
  expect(
    await mailer.send({ ...mail, ...body, to: ['ada@example.com', 'bob@example.com'], subject: 'One\r\nBcc: evil@example.com' }),
  ).toEqual({ messageId: 'msg-1' });
  expect(server?.seen[0]).toMatchObject({ method: 'POST', path: '/v3/mail/send' });
  expect(server?.seen[0]?.headers.authorization).toBe('Bearer SG.test');
  expect(JSON.parse(server?.seen[0]?.body ?? '')).toMatchObject({
    from: { email: 'kiln@example.com', name: 'Kiln' },
    subject: 'One Bcc: evil@example.com',
    custom_args: { kiln_key: 'run-1:notify' },
    personalizations: [{ to: [{ email: 'ada@example.com' }] }, { to: [{ email: 'bob@example.com' }] }],
    content: [
      { type: 'text/plain', value: 'Invoice\n\n{{step.x}} stays as it is' },
      { type: 'text/html', value: expect.stringContaining('{{step.x}} stays as it is') },
    ],
    categories: ['approval'],
    headers: { 'X-Kiln-Key': 'run-1:notify' },
    tracking_settings: { click_tracking: { enable: false }, open_tracking: { enable: false } },
  });
});

test.each([
  [400, {}, 'http.client_error', undefined],
  [401, {}, 'http.client_error', undefined],
  [429, { 'retry-after': '30' }, 'http.rate_limited', 30_000],
  [500, {}, 'http.server_error', undefined],
  [503, { 'retry-after': 'later' }, 'http.server_error', undefined],
])('status %i with %j is %s, once', async (status, headers, code, retryAfterMs) => {
  const mailer = await sink((_seen, response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end('{"errors":[{"message":"The subject is required.","field":"subject"}]}'),
  );
  const failure: unknown = await mailer.send(mail).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code, retryAfterMs, message: expect.stringContaining('The subject is required.') });
  expect(server?.seen).toHaveLength(1);
});

test('a redirect is not followed: the key would travel', async () => {
  const mailer = await sink((_seen, response) => response.writeHead(307, { location: '/elsewhere' }).end());
  await expect(mailer.send(mail)).rejects.toMatchObject({ code: 'http.redirect' });
  expect(server?.seen).toHaveLength(1);
});

test('nothing listens: may be repeated', async () => {
  const mailer = await sink(() => undefined);
  await server?.close();
  await expect(mailer.send(mail)).rejects.toMatchObject({ code: 'http.connection', class: 'retryable' });
  const nowhere = createMailer({
    apiKey: () => 'SG.test',
    from: 'kiln@example.com',
    baseUrl: 'http://does-not-exist.invalid',
    now: () => 0,
  });
  await expect(nowhere.send(mail)).rejects.toMatchObject({ code: 'http.connection' });
});

test('a mail whose answer is lost or late may have gone: never repeated silently', async () => {
  const dropping = await sink((_seen, response) => response.socket?.destroy());
  await expect(dropping.send(mail)).rejects.toMatchObject({ code: 'http.interrupted', class: 'unknown_outcome' });
  await server?.close();
  const silent = await sink(() => undefined);
  await expect(silent.send({ ...mail, timeoutMs: 60 })).rejects.toMatchObject({
    code: 'http.interrupted',
    message: expect.stringContaining('60 ms'),
  });
});

test.each([
  [''],
  ['ada'],
  ['ada@example.com, bob@example.com'],
  ['Ada <ada@example.com>'],
  ['ada@exam ple.com'],
  ['ada@example.com\r\nBcc: x@example.com'],
])('%j is no recipient', async (to) => {
  const mailer = await sink((_seen, response) => response.writeHead(202).end());
  await expect(mailer.send({ ...mail, to })).rejects.toMatchObject({ code: 'request.invalid' });
  expect(server?.seen).toHaveLength(0);
});

test('without a key or a sender nothing is sent', async () => {
  await expect(createMailer({ apiKey: () => undefined, from: 'a@example.com', now: () => 0 }).send(mail)).rejects.toMatchObject({
    code: 'secret.missing',
  });
  await expect(createMailer({ apiKey: () => 'SG.x', from: undefined, now: () => 0 }).send(mail)).rejects.toMatchObject({
    code: 'request.invalid',
  });
});

test('a body is text whatever it contains, and its link is a web address', () => {
  const { html, text } = mailBody({
    heading: '<img src=x onerror=alert(1)>',
    paragraphs: ['a & "b"\n<script>x</script>'],
    link: { label: "<b>'Open'</b>", url: 'https://kiln.example/runs?a=1&b="2"' },
  });
  expect(html).not.toMatch(/<img|<script|<b>|onerror=alert\(1\)>/);
  expect(html).toContain('<a href="https://kiln.example/runs?a=1&amp;b=%222%22">&lt;b&gt;&#39;Open&#39;&lt;/b&gt;</a>');
  expect(text).toContain("<b>'Open'</b>: https://kiln.example/runs?a=1&b=%222%22");
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'nonsense']) {
    expect(() => mailBody({ heading: 'h', paragraphs: [], link: { label: 'l', url } })).toThrow(
      expect.objectContaining({ code: 'request.invalid' }),
    );
  }
});
