import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { deliverDestinations } from '../ledger/destinations.ts';
import { outboxRecordSchema } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import { putHook, putHookInput } from '../ledger/hooks.ts';
import { verifyWebhook } from '../services/webhooks/verify.ts';
import { signWebhook } from '../services/webhooks/sign.ts';
import type { HttpRequest } from '../services/http/client.ts';
import type { KbHit, KbInput, KnowledgeBase } from '../services/kb/knowledge-base.ts';
import type { CompletionRequest, LlmClient } from '../services/llm.ts';
import { person } from '../testing/person.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { readConfig } from '../triggers/config.ts';
import { deliveriesOf } from '../triggers/deliveries.ts';
import { receiveHook } from '../triggers/hooks.ts';

const sample: unknown = JSON.parse(readFileSync(new URL('../../samples/support-triage.json', import.meta.url), 'utf8'));
const IN = `whsec_${Buffer.from('the key of the help desk, inward').toString('base64')}`;
const OUT = `whsec_${Buffer.from('the key of the help desk, outwd.').toString('base64')}`;

/** A knowledge base that finds what shares a word with the question. */
class SmallKb implements Pick<KnowledgeBase, 'add' | 'search' | 'list'> {
  readonly documents = new Map<string, KbInput & { readonly version: number }>();

  add(_accountId: string, input: KbInput): ReturnType<KnowledgeBase['add']> {
    const id = input.id ?? input.title;
    const version = (this.documents.get(id)?.version ?? 0) + 1;
    this.documents.set(id, { ...input, version });
    return Promise.resolve({ id, version, changed: true, chunkCount: 1 });
  }

  search(_accountId: string, { text, documentIds }: Parameters<KnowledgeBase['search']>[1]): Promise<readonly KbHit[]> {
    const words = text.toLowerCase().match(/\w{5,}/g) ?? [];
    const found = [...this.documents].filter(
      ([id, { markdown }]) => documentIds?.includes(id) !== false && words.some((word) => markdown.toLowerCase().includes(word)),
    );
    return Promise.resolve(
      found.map(([documentId, { version, title, collection, markdown }]) => ({
        documentId,
        version,
        title,
        collection,
        heading: '',
        n: 0,
        text: markdown,
        score: 0.8,
        method: 'keyword' as const,
      })),
    );
  }

  list(_accountId: string, { collection }: { readonly collection?: string }): ReturnType<KnowledgeBase['list']> {
    const documents = [...this.documents].filter(([, document]) => document.collection === collection);
    return Promise.resolve({
      documents: documents.map(([id, { title, version, collection: its }]) => ({
        id,
        title,
        version,
        collection: its,
        tags: [],
        digest: '',
        chunkCount: 1,
        size: 1,
        createdAt: 0,
        updatedAt: 0,
      })),
    });
  }
}

const asked: CompletionRequest[] = [];
const posts: HttpRequest[] = [];

async function deskKit(refund: number): Promise<{ readonly kit: TestKit; readonly kb: SmallKb }> {
  asked.length = 0;
  posts.length = 0;
  const kb = new SmallKb();
  await kb.add('test', {
    id: 'refunds',
    title: 'Refunds',
    collection: 'support-policies',
    markdown: 'Refunds are paid within 14 days of the return.',
  });
  const llm: LlmClient = {
    complete: (request) => {
      asked.push(request);
      const text = JSON.stringify({ category: 'refund', refund, answer: 'You get it back within 14 days.' });
      return Promise.resolve({
        text,
        model: request.model,
        usage: undefined,
        finishReason: 'stop',
        refusal: undefined,
        requestId: 'r',
        latencyMs: 1,
      });
    },
    embed: () => Promise.reject(new Error('not asked')),
  };
  const kit = createTestKit({
    definitions: { 'support-triage': sample },
    members: [
      person('boss', { roles: ['approver'] }, 'test'),
      person('bill', { departments: ['billing'] }, 'test'),
      person('sue', { departments: ['support'] }, 'test'),
    ],
    services: {
      llm,
      kb: kb as unknown as KnowledgeBase,
      secrets: { get: (name) => ({ DESK_IN: IN, HELPDESK_WEBHOOK_KEY: OUT })[name] },
      http: {
        check: (url) => new URL(url),
        request: (request) => {
          posts.push(request);
          return Promise.resolve({
            status: 200,
            headers: {},
            bytes: new Uint8Array(),
            text: '',
            origin: 'https://helpdesk.example.com',
            redirects: 0,
          });
        },
      },
    },
  });
  Object.assign(kit.runtime, {
    followers: [deliverDestinations],
    deliveries: { ...deliveriesOf(readConfig({})), mail: () => Promise.resolve() },
  });
  const hook = { hookId: 'desk', scheme: { kind: 'standard' }, keys: ['DESK_IN'], target: { kind: 'start', workflowId: 'support-triage' } };
  await putHook(kit.runtime, { accountId: 'test', uid: 'boss' }, putHookInput.parse(hook));
  return { kit, kb };
}

