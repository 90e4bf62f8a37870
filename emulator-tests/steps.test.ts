import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGuardedFetch } from '../functions/src/services/http/fetch.ts';
import { createGuard } from '../functions/src/services/http/guard.ts';
import { McpPool } from '../functions/src/services/mcp/pool.ts';
import { signWebhook } from '../functions/src/services/webhooks/sign.ts';
import { verifyWebhook } from '../functions/src/services/webhooks/verify.ts';
import type { Json } from '../functions/src/engine/json.ts';
import { paths } from '../functions/src/model/paths.ts';
import { answerRecordSchema } from '../functions/src/model/recipe.ts';
import type { StepRecord } from '../functions/src/model/step.ts';
import { startChild, type Child } from '../scripts/process/child.ts';
import { ROOT } from '../scripts/root.ts';
import { ACCOUNT, Installation } from './installation.ts';
import { cutConnection, startLocalServer, type LocalRequest, type LocalServer } from './services/local-server.ts';

/** Each step against a real counterpart on this machine, from the deployed functions on. */
const CANARY = 'canary/4f1c9+e7=b';
const SIGNING_KEY = `whsec_${Buffer.from('a signing key of thirty-two byte').toString('base64')}`;
const chromium = process.env['KILN_CHROMIUM'] ?? '/usr/bin/chromium';

let kiln: Installation;
let site: LocalServer;
let browser: { readonly child: Child; readonly origin: string };
const seen: LocalRequest[] = [];

function startBrowserServer(): Promise<{ child: Child; origin: string }> {
  const cli = join(ROOT, 'node_modules/@playwright/mcp/cli.js');
  const child = startChild('playwright-mcp', process.execPath, [
    cli,
    '--headless',
    '--no-sandbox',
    '--isolated',
    '--executable-path',
    chromium,
    '--port',
    '0',
  ]);
  return new Promise((resolve, reject) => {
    child.onLine((line) => {
      const origin = /^Listening on (http:\/\/\S+)/.exec(line)?.[1];
      if (origin !== undefined) resolve({ child, origin });
    });
    void child.exited.then(() => reject(new Error(`@playwright/mcp ended before it listened:\n${child.tail()}`)));
  });
}

/** A server that misbehaves in every way that matters. */
function answer(request: LocalRequest, response: Parameters<Parameters<typeof startLocalServer>[0]['handle']>[1]): void {
  seen.push(request);
  switch (request.path) {
    case '/never':
      return;
    case '/huge':
      response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(7 * 1024 * 1024));
      return;
    case '/inward':
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end();
      return;
    case '/half':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"a":');
      setTimeout(() => cutConnection(response), 50);
      return;
    case '/echo': {
      const text = JSON.stringify({ key: request.headers['x-key'], base64: Buffer.from(CANARY).toString('base64') });
      response.writeHead(request.query.has('fail') ? 400 : 200, { 'content-type': 'application/json' }).end(text);
      return;
    }
    case '/page':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Orders</title><h1>Order A1 is paid</h1>');
      return;
    default:
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  }
}

beforeAll(async () => {
  site = await startLocalServer({ handle: answer });
  browser = await startBrowserServer();
  kiln = await Installation.start({
    name: 'steps',
    env: {
      KILN_ALLOW_PRIVATE_HOSTS: `${new URL(site.url).host},${new URL(browser.origin).host}`,
      KILN_SECRETS: 'CANARY,SIGNING_KEY,HELPDESK_WEBHOOK_KEY',
      HELPDESK_WEBHOOK_KEY: SIGNING_KEY,
      CANARY,
      SIGNING_KEY,
    },
  });
}, 240_000);

afterAll(async () => {
  await kiln.close();
  await browser.child.stop();
  await site.close();
});

async function stepOf(runId: string, key: string): Promise<StepRecord> {
  const step = (await kiln.steps(runId)).get(key);
  if (step === undefined) throw new Error(`run ${runId} has no step ${key}: ${JSON.stringify((await kiln.run(runId)).problems)}`);
  return step;
}

