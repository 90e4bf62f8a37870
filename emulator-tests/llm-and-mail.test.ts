import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { completionError, createLlmClient, type CompletionRequest, type LlmClient } from '../functions/src/services/llm.ts';
import { createMailer, type Mailer } from '../functions/src/services/mail.ts';
import { mailBody } from '../functions/src/services/mail-body.ts';
import { startDevModel, startMailSink, type DevModelServer, type MailSinkServer } from './services/index.ts';

/** The real openai and SendGrid clients against the local model and mail sink, with every fault they know. */
let model: DevModelServer;
let sink: MailSinkServer;
let llm: LlmClient;
let mailer: Mailer;

beforeAll(async () => {
  model = await startDevModel();
  sink = await startMailSink();
  llm = createLlmClient({ apiKey: () => 'dev', baseUrl: model.url, now: Date.now });
  mailer = createMailer({ apiKey: () => 'SG.dev', from: 'Kiln <kiln@example.com>', baseUrl: sink.url, now: Date.now });
});

afterEach(() => {
  model.faults.clear();
  sink.faults.clear();
  sink.clear();
});

afterAll(async () => {
  await model.close();
  await sink.close();
});

const schema = {
  type: 'object',
  properties: { category: { type: 'string', enum: ['billing', 'other'] } },
  required: ['category'],
  additionalProperties: false,
};
const ask: CompletionRequest = {
  model: 'kiln-dev-model',
  messages: [{ role: 'user', content: 'Classify: my invoice is wrong.' }],
  responseSchema: schema,
  timeoutMs: 10_000,
};

test.each([
  ['at once', undefined],
  ['as a stream', []],
])('the model answers to a schema %s', async (_how, pieces: string[] | undefined) => {
  const completion = await llm.complete(pieces === undefined ? ask : { ...ask, onDelta: (delta) => pieces.push(delta) });
  expect(completion.parsed).toEqual({ category: expect.stringMatching(/^(billing|other)$/) });
  expect(completion.usage?.outputTokens).toBeGreaterThan(0);
  expect(completionError(completion)).toBeUndefined();
  if (pieces !== undefined) expect(pieces.join('')).toBe(completion.text);
});

test.each([
  ['400', 'http.client_error', 'not_retryable'],
  ['401', 'http.client_error', 'not_retryable'],
  ['429', 'http.rate_limited', 'retryable'],
  ['500', 'http.server_error', 'retryable'],
  ['503', 'http.server_error', 'retryable'],
  ['drop', 'http.connection', 'retryable'],
  ['timeout', 'step.timeout', 'retryable'],
])('a model call that meets %s is %s, at once and as a stream', async (kind, code, errorClass) => {
  for (const streaming of [false, true]) {
    model.faults.add({ kind, retryAfterSeconds: 60 });
    const request = { ...ask, timeoutMs: kind === 'timeout' ? 200 : 10_000, ...(streaming ? { onDelta: () => undefined } : {}) };
    const failure: unknown = await llm.complete(request).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, class: errorClass });
    if (kind === '429') expect(failure).toMatchObject({ retryAfterMs: 60_000 });
  }
});

test.each([
  ['refusal', 'llm.refused', undefined],
  ['truncated', 'llm.truncated', undefined],
  ['invalid-json', undefined, undefined],
  ['wrong-schema', undefined, { unexpected: [null] }],
])('J2 an answer with the fault %s was paid for: it is returned, then judged (%s)', async (kind, code, parsed) => {
  for (const streaming of [false, true]) {
    model.faults.add({ kind });
    const completion = await llm.complete(streaming ? { ...ask, onDelta: () => undefined } : ask);
    expect(completion.usage?.inputTokens).toBeGreaterThan(0);
    expect(completion.parsed).toEqual(parsed);
    expect(completionError(completion)?.code).toBe(code);
  }
});

const mail = {
  to: ['ada@example.com', 'bob@example.com'],
  subject: 'Approve invoice 7',
  idempotencyKey: 'run-1:notify',
  ...mailBody({ heading: 'Approval', paragraphs: ['<b>7</b>'], link: { label: 'Open', url: 'https://kiln.example/approvals/1' } }),
};

test('a mail arrives once per recipient, escaped and with its key', async () => {
  await mailer.send(mail);
  expect(sink.mails.map(({ to }) => to)).toEqual([['ada@example.com'], ['bob@example.com']]);
  expect(sink.mails[0]).toMatchObject({
    from: 'Kiln <kiln@example.com>',
    subject: 'Approve invoice 7',
    customArgs: { kiln_key: 'run-1:notify' },
    html: expect.stringContaining('&lt;b&gt;7&lt;/b&gt;'),
  });
});

test.each([
  ['400', 'http.client_error', 0],
  ['401', 'http.client_error', 0],
  ['403', 'http.client_error', 0],
  ['429', 'http.rate_limited', 0],
  ['500', 'http.server_error', 0],
  ['503', 'http.server_error', 0],
  ['timeout', 'http.interrupted', 0],
  ['drop', 'http.interrupted', 2],
])('a mail that meets %s is %s, and %i mails are on their way', async (kind, code, arrived) => {
  sink.faults.add({ kind });
  await expect(mailer.send({ ...mail, timeoutMs: kind === 'timeout' ? 200 : 10_000 })).rejects.toMatchObject({ code });
  expect(sink.mails).toHaveLength(arrived);
});
