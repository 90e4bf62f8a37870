import { expect, test } from 'vitest';
import { z } from 'zod';
import { deliverDestinations } from '../ledger/destinations.ts';
import { effectId } from '../ledger/effects.ts';
import { takeSlot } from '../ledger/limits.ts';
import { outboxRecordSchema } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import { attendCompletion, startRun } from '../runner/runs.ts';
import type { HttpRequest } from '../services/http/client.ts';
import type { LlmClient } from '../services/llm.ts';
import { person } from '../testing/person.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { defineWorkflow } from './define-workflow.ts';
import type { AnyCodeWorkflow } from './define-workflow.ts';
import { secretText } from './secret-text.ts';

const CANARY = 'canary-of-the-code';
const posts: HttpRequest[] = [];
const llm: LlmClient = {
  complete: ({ model }) =>
    Promise.resolve({ text: 'nonsense', model, usage: undefined, finishReason: 'stop', refusal: undefined, requestId: 'r', latencyMs: 1 }),
  embed: () => Promise.reject(new Error('not asked')),
};

function kitFor(workflow: AnyCodeWorkflow): TestKit {
  posts.length = 0;
  return createTestKit({
    workflows: [workflow],
    members: [person('boss', { roles: ['approver'] }, 'test')],
    services: {
      llm,
      secrets: { get: (name) => (name === 'CRM_KEY' ? CANARY : undefined) },
      http: {
        check: (url) => new URL(url),
        request: (request) => {
          posts.push(request);
          return Promise.resolve({
            status: 200,
            headers: {},
            bytes: new Uint8Array(),
            text: `n${posts.length}`,
            origin: 'https://crm.example',
            redirects: 0,
          });
        },
      },
    },
  });
}

const call = defineWorkflow({
  id: 'call',
  input: z.object({ note: z.string() }),
  run: async ({ input, step }) =>
    step.use('send', 'http', {
      method: 'POST',
      url: 'https://crm.example/notes',
      headers: { Authorization: secretText('Bearer {{secret.CRM_KEY}}') },
      body: { note: input.note },
      effectKey: `note:${input.note}`,
    }),
});

test('a secret comes in by the code alone: data that looks like one stays data', async () => {
  const kit = kitFor(call);
  const run = await kit.start('call', { note: 'mine is {{secret.CRM_KEY}}' });
  expect(kit.run(run).status).toBe('completed');
  expect(posts[0]?.headers).toMatchObject({ authorization: `Bearer ${CANARY}` });
  expect(JSON.parse(String(posts[0]?.body))).toEqual({ note: 'mine is {{secret.CRM_KEY}}' });
  expect(JSON.stringify([...kit.host.store.all()])).not.toContain(CANARY);
});

test('an effect with a business key happens once, whichever run asks', async () => {
  const kit = kitFor(call);
  const first = await kit.start('call', { note: 'once' });
  const second = await kit.start('call', { note: 'once' });
  expect(await kit.result(second)).toEqual(await kit.result(first));
  expect(posts).toHaveLength(1);
  expect(kit.document(paths.effect('test', effectId('note:once')))).toMatchObject({ state: 'settled', prevented: 1 });
});

test('a tainted run asks a person before it acts on the outside', async () => {
  const kit = kitFor(call);
  const { runId } = await startRun(kit.runtime, {
    accountId: 'test',
    workflowId: 'call',
    input: { note: 'x' },
    startedBy: { kind: 'webhook', id: 'h' },
    tainted: true,
  });
  await kit.host.settle();
  const run = { runId, workflow: { id: 'call' } };
  expect(posts).toEqual([]);
  await kit.approve(run, 'boss');
  await kit.advance('1s');
  expect(posts).toHaveLength(1);
  expect(kit.run(run).status).toBe('completed');
});

const ask = defineWorkflow({
  id: 'ask',
  run: async ({ step }) => step.recipe('ask', { prompt: 'How much?', schema: { type: 'integer' } }),
});

test('a recipe waits for a place of the limit, and hands what cannot be used to a person', async () => {
  const kit = kitFor(ask);
  const use = { accountId: 'test', name: 'llm', count: 10, kind: 'call', holder: 'others', holdMs: 30_000 } as const;
  for (let n = 0; n < 10; n += 1) await takeSlot(kit.runtime, use);
  const run = await kit.start('ask');
  expect(kit.step(run, 'ask')).toMatchObject({ state: 'waiting', wait: { kind: 'slot', limit: 'llm' } });
  await kit.advance('35s');
  expect(kit.step(run, 'ask')).toMatchObject({ state: 'waiting', wait: { kind: 'approval' } });
  await kit.decide(run, 'boss', 'approve', { values: 42 });
  await kit.advance('1s');
  expect(await kit.result(run)).toBe(42);
});

test('as many runs at once as the code says, for each key, and so many in each span of time', async () => {
  const waits = defineWorkflow({
    id: 'waits',
    concurrency: { key: '{{workflow_input.customer}}', limit: 1 },
    rateLimit: { limit: 3, per: '1h' },
    run: async ({ step }) => step.sleep('wait', '10m'),
  });
  const kit = createTestKit({ workflows: [waits] });
  const runs: TestRun[] = [];
  for (const customer of ['a', 'a', 'b', 'c']) runs.push(await kit.start('waits', { customer }));
  const statuses = (): string[] => runs.map((run) => kit.run(run).status);
  expect(statuses()).toEqual(['running', 'pending', 'running', 'running']);
  await kit.advance('10m');
  await kit.advance('15s');
  // The place of the customer is free, and the hour is full.
  expect(statuses()).toEqual(['completed', 'pending', 'completed', 'completed']);
  expect(runs.map((run) => kit.run(run).queuedFor)).toEqual([undefined, 'rateLimit', undefined, undefined]);
  await kit.advance('51m');
  expect(statuses()).toEqual(['completed', 'running', 'completed', 'completed']);
  expect(() => defineWorkflow({ id: 'wrong', concurrency: { limit: 0 }, run: () => 1 })).toThrow('concurrency');
});

test('the result goes to the destinations that the code names, once', async () => {
  const tells = defineWorkflow({
    id: 'tells',
    name: 'Telling',
    destinations: [
      { type: 'email', to: ['{{workflow_input.to}}'] },
      { type: 'webhook', url: 'https://desk.example/done', on: ['failed'] },
    ],
    run: () => ({ total: 7 }),
  });
  const kit = kitFor(tells);
  Object.assign(kit.runtime, { followers: [deliverDestinations] });
  const run = await kit.start('tells', { to: 'ann@example.com' });
  await attendCompletion(kit.runtime, { accountId: 'test', runId: run.runId });
  const sent = [...kit.host.store.all()].filter(({ path }) => path.includes('/outbox/')).map(({ data }) => outboxRecordSchema.parse(data));
  expect(sent).toMatchObject([
    { kind: 'mail', to: 'ann@example.com', subject: 'Telling: completed', body: expect.stringContaining('"total": 7') as string },
  ]);
});

test('the workflow says whether a tainted run asks a person', async () => {
  const bold = defineWorkflow({ ...call, id: 'call', guardTainted: false });
  const kit = kitFor(bold);
  await startRun(kit.runtime, {
    accountId: 'test',
    workflowId: 'call',
    input: { note: 'x' },
    startedBy: { kind: 'webhook', id: 'h' },
    tainted: true,
  });
  await kit.host.settle();
  expect(posts).toHaveLength(1);
});