async function receive(kit: TestKit, id: string): Promise<{ readonly runId: string; readonly workflow: { readonly id: string } }> {
  const ticket = { id, subject: 'Where is my money?', text: 'I returned the shoes and want my refunds now.', customer: 'Ada' };
  const body = JSON.stringify({ ticket });
  const headers = signWebhook({ id: `delivery-${id}`, timestamp: kit.now, body, keys: [IN] });
  const answer = await receiveHook(kit.runtime, { accountId: 'test', hookId: 'desk', headers, rawBody: Buffer.from(body) });
  await kit.host.settle();
  return { runId: (answer.body as { runId: string }).runId, workflow: { id: 'support-triage' } };
}

test('support triage: webhook, context, recipe, condition, approval, handoff, knowledge base, signed webhook out', async () => {
  const { kit, kb } = await deskKit(50);
  const run = await receive(kit, 'T1');
  expect(kit.waitingAt(run)).toEqual(['costsMoney.then.allow']);
  expect(asked[0]?.messages[0]?.content).toContain('within 14 days of the return');
  expect(JSON.parse(kit.step(run, 'triage').details ?? '{}')).toMatchObject({ context: [{ documentId: 'refunds', version: 1 }] });
  await kit.approve(run, 'boss');
  expect(await kit.result(run)).toEqual({
    ticket: 'T1',
    category: 'refund',
    refund: 50,
    answer: 'You get it back within 14 days.',
    document: 'case-T1',
  });
  expect(kb.documents.get('case-T1')).toMatchObject({ collection: 'support-cases', tags: ['refund'], sourceRunId: run.runId });
  const mails = [...kit.host.store.all()]
    .filter((doc) => doc.path.startsWith('accounts/test/outbox/'))
    .map((doc) => outboxRecordSchema.parse(doc.data));
  expect(mails.filter(({ kind, subject }) => kind === 'mail' && subject === 'Refund 50 for ticket T1').map(({ to }) => to)).toEqual([
    'bill@acme.example',
  ]);
  const [post] = posts;
  const signed = { headers: { ...post?.headers }, rawBody: Buffer.from(String(post?.body)) };
  expect(post?.url).toBe('https://helpdesk.example.com/kiln');
  expect(verifyWebhook(signed, { scheme: { kind: 'standard' }, keys: [OUT], now: kit.now })).toMatchObject({
    ok: true,
    eventName: 'run.completed',
  });
  expect(kit.run(run)).toMatchObject({ tainted: true, pendingApprovals: 0 });
});

test('what one run wrote is found by the next, and cited in its provenance', async () => {
  const { kit } = await deskKit(0);
  await kit.result(await receive(kit, 'T1'));
  const next = await receive(kit, 'T2');
  await kit.result(next);
  const details = JSON.parse(kit.step(next, 'triage').details ?? '{}') as { context: { documentId: string }[] };
  expect(details.context.map(({ documentId }) => documentId).sort()).toEqual(['case-T1', 'refunds']);
  expect(kit.document(paths.run('test', next.runId))).toMatchObject({ context: expect.stringContaining('case-T1') as string });
});

test('a refusal ends the run without a refund, and nothing leaves', async () => {
  const { kit, kb } = await deskKit(50);
  const run = await receive(kit, 'T1');
  await kit.reject(run, 'boss');
  expect(kit.run(run)).toMatchObject({ status: 'failed', error: { code: 'rejected' } });
  expect(kb.documents.has('case-T1')).toBe(false);
  expect(posts).toEqual([]);
});