/** Publishes and runs a workflow of one step, as far as it comes. */
async function once(id: string, step: object, input: Json = null): Promise<StepRecord> {
  await kiln.publish(id, [{ id: 'it', ...step }]);
  return stepOf(await kiln.begin(id, input), 'it');
}

describe('a recipe and the dev model, over HTTP', () => {
  const schema = { type: 'object', properties: { kind: { enum: ['bug', 'question'] } }, required: ['kind'], additionalProperties: false };
  const recipe = (text: string): object => ({
    id: 'it',
    type: 'recipe',
    prompt: `Is this a bug or a question? ${text}`,
    schema,
    timeout: '5s',
  });

  test.each([
    ['429', 'completed'],
    ['500', 'completed'],
    ['503', 'completed'],
    ['drop', 'completed'],
    ['slow', 'completed'],
    ['invalid-json', 'completed'],
    ['wrong-schema', 'completed'],
    ['400', 'failed'],
    ['401', 'failed'],
    ['refusal', 'failed'],
    ['truncated', 'failed'],
  ])('a call that meets %s: the run is %s', async (kind, status) => {
    const text = `A bug about fault ${kind}.`;
    kiln.host.services.model.faults.add({ kind, match: text });
    await kiln.publish(`fault-${kind}`, [recipe(text)]);
    const runId = await kiln.start(`fault-${kind}`);
    expect(await kiln.ended(runId, 10_000)).toMatchObject({ status });
    const answers = await kiln.host
      .firestore()
      .collection(`${paths.run(ACCOUNT, runId)}/answers`)
      .get();
    const records = answers.docs.map((doc) => answerRecordSchema.parse(doc.data()));
    // What was answered was paid for, whether it could be used or not.
    const paid = {
      '429': 1,
      '500': 1,
      '503': 1,
      drop: 1,
      slow: 1,
      'invalid-json': 2,
      'wrong-schema': 2,
      '400': 0,
      '401': 0,
      refusal: 1,
      truncated: 1,
    }[kind];
    expect(records).toHaveLength(paid ?? -1);
    for (const { usage } of records) expect(usage?.inputTokens).toBeGreaterThan(0);
  });

  test('100 recipe steps at once: never more than 10 calls in flight, and all complete', async () => {
    const { stats } = kiln.host.services.model;
    kiln.host.services.model.reset();
    await kiln.publish('hundred', {
      timeout: '1h',
      steps: [
        {
          id: 'each',
          type: 'loop',
          concurrency: 100,
          over: { source: 'static', items: Array.from({ length: 100 }, (_, n) => n) },
          // The model takes a second for each answer, so that calls overlap as far as they may.
          steps: [{ id: 'ask', type: 'recipe', prompt: 'Say the number {{loop_item}}. [[fault:slow]]' }],
        },
      ],
    });
    const runId = await kiln.start('hundred');
    await kiln.host.until(async () => (await kiln.run(runId)).status !== 'running' && (await kiln.run(runId)).status !== 'pending', {
      stepMs: 3_000,
      rounds: 120,
    });
    expect((await kiln.run(runId)).status).toBe('completed');
    expect(stats.chatCalls).toBe(100);
    expect(stats.maxInFlight).toBeGreaterThan(1);
    expect(stats.maxInFlight).toBeLessThanOrEqual(10);
    const slots = await kiln.host.firestore().collection(paths.slots(ACCOUNT, 'llm')).get();
    expect(slots.docs).toEqual([]);
  }, 280_000);
});

