import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import { deliverDestinations } from '../ledger/destinations.ts';
import { putHook, putHookInput } from '../ledger/hooks.ts';
import { putSchedule, putScheduleInput } from '../ledger/schedules.ts';
import { KilnError } from '../model/errors.ts';
import { outboxRecordSchema } from '../model/outbox.ts';
import { person } from '../testing/person.ts';
import { outsideWorld } from '../testing/outside-world.testing.ts';
import type { OutsideWorld } from '../testing/outside-world.testing.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { readConfig } from '../triggers/config.ts';
import { deliveriesOf } from '../triggers/deliveries.ts';
import { receiveHook } from '../triggers/hooks.ts';
import { defineAction } from './action-registry.ts';
import { createStepRegistry } from './index.ts';

const page = readFileSync(new URL('../../../docs/steps.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```json (\w+)\n([\s\S]*?)\n```/g)].map(([, kind = '', text = '']) => ({
  kind,
  value: JSON.parse(text) as { readonly id: string; readonly type: string },
}));

/** What the examples take from the workflow's input. */
const input = {
  invoiceId: 'R-7',
  amount: 120,
  text: 'The lamp is broken.',
  question: 'May I return it?',
  orderId: 'A 1',
  id: '42',
  customer: 'Ada',
};

const secrets = {
  BANK_KEY: 'canary-bank',
  SHOP_KEY: 'canary-shop',
  SHOPIFY_KEY: 'canary-shopify',
  CRM_WEBHOOK_KEY: `whsec_${Buffer.from('a signing key of thirty-two byte').toString('base64')}`,
};

const answers: Readonly<Record<string, Json>> = {
  'POST https://bank.example': { payment: 'P1' },
  'GET https://shop.example': { total: 12.5 },
  'POST https://crm.example': {},
};

function unknownAddress(url: string): never {
  throw new KilnError('http.connection', `nobody answers at ${url}`);
}

/** The action that the page calls. */
const example = defineAction({
  name: 'example',
  input: z.object({ customer: z.string() }),
  output: z.object({ score: z.number() }),
  run: ({ customer }) => ({ score: customer.length }),
});

const greet = { id: 'greet', type: 'transform', value: 'welcome, {{workflow_input.customer}}' };
const echo = [{ id: 'echo', type: 'transform', value: '{{workflow_input}}' }];
const members = [person('ada', { departments: ['support'] }, 'test'), person('bo', { departments: ['billing'] }, 'test')];

interface Setting {
  readonly world: OutsideWorld;
  readonly kit: TestKit;
  readonly mails: { readonly to: string; readonly subject?: string | undefined }[];
}

/** The page's blocks among what they name: members, a child, an action, recipes; completions are followed as in production. */
function settingFor(
  definitions: Readonly<Record<string, unknown>>,
  more: Partial<Parameters<typeof outsideWorld>[0]> = {},
  now = '2026-01-01T00:00:00Z',
): Setting {
  const mails: Setting['mails'] = [];
  const world = outsideWorld({
    answerTo: ({ method, url }) => answers[`${method} ${new URL(url).origin}`] ?? unknownAddress(url),
    modelSays: ({ responseSchema }) => (responseSchema === undefined ? 'in short: broken' : { category: 'refund', refund: 20 }),
    secrets,
    tools: ['browser_navigate'],
    recipes: { summary: ['first', 'second', 'third: {{input.text}}', 'fourth'] },
    knowledge: [{ id: 'returns', collection: 'policies', title: 'Returns', markdown: 'Within 30 days.' }],
    ...more,
  });
  const kit = createTestKit({
    definitions: { onboarding: [greet], order: echo, report: echo, ...definitions },
    actions: [example],
    members,
    services: world.services,
    now,
  });
  const deliveries = { ...deliveriesOf(readConfig({})), mail: (_: unknown, mail: Setting['mails'][number]) => void mails.push(mail) };
  Object.assign(kit.runtime, { followers: [deliverDestinations], deliveries });
  return { world, kit, mails };
}

function documentsIn(kit: TestKit, collection: string): readonly Readonly<Record<string, unknown>>[] {
  return [...kit.host.store.all()].filter(({ path }) => path.split('/').at(-2) === collection).map(({ data }) => data);
}

interface Ran extends Setting {
  readonly run: TestRun;
  readonly output: unknown;
}

