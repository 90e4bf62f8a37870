import { beforeEach, describe, expect, test } from 'vitest';
import { KilnError } from '../model/errors.ts';
import { outboxRecordSchema } from '../model/outbox.ts';
import { startRun } from '../runner/runs.ts';
import type { HttpRequest, HttpResponse } from '../services/http/client.ts';
import type { KbInput } from '../services/kb/knowledge-base.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { deliveriesOf } from '../triggers/deliveries.ts';
import { readConfig } from '../triggers/config.ts';
import { verifyWebhook } from '../services/webhooks/verify.ts';
import { deliverDestinations, documentPath } from './destinations.ts';
import { attendOutbox, resendDelivery } from './outbox.ts';

const KEY = `whsec_${Buffer.from('a signing key of thirty-two byte').toString('base64')}`;
const posts: HttpRequest[] = [];
const documents: KbInput[] = [];
let answer: number | KilnError = 200;
const secrets: Record<string, string> = { HOOK_KEY: KEY, TOKEN: 'canary-destination' };

beforeEach(() => {
  posts.length = 0;
  documents.length = 0;
  answer = 200;
});

/** The completion of a run is followed as in production; mails are not sent. */
function kitFor(destinations: readonly object[], more: object = {}): TestKit {
  const kit = createTestKit({
    definitions: {
      wf: { steps: [{ id: 'x', type: 'transform', value: { id: '{{workflow_input.id}}', list: [[1]] } }], destinations, ...more },
    },
    services: {
      secrets: { get: (name) => secrets[name] },
      http: {
        check: (url) => new URL(url),
        request: (request): Promise<HttpResponse> => {
          posts.push(request);
          if (answer instanceof KilnError) return Promise.reject(answer);
          const { origin } = new URL(request.url);
          return Promise.resolve({
            status: answer,
            headers: {},
            bytes: new Uint8Array(),
            text: 'secret of the receiver',
            origin,
            redirects: 0,
          });
        },
      },
      kb: {
        add: (_accountId: string, input: KbInput) => {
          documents.push(input);
          return Promise.resolve({ id: 'd', version: 1, changed: true, chunkCount: 1 });
        },
      } as never,
    },
  });
  Object.assign(kit.runtime, {
    followers: [deliverDestinations],
    deliveries: { ...deliveriesOf(readConfig({})), mail: () => Promise.resolve() },
  });
  return kit;
}

function outbox(kit: TestKit) {
  return [...kit.host.store.all()]
    .filter((doc) => doc.path.startsWith('accounts/test/outbox/'))
    .map((doc) => outboxRecordSchema.parse(doc.data));
}

const hook = { type: 'webhook', url: 'https://crm.example/in/{{workflow_input.id}}?t={{secret.TOKEN}}', secret: 'HOOK_KEY' };