test('what one run writes to the knowledge base is found by the next, and cited', async () => {
  await kiln.publish('write', [
    {
      id: 'keep',
      type: 'writeToKb',
      collection: 'policies',
      title: 'Refund policy',
      markdown: '# Refunds\n\nRefunds are paid within fourteen days of the return.',
    },
  ]);
  const writer = await kiln.begin('write');
  expect((await kiln.run(writer)).status).toBe('completed');
  await kiln.publish('ask', [{ id: 'ask', type: 'recipe', prompt: 'When are refunds paid after a return?', retrieve: { topK: 2 } }]);
  const runId = await kiln.begin('ask');
  const details = JSON.parse((await stepOf(runId, 'ask')).details ?? '{}') as { context: { documentId: string }[] };
  const written = (await kiln.steps(writer)).get('keep')?.output?.json ?? '{}';
  expect(details.context[0]).toMatchObject({
    documentId: (JSON.parse(written) as { documentId: string }).documentId,
    version: 1,
    title: 'Refund policy',
    method: 'vector',
  });
  expect((await kiln.run(runId)).tainted).toBe(true);
});

describe('a browser action and the real browser server', () => {
  const tool = { type: 'browserAction', server: 'browser', tool: 'browser_navigate', readOnly: true, timeout: '60s' };

  async function approve(names: readonly string[]): Promise<void> {
    const pool = new McpPool({
      fetch: createGuardedFetch(createGuard({ allowPrivateHosts: [new URL(browser.origin).host] })),
      now: Date.now,
    });
    const url = `${browser.origin}/mcp`;
    const tools = await pool.listTools({ accountId: ACCOUNT, server: { id: 'browser', url }, session: 'approve', timeoutMs: 30_000 });
    await pool.close();
    const toolHashes = Object.fromEntries(tools.filter(({ name }) => names.includes(name)).map(({ name, hash }) => [name, hash]));
    const data = { v: 1, accountId: ACCOUNT, serverId: 'browser', url, toolHashes, updatedAt: 0, updatedBy: 'ann' };
    await kiln.store.commit([{ op: 'set', path: paths.mcpServer(ACCOUNT, 'browser'), data }]);
  }

  test('opens a page; what is on it is data, and taints the run', async () => {
    await approve(['browser_navigate']);
    const step = await once('open', { ...tool, arguments: { url: `${site.url}/page` } });
    expect(step).toMatchObject({ state: 'succeeded' });
    expect(step.output?.json).toContain('Orders');
    expect((await kiln.run(step.runId)).tainted).toBe(true);
  });

  test('X3 a page that never loads is held to the time limit; what it did nobody knows, unless it only reads', async () => {
    await approve(['browser_navigate']);
    const { readOnly: _readOnly, ...acting } = tool;
    const step = await once('hang', { ...acting, timeout: '4s', arguments: { url: `${site.url}/never` } });
    expect(step).toMatchObject({ state: 'unresolved', error: { class: 'unknown_outcome' } });
  });

  test('a tool that nobody approved is found before the first step', async () => {
    await approve([]);
    await kiln.publish('unapproved', [{ id: 'it', ...tool, arguments: {} }]);
    const run = await kiln.run(await kiln.begin('unapproved'));
    expect(run).toMatchObject({ status: 'rejected', problems: expect.stringContaining('mcp.tool_not_allowed') as string });
  });
});

describe('an http step and a server that misbehaves', () => {
  test.each([
    ['GET', '/never', 'waiting', 'step.timeout'],
    ['POST', '/never', 'unresolved', 'http.interrupted'],
    ['GET', '/huge', 'failed', 'http.too_large'],
    ['POST', '/huge', 'unresolved', 'http.unclear_answer'],
    ['GET', '/half', 'waiting', 'http.connection'],
    ['POST', '/half', 'unresolved', 'http.interrupted'],
    ['GET', '/inward', 'failed', 'http.blocked_address'],
  ])('%s %s: the step is %s (%s)', async (method, path, state, code) => {
    const step = await once(`bad-${method}-${path.slice(1)}`, { type: 'http', method, url: `${site.url}${path}`, timeout: '2s' });
    expect(step).toMatchObject({ state, error: { code } });
  });
});

