import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { KilnError } from '../model/errors.ts';
import { completionError, createLlmClient, fitsStrictMode, type CompletionRequest, type LlmClient } from './llm.ts';
import { localServer, type LocalServer, type Seen } from './local-server.testing.ts';

let server: LocalServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function model(
  answer: (seen: Seen, response: ServerResponse) => void,
  key: string | undefined = 'sk-test-key-123',
): Promise<LlmClient> {
  server = await localServer(answer);
  return createLlmClient({ apiKey: () => key, baseUrl: `${server.origin}/v1`, now: () => Date.parse('2026-11-20T12:00:00Z') });
}

const ask: CompletionRequest = {
  model: 'm-1',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello?' },
  ],
  timeoutMs: 5_000,
};

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const usage = {
  prompt_tokens: 12,
  completion_tokens: 5,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const answerOf = (message: object, finish = 'stop'): object => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm-1-2026-01-01',
  choices: [{ index: 0, message: { role: 'assistant', refusal: null, ...message }, finish_reason: finish }],
  usage,
});

test('a completion carries text, model, usage and request id; the request carries what was asked', async () => {
  const client = await model((_seen, response) => json(response, 200, answerOf({ content: 'Hi.' }), { 'x-request-id': 'req_1' }));
  const completion = await client.complete({ ...ask, parameters: { temperature: 0, maxTokens: 50, seed: 7, stop: ['END'] } });
  expect(completion).toMatchObject({
    text: 'Hi.',
    model: 'm-1-2026-01-01',
    finishReason: 'stop',
    requestId: 'req_1',
    usage: { inputTokens: 12, cachedInputTokens: 4, outputTokens: 5, reasoningTokens: 2 },
  });
  expect(completion.refusal).toBeUndefined();
  expect(completionError(completion)).toBeUndefined();
  expect(server?.seen[0]).toMatchObject({ path: '/v1/chat/completions' });
  expect(server?.seen[0]?.headers.authorization).toBe('Bearer sk-test-key-123');
  expect(JSON.parse(server?.seen[0]?.body ?? '')).toEqual({
    model: 'm-1',
    messages: ask.messages,
    temperature: 0,
    max_completion_tokens: 50,
    seed: 7,
    stop: ['END'],
  });
});

const closed = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false };

test.each([
  ['{"n":1}', { n: 1 }],
  ['```json\n{"n":1}\n```', { n: 1 }],
  ['null', null],
  ['{"n":', undefined],
  ['Sure! Here it is.', undefined],
])('an answer %j to a schema is parsed as %j; validation is the caller’s', async (content, parsed) => {
  const client = await model((_seen, response) => json(response, 200, answerOf({ content })));
  const completion = await client.complete({ ...ask, responseSchema: closed });
  expect(completion.parsed).toEqual(parsed);
  expect(completion.text).toBe(content);
  expect(JSON.parse(server?.seen[0]?.body ?? '')).toMatchObject({
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: closed } },
  });
});

test('strict mode is asked for only where the schema fits it', () => {
  expect(fitsStrictMode(closed)).toBe(true);
  expect(fitsStrictMode({ ...closed, required: [] })).toBe(false);
  expect(
    fitsStrictMode({
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'object', properties: {} } } },
      required: ['a'],
      additionalProperties: false,
    }),
  ).toBe(false);
});

test('a stream delivers its pieces and ends with the same completion', async () => {
  const client = await model((_seen, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_2' });
    const chunk = (delta: object, finish: string | null, extra: object = {}): void =>
      void response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm-1x', choices: [{ index: 0, delta, finish_reason: finish }], ...extra })}\n\n`,
      );
    chunk({ role: 'assistant', content: '' }, null);
    chunk({ content: '{"n":' }, null);
    chunk({ content: '2}' }, null);
    chunk({}, 'stop');
    response.write(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm-1x', choices: [], usage })}\n\n`,
    );
    response.end('data: [DONE]\n\n');
  });
  const pieces: string[] = [];
  const completion = await client.complete({ ...ask, responseSchema: closed, onDelta: (delta) => pieces.push(delta) });
  expect(pieces).toEqual(['{"n":', '2}']);
  expect(completion).toMatchObject({
    text: '{"n":2}',
    parsed: { n: 2 },
    model: 'm-1x',
    finishReason: 'stop',
    requestId: 'req_2',
    usage: { inputTokens: 12, outputTokens: 5 },
  });
  expect(JSON.parse(server?.seen[0]?.body ?? '')).toMatchObject({ stream: true, stream_options: { include_usage: true } });
});

