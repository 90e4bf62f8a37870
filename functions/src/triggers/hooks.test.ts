import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { putHook, putHookInput } from '../ledger/hooks.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import { signWebhook } from '../services/webhooks/sign.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { receiveHook } from './hooks.ts';
import type { HookAnswer } from './hooks.ts';

const KEY = `whsec_${Buffer.from('a signing key of thirty-two byte').toString('base64')}`;
const actor = { accountId: 'test', uid: 'ada' };

async function kitWith(fields: object = {}): Promise<TestKit> {
  const kit = createTestKit({
    definitions: {
      wf: { steps: [{ id: 'x', type: 'transform', value: '{{workflow_input.n}}' }] },
      paid: [{ id: 'w', type: 'wait', event: { name: 'paid', key: 'A1' } }],
    },
    services: { secrets: { get: (name) => (name === 'HOOK_KEY' ? KEY : name === 'GITHUB_KEY' ? 'github-key' : undefined) } },
  });
  const hook = { hookId: 'in', scheme: { kind: 'standard' }, keys: ['HOOK_KEY'], target: { kind: 'start', workflowId: 'wf' }, ...fields };
  await putHook(kit.runtime, actor, putHookInput.parse(hook));
  return kit;
}

function send(
  kit: TestKit,
  body: string,
  id: string,
  more: { readonly at?: number; readonly headers?: object; readonly hookId?: string } = {},
): Promise<HookAnswer> {
  const headers = { ...signWebhook({ id, timestamp: more.at ?? kit.now, body, keys: [KEY] }), ...more.headers };
  return receiveHook(kit.runtime, { accountId: 'test', hookId: more.hookId ?? 'in', headers, rawBody: Buffer.from(body) });
}

function runs(kit: TestKit) {
  return [...kit.host.store.all()]
    .filter((doc) => /^accounts\/test\/runs\/[^/]+$/.test(doc.path))
    .map((doc) => runRecordSchema.parse(doc.data));
}