describe('what leaves the installation', () => {
  test('a handoff is a mail for each person of the department; a destination is a signed webhook', async () => {
    await kiln.store.commit([{ op: 'update', path: paths.member(ACCOUNT, 'ann'), data: { departments: ['billing'] } }]);
    await kiln.publish('out', {
      steps: [{ id: 'give', type: 'handoff', department: 'billing', title: 'Case 7', message: 'Please take over.' }],
      destinations: [{ type: 'webhook', url: `${site.url}/desk`, secret: 'SIGNING_KEY' }],
    });
    await kiln.begin('out');
    const mails = kiln.host.services.mail.mails.filter(({ subject }) => subject === 'Case 7');
    expect(mails.map(({ to }) => to)).toEqual([['ann@example.com']]);
    const desk = seen.find(({ path }) => path === '/desk');
    const signed = { headers: desk?.headers ?? {}, rawBody: desk?.body ?? new Uint8Array() };
    expect(verifyWebhook(signed, { scheme: { kind: 'standard' }, keys: [SIGNING_KEY], now: kiln.clock.now() })).toMatchObject({
      ok: true,
      eventName: 'run.completed',
    });
  });

  test('X4 a canary secret that the target echoes, also in an error, is in no document and no mail', async () => {
    const headers = { 'X-Key': '{{secret.CANARY}}' };
    const fine = await once('echo', { type: 'http', url: `${site.url}/echo`, headers });
    const failed = await once('echo-error', { type: 'http', url: `${site.url}/echo?fail=1`, headers });
    expect(seen.filter(({ path }) => path === '/echo').map((request) => request.headers['x-key'])).toEqual([CANARY, CANARY]);
    expect(fine.output?.json).toContain('[secret CANARY]');
    expect(failed.error?.code).toBe('http.client_error');
    const everything = JSON.stringify([await kiln.everyDocument(), kiln.host.services.mail.mails]);
    for (const form of [CANARY, Buffer.from(CANARY).toString('base64'), encodeURIComponent(CANARY)]) expect(everything).not.toContain(form);
    expect(everything).toContain('{{secret.CANARY}}');
  });
});

test('the sample support triage: webhook, context, recipe, condition, approval, handoff, knowledge base, signed webhook out', async () => {
  const text = readFileSync(join(ROOT, 'functions/samples/support-triage.json'), 'utf8');
  const { id, ...sample } = JSON.parse(text.replace('https://helpdesk.example.com/kiln', `${site.url}/helpdesk`)) as { id: string };
  await kiln.publish(id, sample);
  const departments = { ann: ['billing', 'support'], bob: ['support'] };
  for (const [uid, own] of Object.entries(departments))
    await kiln.store.commit([{ op: 'update', path: paths.member(ACCOUNT, uid), data: { departments: own } }]);
  const policy = {
    type: 'writeToKb',
    collection: 'support-policies',
    title: 'Refunds',
    markdown: 'A refund is paid within fourteen days of the return.',
  };
  expect((await once('policy', policy)).state).toBe('succeeded');
  const hook = {
    v: 1,
    accountId: ACCOUNT,
    hookId: 'desk',
    scheme: { kind: 'standard' },
    keys: ['SIGNING_KEY'],
    target: { kind: 'start', workflowId: id },
    active: true,
  };
  await kiln.store.commit([{ op: 'set', path: paths.hook(ACCOUNT, 'desk'), data: hook }]);

  const ticket = { id: 'T1', subject: 'Shoes', text: 'I returned the shoes and want a refund of 50 francs.', customer: 'Ada' };
  const body = JSON.stringify({ ticket });
  const signed = signWebhook({ id: 'delivery-1', timestamp: kiln.clock.now(), body, keys: [SIGNING_KEY] });
  const answers = await Promise.all(
    [1, 2].map(() => kiln.host.request('http', `/hooks/${ACCOUNT}/desk`, { method: 'POST', headers: signed, body })),
  );
  expect(answers.map(({ status }) => status)).toEqual([202, 202]);
  const [first, again] = (await Promise.all(answers.map((response) => response.json()))) as { runId: string }[];
  const runId = first?.runId ?? '';
  expect(again?.runId).toBe(runId);
  await kiln.host.idle();

  const [approval] = await kiln.approvalOf(runId);
  if (approval === undefined) throw new Error(`nobody is asked: ${JSON.stringify([await kiln.run(runId), await kiln.states(runId)])}`);
  expect(approval.stepKey).toBe('costsMoney.then.allow');
  await kiln.decide(approval, 'bob', 'approve');
  await kiln.host.idle();
  expect(await kiln.run(runId)).toMatchObject({ status: 'completed', tainted: true, startedBy: { kind: 'webhook', id: 'desk' } });
  expect(await kiln.output(runId)).toMatchObject({ ticket: 'T1', refund: 50, document: 'case-T1' });
  const details = JSON.parse((await stepOf(runId, 'triage')).details ?? '{}') as { context: { title: string }[] };
  expect(details.context.map(({ title }) => title)).toContain('Refunds');
  expect(kiln.host.services.mail.mails.filter(({ subject }) => subject === 'Refund 50 for ticket T1').map(({ to }) => to)).toEqual([
    ['ann@example.com'],
  ]);
  const out = seen.filter(({ path }) => path === '/helpdesk');
  expect(out).toHaveLength(1);
  const request = { headers: out[0]?.headers ?? {}, rawBody: out[0]?.body ?? new Uint8Array() };
  expect(verifyWebhook(request, { scheme: { kind: 'standard' }, keys: [SIGNING_KEY], now: kiln.clock.now() })).toMatchObject({ ok: true });
});