/** What is told by the run of each block: its output, and what reached the outside. */
const told: Readonly<Record<string, (ran: Ran) => void>> = {
  pay: ({ output, world }) => {
    expect(output).toMatchObject({ status: 200, json: { payment: 'P1' } });
    expect(world.requests).toMatchObject([{ method: 'POST', headers: { authorization: 'Bearer canary-bank' } }]);
    expect(JSON.parse(String(world.requests[0]?.body))).toEqual({ invoice: 'R-7', amount: 120 });
  },
  classify: ({ output, world }) => {
    expect(output).toEqual({ category: 'refund', refund: 20 });
    expect(world.asked.map(({ messages }) => messages.length)).toEqual([4]);
    expect(world.asked[0]?.messages.at(-1)?.content).toContain('to be refunded.\n\nThe lamp is broken.');
  },
  ask: ({ output, world }) => {
    expect(output).toBe('in short: broken');
    expect(world.asked[0]?.messages).toEqual([{ role: 'user', content: 'third: The lamp is broken.' }]);
  },
  answer: ({ output, world, kit, run }) => {
    expect(output).toBe('in short: broken');
    expect(JSON.stringify(world.asked[0]?.messages)).toContain('Within 30 days.');
    expect(kit.step(run, 'answer').details).toContain('"documentId":"returns"');
  },
  order: ({ output, world }) => {
    expect(output).toMatchObject({ status: 200, json: { total: 12.5 } });
    expect(world.requests).toMatchObject([{ url: 'https://shop.example/orders?id=A+1', headers: { 'x-key': 'canary-shop' } }]);
  },
  open: ({ output, world, kit, run }) => {
    expect(output).toMatchObject({ isError: false, text: 'browser_navigate' });
    expect(world.toolCalls).toMatchObject([{ args: { url: 'https://shop.example/orders/A 1' }, session: run.runId }]);
    expect(kit.run(run).tainted).toBe(true);
  },
  keep: ({ output, world, run }) => {
    expect(output).toEqual({ documentId: 'case-42', version: 1, changed: true, chunkCount: 1 });
    expect(world.documents.get('case-42')).toMatchObject({
      collection: 'cases',
      title: 'Case 42',
      markdown: '# Question\n\nThe lamp is broken.',
      tags: ['auto'],
      sourceRunId: run.runId,
    });
  },
  billing: ({ kit, mails }) => {
    expect(documentsIn(kit, 'notifications')).toMatchObject([{ to: 'bo', kind: 'handoff', title: 'Refund 120' }]);
    expect(mails).toMatchObject([{ to: 'bo@acme.example', subject: 'Refund 120' }]);
  },
  tell: ({ kit, mails }) => {
    expect(documentsIn(kit, 'notifications')).toMatchObject([{ to: 'ada', kind: 'notify', title: 'Done' }]);
    expect(mails).toEqual([]);
  },
  score: ({ output }) => expect(output).toEqual({ score: 3 }),
  child: ({ output }) => expect(output).toBe('welcome, Ada'),
  report: ({ kit, run, world, mails }) => {
    expect(outboxOf(kit)).toEqual([
      ['webhook', 'sent'],
      ['mail', 'sent'],
      ['kb', 'sent'],
      ['document', 'sent'],
    ]);
    const [post] = world.requests;
    expect(post).toMatchObject({
      url: 'https://crm.example/kiln',
      headers: { 'webhook-signature': expect.stringMatching(/^v1,/) as string },
    });
    expect(JSON.parse(String(post?.body))).toMatchObject({ type: 'run.completed', data: { runId: run.runId, output: { rows: 3 } } });
    expect(mails).toMatchObject([{ to: 'ops@acme.example', subject: `Report ${run.runId}` }]);
    expect([...world.documents.values()]).toContainEqual(
      expect.objectContaining({ collection: 'reports', title: `Report ${run.runId}`, sourceRunId: run.runId }),
    );
    expect(kit.document(`accounts/test/reports/${run.runId}`)).toMatchObject({ status: 'completed', output: '{"rows":3}' });
  },
};

function outboxOf(kit: TestKit): readonly (readonly [string, string])[] {
  return documentsIn(kit, 'outbox').map((data) => {
    const { kind, state } = outboxRecordSchema.parse(data);
    return [kind, state];
  });
}

function blockOf(id: string): object {
  const found = blocks.find(({ value }) => value.id === id);
  if (found === undefined) throw new Error(`the page has no block "${id}"`);
  return found.value;
}

const workflows = blocks.flatMap<{ readonly id: string; readonly type: string; readonly definition: object }>(({ kind, value }) => {
  if (kind === 'step') return [{ id: value.id, type: value.type, definition: { steps: [value] } }];
  return kind === 'kiln' ? [{ id: value.id, type: kind, definition: value }] : [];
});

test.each(workflows.filter(({ type }) => type !== 'fail'))('the block "$id" ($type) runs', async ({ id, definition }) => {
  const setting = settingFor({ [id]: definition });
  const run = await setting.kit.start(id, input);
  const { status, problems, error } = setting.kit.run(run);
  expect({ status, problems, error }).toEqual({ status: 'completed', problems: undefined, error: undefined });
  told[id]?.({ ...setting, run, output: await setting.kit.result(run) });
  expect(JSON.stringify([...setting.kit.host.store.all()])).not.toContain('canary');
});

test('each of them tells something', () => {
  const ids = workflows.filter(({ type }) => type !== 'fail').map(({ id }) => id);
  expect(new Set(Object.keys(told))).toEqual(new Set(ids));
  expect(new Set(ids).size).toBe(ids.length);
});