describe('a webhook', () => {
  test('starts one tainted run for each delivery id, however often it comes', async () => {
    const kit = await kitWith();
    const first = await send(kit, '{"n":1}', 'd1');
    const again = await send(kit, '{"n":1}', 'd1');
    await send(kit, '{"n":2}', 'd2');
    await kit.host.settle();
    expect(first).toMatchObject({ status: 202, body: { duplicate: false } });
    expect(again).toEqual({ status: 202, body: { ...first.body, duplicate: true } });
    expect(runs(kit)).toHaveLength(2);
    expect(runs(kit)[0]).toMatchObject({ tainted: true, status: 'completed', startedBy: { kind: 'webhook', id: 'in' }, chainDepth: 0 });
  });

  test('X8 is verified over the bytes as they came: odd spacing passes, a changed byte, an old time and another type do not', async () => {
    const kit = await kitWith();
    expect(await send(kit, ' { "n" : "\\u00e9" } ', 'd1')).toMatchObject({ status: 202 });
    for (const refused of [
      await send(kit, '{"n":1}', 'd2', { at: kit.now - 301_000 }),
      await send(kit, '{"n":1}', 'd3', { at: kit.now + 301_000 }),
      await send(kit, '{"n":1}', 'd4', { headers: { 'content-type': 'text/plain' } }),
      await send(kit, '{"n":1}', 'd5', { headers: { 'webhook-id': 'd6' } }),
      await send(kit, '{"n":1}', 'd7', { hookId: 'none' }),
    ]) {
      expect(refused).toEqual({ status: 401, body: { error: { code: 'auth.required', message: expect.any(String) as string } } });
    }
    expect(await send(kit, '{"n":1}', 'd8', { at: kit.now - 299_000 })).toMatchObject({ status: 202 });
    expect(await send(kit, '{"n":1}', 'd9', { at: kit.now + 299_000 })).toMatchObject({ status: 202 });
  });

  test('is told clearly what is wrong with it, once it is known to be its sender’s', async () => {
    const kit = await kitWith({ maxBytes: 100 });
    expect(await send(kit, '{"n":', 'd1')).toMatchObject({ status: 400, body: { error: { code: 'payload.invalid_json' } } });
    expect(await send(kit, JSON.stringify({ n: 'x'.repeat(200) }), 'd2')).toMatchObject({ status: 413 });
    await kit.host.store.commit([
      { op: 'update', path: paths.hook('test', 'in'), data: { target: { kind: 'start', workflowId: 'gone' } } },
    ]);
    expect(await send(kit, '{"n":1}', 'd3')).toMatchObject({ status: 422, body: { error: { code: 'definition.not_found' } } });
  });

  test('is held to its rate, with the time after which it may come again', async () => {
    const kit = await kitWith({ rateLimit: { limit: 3, per: '1m' } });
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await send(kit, '{"n":1}', `d${n}`)).status);
    expect(statuses).toEqual([202, 202, 202, 429, 429]);
    const refused = await send(kit, '{"n":1}', 'd9');
    expect(Number(refused.headers?.['Retry-After'])).toBeGreaterThan(0);
    // What is not signed does not use the sender's rate up.
    await kit.advance('1m');
    for (let n = 0; n < 5; n += 1) await send(kit, '{"n":1}', `u${n}`, { headers: { 'webhook-signature': 'v1,AAAA' } });
    expect(await send(kit, '{"n":1}', 'd10')).toMatchObject({ status: 202 });
  });

  test('systems that call each other in circles come to an end', async () => {
    const kit = await kitWith();
    expect(await send(kit, '{"n":1}', 'd1', { headers: { 'kiln-chain-depth': '3' } })).toMatchObject({ status: 202 });
    expect(runs(kit)[0]?.chainDepth).toBe(4);
    expect(await send(kit, '{"n":1}', 'd2', { headers: { 'kiln-chain-depth': '8' } })).toMatchObject({
      status: 508,
      body: { error: { code: 'run.too_deep' } },
    });
  });

  test('can deliver an event, which taints the run that takes it; other events are taken note of and left', async () => {
    const kit = await kitWith({
      scheme: { kind: 'github' },
      keys: ['GITHUB_KEY'],
      events: ['paid'],
      target: { kind: 'event', name: 'paid', key: '{{workflow_input.order}}' },
    });
    const run = await kit.start('paid');
    const body = '{"order":"A1"}';
    const deliver = (event: string, id: string): Promise<HookAnswer> =>
      receiveHook(kit.runtime, {
        accountId: 'test',
        hookId: 'in',
        headers: {
          'content-type': 'application/json',
          'x-hub-signature-256': `sha256=${createHmac('sha256', 'github-key').update(body).digest('hex')}`,
          'x-github-event': event,
          'x-github-delivery': id,
        },
        rawBody: Buffer.from(body),
      });
    expect(await deliver('star', 'g0')).toMatchObject({ status: 202, body: { ignored: true } });
    expect(await deliver('paid', 'g1')).toMatchObject({ status: 202, body: { duplicate: false } });
    expect(await deliver('paid', 'g1')).toMatchObject({ status: 202, body: { duplicate: true } });
    await kit.host.settle();
    expect(await kit.result(run)).toMatchObject({ event: { key: 'A1', payload: { order: 'A1' } } });
    expect(kit.run(run).tainted).toBe(true);
  });

  test('a hook without its key, its workflow or a readable template is refused when it is made', async () => {
    await expect(kitWith({ keys: ['NONE'] })).rejects.toMatchObject({ code: 'secret.missing' });
    await expect(kitWith({ target: { kind: 'start', workflowId: 'none' } })).rejects.toMatchObject({ code: 'definition.not_found' });
    await expect(kitWith({ target: { kind: 'event', name: 'x', key: '{{' } })).rejects.toMatchObject({ code: 'template.syntax' });
  });
});