describe('a functions process of its own', () => {
  let own: Installation;
  beforeAll(async () => {
    const allowed = new URL(site.url).host;
    own = await Installation.start({
      name: 'steps-killed',
      worker: true,
      env: { KILN_ALLOW_PRIVATE_HOSTS: allowed, KILN_SECRETS: 'CANARY', CANARY },
    });
  }, 240_000);
  afterAll(async () => {
    await own.close();
  });

  test('is killed while it holds the only place of a limit: the place becomes free, and all complete', async () => {
    await own.store.commit([{ op: 'set', path: paths.account(ACCOUNT), data: { v: 1, accountId: ACCOUNT, limits: { llm: 1 } } }]);
    const ask = (text: string): object[] => [{ id: 'ask', type: 'recipe', prompt: text, timeout: '20s' }];
    await own.publish('hangs', ask('This one hangs once. [[fault:timeout*1]]'));
    await own.publish('waits', ask('This one waits for its turn.'));
    const hanging = await own.start('hangs');
    await expect.poll(() => own.host.services.model.stats.inFlight, { timeout: 30_000 }).toBe(1);
    await own.host.kill();
    const waiting = await own.start('waits');
    await own.host.idle();
    expect((await own.steps(waiting)).get('ask')).toMatchObject({ state: 'waiting', wait: { kind: 'slot', limit: 'llm' } });
    expect(await own.ended(waiting, 10_000)).toMatchObject({ status: 'completed' });
    expect(await own.ended(hanging, 10_000)).toMatchObject({ status: 'completed' });
    expect((await own.steps(hanging)).get('ask')?.attempts.map(({ outcome }) => outcome)).toEqual(['lost', 'succeeded']);
  }, 180_000);

  test('X4 writes nothing of a secret to its log', async () => {
    await own.publish('echo', [{ id: 'it', type: 'http', url: `${site.url}/echo?fail=1`, headers: { 'X-Key': '{{secret.CANARY}}' } }]);
    expect(await own.ended(await own.start('echo'))).toMatchObject({ status: 'failed' });
    const everything = JSON.stringify([own.host.log(), await own.everyDocument()]);
    expect(own.host.log()).toContain('http.client_error');
    for (const form of [CANARY, Buffer.from(CANARY).toString('base64')]) expect(everything).not.toContain(form);
  });
});