describe('what the page says beside its blocks', () => {
  test('fail ends the run with its business exception', async () => {
    const { kit } = settingFor({ wf: [blockOf('stop')] });
    const run = kit.run(await kit.start('wf', input));
    expect(run).toMatchObject({ status: 'failed', error: { code: 'not_covered', message: 'The contract does not cover this.' } });
  });

  test('an attempt that ended without an answer is looked up with `confirm` before it is repeated', async () => {
    const { kit, world } = settingFor(
      { wf: [blockOf('pay')] },
      {
        answerTo: ({ method }) => {
          if (method === 'POST') throw new KilnError('http.interrupted', 'the connection broke');
          return { payments: [{ payment: 'P0' }] };
        },
      },
    );
    const run = await kit.start('wf', input);
    await kit.advance('10s');
    expect(await kit.result(run)).toMatchObject({ json: { payments: [{ payment: 'P0' }] } });
    expect(world.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST https://bank.example/payments',
      'GET https://bank.example/payments?invoice=R-7',
    ]);
  });

  test('a refund over 500 goes to a person, over 10,000 it is asked for again, and an abstention takes its path', async () => {
    const classify = { wf: [blockOf('classify')] };
    const large = settingFor(classify, { modelSays: () => ({ category: 'refund', refund: 900 }) });
    const run = await large.kit.start('wf', input);
    expect(large.kit.waitingAt(run)).toEqual(['classify']);
    await large.kit.approve(run, 'ada', { values: { category: 'refund', refund: 450 } });
    expect(await large.kit.result(run)).toEqual({ category: 'refund', refund: 450 });

    const tooMuch = settingFor(classify, {
      modelSays: ({ messages }) => ({ category: 'refund', refund: messages.length > 4 ? 10 : 20_000 }),
    });
    expect(await tooMuch.kit.result(await tooMuch.kit.start('wf', input))).toEqual({ category: 'refund', refund: 10 });
    expect(tooMuch.world.asked.at(-1)?.messages.at(-1)?.content).toContain('a refund is at most 10,000');

    const unsure = settingFor(classify, { modelSays: () => ({ category: 'question', refund: 5 }) });
    const abstained = await unsure.kit.start('wf', input);
    expect(unsure.kit.run(abstained).status).toBe('completed');
    expect(unsure.kit.step(abstained, 'classify').error).toMatchObject({ code: 'abstained' });
    expect(JSON.stringify(await unsure.kit.result(abstained))).toContain('ask for more');
  });
});

describe('what starts runs', () => {
  const actor = { accountId: 'test', uid: 'ada' };
  const started = (kit: TestKit) =>
    documentsIn(kit, 'runs').map(({ workflowId, startedBy, status }) => ({ workflowId, startedBy, status }));

  test.each(blocks.filter(({ kind }) => kind === 'hook'))('the hook takes an order of the shop', async ({ value }) => {
    const { kit } = settingFor({});
    const hook = await putHook(kit.runtime, actor, putHookInput.parse(value));
    const rawBody = Buffer.from('{"total":12.5}');
    const signature = createHmac('sha256', secrets.SHOPIFY_KEY).update(rawBody).digest('base64');
    const send = (topic: string, id: string) => {
      const headers = { 'content-type': 'application/json', 'x-shopify-topic': topic, 'x-shopify-webhook-id': id };
      const signed = { ...headers, 'x-shopify-hmac-sha256': signature };
      return receiveHook(kit.runtime, { accountId: 'test', hookId: hook.hookId, headers: signed, rawBody });
    };
    expect(await send('orders/create', 'd1')).toMatchObject({ status: 202 });
    await send('orders/paid', 'd2');
    await kit.host.settle();
    expect(started(kit)).toEqual([{ workflowId: 'order', startedBy: { kind: 'webhook', id: 'shop' }, status: 'completed' }]);
  });

  test.each(blocks.filter(({ kind }) => kind === 'schedule'))(
    'the schedule starts its run at half past two in Zürich',
    async ({ value }) => {
      const { kit } = settingFor({}, {}, '2026-01-01T01:29:00Z');
      await putSchedule(kit.runtime, actor, putScheduleInput.parse(value));
      await kit.reconcile();
      expect(started(kit)).toEqual([]);
      // A minute until then, and at most five of jitter.
      await kit.advance('6m');
      await kit.reconcile();
      expect(started(kit)).toEqual([{ workflowId: 'report', startedBy: { kind: 'schedule', id: 'nightly' }, status: 'completed' }]);
    },
  );

  test('the page shows both, and nothing of another kind', () => {
    expect(new Set(blocks.map(({ kind }) => kind))).toEqual(new Set(['step', 'hook', 'schedule', 'kiln']));
  });
});

test('every step type that touches the world has a section with an example', () => {
  const shown = new Set(blocks.flatMap(({ kind, value }) => (kind === 'step' ? [value.type] : [])));
  const elsewhere = new Set(['approval', 'wait', 'transform']);
  for (const { type } of createStepRegistry().all()) expect(shown.has(type) || elsewhere.has(type) ? [] : [type]).toEqual([]);
  for (const type of shown) expect(page).toContain(`\n## ${type}\n`);
});
