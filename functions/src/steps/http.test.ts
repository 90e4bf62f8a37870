import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Json } from '../engine/json.ts';
import { runRecordSchema } from '../model/run.ts';
import { createHttpClient } from '../services/http/client.ts';
import { createGuard } from '../services/http/guard.ts';
import { localServer } from '../services/local-server.testing.ts';
import type { LocalServer, Seen } from '../services/local-server.testing.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';

const CANARY = 'canary/8Hq+zT=w2?&x';
type Answer = Parameters<typeof localServer>[0];

let server: LocalServer;
let answer: Answer = (_seen, response) => void response.end();
beforeEach(async () => {
  server = await localServer((seen, response) => answer(seen, response));
});
afterEach(() => server.close());

function kitFor(step: object, secrets: Record<string, string> = {}, more: object = {}): TestKit {
  const guard = createGuard({ allowPrivateHosts: [server.hostPort] });
  return createTestKit({
    definitions: { wf: { steps: [{ id: 'call', type: 'http', ...step }], ...more } },
    services: {
      http: { ...createHttpClient(guard), check: (url) => guard.check(url) },
      secrets: { get: (name) => secrets[name] },
    },
  });
}

function json(body: Json, status = 200): Answer {
  return (_seen, response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function sent(
  step: object,
  input: Json = null,
  secrets: Record<string, string> = {},
): Promise<{ seen: Seen; kit: TestKit; output: unknown }> {
  const kit = kitFor(step, secrets);
  const run = await kit.start('wf', input);
  const seen = server.seen[0];
  if (seen === undefined) throw new Error(JSON.stringify(kit.run(run).problems ?? kit.run(run).error));
  return { seen, kit, output: await kit.result(run) };
}

describe('an http step', () => {
  test('fills in address, query, headers and body, and hands the answer on', async () => {
    answer = json({ id: 7 });
    const { seen, output } = await sent(
      {
        method: 'POST',
        url: `${server.origin}/orders/{{workflow_input.order}}`,
        query: { dry: true, q: '{{workflow_input.q}}' },
        headers: { 'X-Team': '{{workflow_input.team}}' },
        body: { amount: '{{workflow_input.amount}}', tags: ['a', '{{workflow_input.q}}'] },
        responseSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
      },
      { order: 'A 1', q: 'x&y', team: 'ops', amount: 12.5 },
    );
    expect(seen).toMatchObject({ method: 'POST', path: '/orders/A%201?dry=true&q=x%26y' });
    expect(seen.headers).toMatchObject({
      'x-team': 'ops',
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(/^kiln_[0-9a-f]{40}$/) as string,
      'kiln-chain-depth': '0',
    });
    expect(JSON.parse(seen.body)).toEqual({ amount: 12.5, tags: ['a', 'x&y'] });
    expect(output).toEqual({ status: 200, headers: { 'content-type': 'application/json' }, json: { id: 7 } });
  });

  test('sends forms and texts, and takes texts and bytes back', async () => {
    answer = (_seen, response) => void response.writeHead(200, { 'content-type': 'text/plain', 'set-cookie': 'session=1' }).end('grüezi');
    const form = await sent({ method: 'POST', url: server.origin, form: { a: 'x y', b: 2 } });
    expect(form.seen.body).toBe('a=x+y&b=2');
    expect(form.output).toEqual({ status: 200, headers: { 'content-type': 'text/plain' }, text: 'grüezi' });
    answer = (_seen, response) => void response.end(Buffer.from([0xff, 0xd8, 0x00]));
    const kit = kitFor({ method: 'PUT', url: server.origin, text: 'raw', headers: { 'Content-Type': 'text/csv' } });
    expect(await kit.result(await kit.start('wf'))).toMatchObject({ base64: '/9gA' });
    expect(server.seen[1]).toMatchObject({ body: 'raw', headers: { 'content-type': 'text/csv' } });
  });

  test.each([
    [404, 'POST', 'failed', 'http.client_error'],
    [503, 'POST', 'waiting', 'http.server_error'],
    [500, 'POST', 'waiting', 'http.server_error'],
    [429, 'POST', 'waiting', 'http.rate_limited'],
    [502, 'POST', 'unresolved', 'http.interrupted'],
    [504, 'PATCH', 'unresolved', 'http.interrupted'],
    [502, 'GET', 'waiting', 'http.server_error'],
  ])('status %i to %s: the step is %s', async (status, method, state, code) => {
    answer = (_seen, response) => void response.writeHead(status).end('no');
    const kit = kitFor({ method, url: server.origin });
    const run = await kit.start('wf');
    expect(kit.step(run, 'call')).toMatchObject({ state, error: { code } });
  });

  test('R5 a stated Retry-After is waited for', async () => {
    answer = (_seen, response) => void response.writeHead(429, { 'retry-after': '60' }).end();
    const kit = kitFor({ url: server.origin });
    const run = await kit.start('wf');
    const { wakeAt } = kit.step(run, 'call');
    expect((wakeAt ?? 0) - kit.now).toBeGreaterThanOrEqual(60_000);
    expect((wakeAt ?? 0) - kit.now).toBeLessThan(62_000);
  });

  test('an answer of another form fails a reading call, and leaves a changing one to a person', async () => {
    answer = json({ id: 'seven' });
    const responseSchema = { type: 'object', properties: { id: { type: 'integer' } } };
    const reading = kitFor({ url: server.origin, responseSchema });
    expect(reading.step(await reading.start('wf'), 'call')).toMatchObject({ state: 'failed', error: { code: 'schema.mismatch' } });
    const changing = kitFor({ method: 'POST', url: server.origin, responseSchema });
    expect(changing.step(await changing.start('wf'), 'call')).toMatchObject({
      state: 'unresolved',
      error: { code: 'http.unclear_answer' },
    });
  });

  test('X6 an inner address is refused before the first step', async () => {
    for (const url of [
      'http://169.254.169.254/latest',
      'https://metadata.google.internal/x/{{workflow_input}}',
      'https://[::ffff:10.0.0.1]/',
      'https://0x7f000001/',
    ]) {
      const kit = kitFor({ url });
      const run = kit.run(await kit.start('wf', 'x'));
      expect({ url, status: run.status }).toEqual({ url, status: 'rejected' });
      expect(run.problems).toContain('http.blocked_address');
    }
  });

  test('X6 an inner address that only the input names is refused at the call', async () => {
    const kit = kitFor({ url: '{{workflow_input.url}}' });
    const run = await kit.start('wf', { url: 'https://127.0.0.1/admin' });
    expect(kit.step(run, 'call')).toMatchObject({ state: 'failed', error: { code: 'http.blocked_address' } });
  });
});

describe('secrets', () => {
  const echo: Answer = (seen, response) => {
    const body = {
      you: seen.headers['x-key'] ?? '',
      path: seen.path,
      base64: Buffer.from(CANARY).toString('base64'),
      url: encodeURIComponent(CANARY),
    };
    response
      .writeHead(seen.path.startsWith('/fail') ? 400 : 200, { 'content-type': 'application/json', etag: `"${CANARY}"` })
      .end(JSON.stringify(body));
  };

  test('X4 a canary that the target sees, and echoes in every form, is nowhere in the database', async () => {
    answer = echo;
    const headers = { 'X-Key': '{{secret.API_KEY}}', Authorization: 'Basic {{secret.API_KEY}}' };
    const { kit, seen } = await sent({ url: `${server.origin}/?token={{secret.API_KEY}}`, headers }, null, { API_KEY: CANARY });
    expect(seen.headers['x-key']).toBe(CANARY);
    expect(seen.path).toContain(encodeURIComponent('canary').slice(0, 6));
    const failing = kitFor({ url: `${server.origin}/fail`, headers }, { API_KEY: CANARY });
    const failed = await failing.start('wf');
    expect(failing.step(failed, 'call').error).toMatchObject({ code: 'http.client_error' });
    for (const database of [kit, failing]) {
      const everything = JSON.stringify([...database.host.store.all()]) + JSON.stringify(database.noticed);
      for (const form of [
        CANARY,
        Buffer.from(CANARY).toString('base64'),
        encodeURIComponent(CANARY),
        JSON.stringify(CANARY).slice(1, -1),
      ]) {
        expect(everything).not.toContain(form);
      }
      expect(everything).toContain('[secret API_KEY]');
      expect(everything).toContain('{{secret.API_KEY}}');
    }
  });

  test('what looks like a secret in data stays text', async () => {
    answer = json({});
    const { seen } = await sent(
      { method: 'POST', url: server.origin, body: { note: 'hi {{workflow_input.note}}', all: '{{workflow_input}}' } },
      { note: '{{secret.API_KEY}}' },
      { API_KEY: CANARY },
    );
    expect(JSON.parse(seen.body)).toEqual({ note: 'hi {{secret.API_KEY}}', all: { note: '{{secret.API_KEY}}' } });
  });

  test('a missing secret, and one too short to be redacted, are found before the first step', async () => {
    const kit = kitFor({ url: server.origin, headers: { A: '{{secret.NONE}}', B: '{{secret.SHORT}}' } }, { SHORT: '12345' });
    const run = kit.run(await kit.start('wf'));
    expect(run.status).toBe('rejected');
    expect(JSON.parse(run.problems ?? '[]')).toEqual([
      { path: 'steps[0].headers.A', code: 'secret.missing', message: expect.stringContaining('NONE') as string },
      { path: 'steps[0].headers.B', code: 'secret.too_short', message: expect.stringContaining('SHORT') as string },
    ]);
    expect(server.seen).toEqual([]);
  });

  test('a secret outside of the fields that go out is refused', async () => {
    const kit = createTestKit({
      definitions: { wf: [{ id: 'note', type: 'transform', value: '{{secret.API_KEY}}' }] },
      services: { secrets: { get: () => CANARY } },
    });
    const run = runRecordSchema.parse(kit.run(await kit.start('wf')));
    expect(run.problems).toContain('secret.not_allowed');
  });
});