test.each([
  ['is cut', (response: ServerResponse) => response.socket?.destroy()],
  ['ends early without an error', (response: ServerResponse) => response.end()],
])('a stream that %s is no answer, and may be repeated', async (_how, end) => {
  const client = await model((_seen, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(
      `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'half' }, finish_reason: null }] })}\n\n`,
      () => end(response),
    );
  });
  await expect(client.complete({ ...ask, onDelta: () => undefined })).rejects.toMatchObject({
    code: 'http.connection',
    class: 'retryable',
  });
});

test('an error event inside a stream is a server error', async () => {
  const client = await model((_seen, response) =>
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end('data: {"error":{"message":"overloaded","type":"server_error"}}\n\n'),
  );
  await expect(client.complete({ ...ask, onDelta: () => undefined })).rejects.toMatchObject({ code: 'http.server_error' });
});

test.each([
  [400, {}, 'http.client_error', 'not_retryable', undefined],
  [401, {}, 'http.client_error', 'not_retryable', undefined],
  [403, {}, 'http.client_error', 'not_retryable', undefined],
  [404, {}, 'http.client_error', 'not_retryable', undefined],
  [429, {}, 'http.rate_limited', 'retryable', undefined],
  [429, { 'retry-after': '60' }, 'http.rate_limited', 'retryable', 60_000],
  [429, { 'retry-after': 'Fri, 20 Nov 2026 12:02:00 GMT' }, 'http.rate_limited', 'retryable', 120_000],
  [429, { 'retry-after': '3456000' }, 'http.rate_limited', 'retryable', 86_400_000],
  [429, { 'retry-after': 'soon' }, 'http.rate_limited', 'retryable', undefined],
  [429, { 'retry-after-ms': '1500' }, 'http.rate_limited', 'retryable', 1_500],
  [500, {}, 'http.server_error', 'retryable', undefined],
  [503, { 'retry-after': '5' }, 'http.server_error', 'retryable', 5_000],
])('R5 status %i with %j is %s', async (status, headers, code, errorClass, retryAfterMs) => {
  const client = await model((_seen, response) =>
    json(
      response,
      status,
      { error: { message: 'what the provider says, key sk-test', type: 't', code: 'c' } },
      { ...headers, 'x-request-id': 'req_9' },
    ),
  );
  const failure: unknown = await client.complete(ask).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code, class: errorClass, retryAfterMs, data: { status, code: 'c', type: 't', requestId: 'req_9' } });
  expect(String(failure)).toContain(status === 401 ? 'not accepted' : 'what the provider says');
  if (status === 401) expect(String(failure)).not.toContain('sk-test');
  expect(server?.seen).toHaveLength(1);
});