describe('destinations', () => {
  test('a webhook is signed as Standard Webhooks say, with the result, and its secrets are nowhere', async () => {
    const kit = kitFor([hook]);
    const run = await kit.start('wf', { id: 'A1' });
    const [post] = posts;
    expect(post?.url).toBe('https://crm.example/in/A1?t=canary-destination');
    const body = JSON.parse(String(post?.body)) as object;
    expect(body).toMatchObject({ type: 'run.completed', data: { runId: run.runId, workflowId: 'wf', output: { id: 'A1', list: [[1]] } } });
    const headers = { ...post?.headers };
    const request = { headers, rawBody: Buffer.from(String(post?.body)) };
    expect(verifyWebhook(request, { scheme: { kind: 'standard' }, keys: [KEY], now: kit.now })).toMatchObject({
      ok: true,
      deliveryIdSigned: true,
    });
    expect(headers['kiln-chain-depth']).toBe('0');
    expect(outbox(kit)).toMatchObject([{ kind: 'webhook', state: 'sent', attempt: 1 }]);
    const everything = JSON.stringify([...kit.host.store.all()]);
    expect(everything).not.toContain('canary-destination');
    expect(everything).not.toContain('secret of the receiver');
  });

  test('mail, knowledge base and documents; each is delivered once although the completion is attended twice', async () => {
    const kit = kitFor([
      { type: 'email', to: ['a@x.example', 'b@x.example'], subject: 'Case {{workflow_input.id}}' },
      { type: 'kb', collection: 'cases', title: 'Case {{step.x.id}}' },
      { type: 'firestore', path: 'results/{{run.id}}' },
    ]);
    const run = await kit.start('wf', { id: 'A1' });
    await deliverDestinations(kit.runtime, kit.run(run));
    await kit.host.settle();
    expect(outbox(kit).map(({ kind, to, state }) => [kind, to, state])).toEqual([
      ['mail', 'a@x.example', 'sent'],
      ['mail', 'b@x.example', 'sent'],
      ['kb', 'cases', 'sent'],
      ['document', `accounts/test/results/${run.runId}`, 'sent'],
    ]);
    expect(documents).toMatchObject([{ collection: 'cases', title: 'Case A1', sourceRunId: run.runId }]);
    expect(kit.document(`accounts/test/results/${run.runId}`)).toMatchObject({
      runId: run.runId,
      status: 'completed',
      output: '{"id":"A1","list":[[1]]}',
    });
  });

  test('a receiver that fails is tried for about a day, then it can be sent again by hand', async () => {
    const kit = kitFor([hook]);
    answer = 500;
    await kit.start('wf', { id: 'A1' });
    const [first] = outbox(kit);
    expect(first).toMatchObject({ state: 'queued', attempt: 1, error: { code: 'webhook.refused' } });
    let hours = 0;
    for (; outbox(kit)[0]?.state === 'queued' && hours < 60; hours += 1) {
      await kit.advance('1h');
      await kit.reconcile();
    }
    expect(hours).toBeGreaterThan(20);
    expect(outbox(kit)[0]).toMatchObject({ state: 'failed', attempt: 40 });
    answer = 204;
    await resendDelivery(kit.runtime, 'test', first?.id ?? '');
    expect(outbox(kit)[0]).toMatchObject({ state: 'sent', attempt: 1 });
    expect(new Set(posts.map(({ headers }) => headers?.['webhook-id']))).toEqual(new Set([first?.id]));
    await expect(resendDelivery(kit.runtime, 'other', first?.id ?? '')).rejects.toMatchObject({ code: 'request.invalid' });
  });

  test('410, an inner address and a missing key end a delivery at once', async () => {
    answer = 410;
    const gone = kitFor([hook]);
    await gone.start('wf', { id: 'A1' });
    expect(outbox(gone)).toMatchObject([{ state: 'failed', error: { code: 'http.client_error' } }]);
    answer = new KilnError('http.blocked_address', 'https://10.0.0.1 is not called');
    const inner = kitFor([hook]);
    await inner.start('wf', { id: 'A1' });
    expect(outbox(inner)).toMatchObject([{ state: 'failed', error: { code: 'http.blocked_address' } }]);
    answer = 200;
    const unsigned = kitFor([{ ...hook, url: 'https://crm.example', secret: 'NOT_THERE' }]);
    expect(unsigned.run(await unsigned.start('wf', { id: 'A1' })).problems).toContain('secret.missing');
  });

  test('are served after the ends that they name', async () => {
    const failing = { steps: [{ id: 'no', type: 'fail', code: 'nope' }] };
    const kit = kitFor(
      [
        { ...hook, url: 'https://crm.example/', on: ['failed'] },
        { type: 'kb', collection: 'cases' },
      ],
      failing,
    );
    await kit.start('wf', { id: 'A1' });
    expect(outbox(kit).map(({ kind }) => kind)).toEqual(['webhook']);
    expect(JSON.parse(String(posts[0]?.body))).toMatchObject({ type: 'run.failed', data: { error: { code: 'nope' } } });
  });

  test('a tainted run does not choose where its result is sent', async () => {
    const kit = kitFor([
      { ...hook, url: '{{workflow_input.callback}}' },
      { type: 'email', to: ['{{workflow_input.mail}}'] },
      { type: 'webhook', url: 'https://crm.example/fixed' },
    ]);
    const input = { id: 'A1', callback: 'https://evil.example/', mail: 'thief@evil.example' };
    await startRun(kit.runtime, { accountId: 'test', workflowId: 'wf', input, startedBy: { kind: 'webhook', id: 'h' }, tainted: true });
    await kit.host.settle();
    expect(outbox(kit).map(({ state, error }) => [state, error?.code])).toEqual([
      ['failed', 'auth.forbidden'],
      ['failed', 'auth.forbidden'],
      ['sent', undefined],
    ]);
    expect(posts.map(({ url }) => url)).toEqual(['https://crm.example/fixed']);
  });

  test('a template without a value is a failed delivery that people see', async () => {
    const kit = kitFor([{ type: 'kb', collection: 'cases', title: '{{workflow_input.nothing}}' }]);
    const run = await kit.start('wf', { id: 'A1' });
    expect(kit.run(run).status).toBe('completed');
    const [record] = outbox(kit);
    expect(record).toMatchObject({ state: 'failed', error: { code: 'template.missing_path' } });
    await expect(resendDelivery(kit.runtime, 'test', record?.id ?? '')).rejects.toMatchObject({ code: 'request.invalid' });
    await attendOutbox(kit.runtime, 'test', record?.id ?? '');
    expect(outbox(kit)).toHaveLength(1);
  });

  test('the path of a document stays within the account, and off the engine’s own', () => {
    expect(documentPath('test', 'results/a')).toBe('accounts/test/results/a');
    expect(documentPath('test', 'accounts/test/results/a')).toBe('accounts/test/results/a');
    for (const path of [
      'results',
      'runs/a',
      'accounts/other/results/a',
      'members/ada',
      'x/../runs/a',
      'a//b',
      'a/__b__',
      'system/control',
      'kbChunks/1',
      'a/b/c',
    ]) {
      expect(() => documentPath('test', path)).toThrow(KilnError);
    }
  });
});