test('an exhausted quota is not a rate limit: waiting does not help', async () => {
  const client = await model((_seen, response) =>
    json(response, 429, { error: { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' } }),
  );
  await expect(client.complete(ask)).rejects.toMatchObject({ code: 'llm.quota', class: 'not_retryable' });
});

test('a prompt that the content filter stops is a refusal', async () => {
  const client = await model((_seen, response) => json(response, 400, { error: { message: 'filtered', code: 'content_filter' } }));
  await expect(client.complete(ask)).rejects.toMatchObject({ code: 'llm.refused' });
});

test('J1 a refusal and a truncated answer are returned with what they cost, then judged', async () => {
  const messages = [
    answerOf({ content: null, refusal: 'I cannot help with that.' }),
    answerOf({ content: '{"n":' }, 'length'),
    answerOf({ content: 'x' }, 'content_filter'),
  ];
  const client = await model((_seen, response) => json(response, 200, messages.shift()));
  const codes: unknown[] = [];
  for (let round = 0; round < 3; round += 1) {
    const error = completionError(await client.complete(ask));
    codes.push(error?.code);
    expect(error?.data).toMatchObject({ model: 'm-1-2026-01-01', usage: { inputTokens: 12, outputTokens: 5 } });
  }
  expect(codes).toEqual(['llm.refused', 'llm.truncated', 'llm.refused']);
});

test.each([
  ['no JSON', '<html>gateway</html>'],
  ['JSON of another kind', '{"hello":1}'],
])('a 200 with %s is an invalid response', async (_what, body) => {
  const client = await model((_seen, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(body));
  await expect(client.complete(ask)).rejects.toMatchObject({ code: 'http.invalid_response' });
});

test('a silent provider, a lost connection and an absent one', async () => {
  const silent = await model(() => undefined);
  await expect(silent.complete({ ...ask, timeoutMs: 60 })).rejects.toMatchObject({ code: 'step.timeout', class: 'retryable' });
  await server?.close();
  await expect(silent.complete(ask)).rejects.toMatchObject({
    code: 'http.connection',
    class: 'retryable',
    message: expect.stringContaining('ECONNREFUSED'),
  });
  const dropping = await model((_seen, response) => response.socket?.destroy());
  await expect(dropping.complete(ask)).rejects.toMatchObject({ code: 'http.connection', class: 'retryable' });
});

test('a body that stalls is held to the time limit, streaming or not', async () => {
  const client = await model((_seen, response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"choices":[]}\n\n'),
  );
  await expect(client.complete({ ...ask, timeoutMs: 80, onDelta: () => undefined })).rejects.toMatchObject({ code: 'step.timeout' });
  await expect(client.complete({ ...ask, timeoutMs: 80 })).rejects.toMatchObject({ code: 'step.timeout' });
});

test('R3 a cancelled call ends at once with the reason', async () => {
  const stop = new AbortController();
  const client = await model(() => stop.abort(new KilnError('run.cancelled', 'Cancelled by Ada.')));
  await expect(client.complete({ ...ask, signal: stop.signal })).rejects.toMatchObject({
    code: 'run.cancelled',
    message: 'Cancelled by Ada.',
  });
});

test('without a key nothing is sent', async () => {
  const client = await model((_seen, response) => response.end(), '');
  await expect(client.complete(ask)).rejects.toMatchObject({ code: 'secret.missing' });
  expect(server?.seen).toHaveLength(0);
});

test('embeddings come back in the order of the texts, in batches', async () => {
  const client = await model((seen, response) => {
    const { input } = JSON.parse(seen.body) as { input: string[] };
    json(response, 200, {
      object: 'list',
      model: 'e-1',
      data: input.map((text, index) => ({ object: 'embedding', index, embedding: [Number(text), 0.5] })).reverse(),
      usage: { prompt_tokens: input.length, total_tokens: input.length },
    });
  });
  const texts = Array.from({ length: 300 }, (_, index) => String(index));
  const result = await client.embed({ model: 'e', texts, dimensions: 2, timeoutMs: 5_000 });
  expect(result.vectors.map(([first]) => first)).toEqual(texts.map(Number));
  expect(result).toMatchObject({ model: 'e-1', usage: { inputTokens: 300 } });
  expect(server?.seen.map(({ body }) => (JSON.parse(body) as { input: string[] }).input.length)).toEqual([128, 128, 44]);
  expect(JSON.parse(server?.seen[0]?.body ?? '')).toMatchObject({ encoding_format: 'float', dimensions: 2, model: 'e' });
});

test('a provider that loses a text is not believed', async () => {
  const client = await model((_seen, response) =>
    json(response, 200, { object: 'list', model: 'e-1', data: [{ object: 'embedding', index: 0, embedding: [1] }] }),
  );
  await expect(client.embed({ model: 'e', texts: ['a', 'b'], timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'http.invalid_response' });
});
