import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runRecordSchema } from '../../model/run.ts';
import { createTestKit } from '../../testing/test-kit.ts';
import { azureDevOps, defineWorkflow, github, shopify, standardWebhooks, stripe } from '../api.ts';
import { forkRun } from '../fork.ts';
import type { WebhookTrigger } from '../triggers.ts';

interface Example {
  readonly name: string;
  readonly examples: readonly unknown[];
}

const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly Example[];

/** A work item's creation, shaped as the service's documentation shows it. */
const workItemCreated = {
  subscriptionId: '11111111-2222-3333-4444-555555555555',
  notificationId: 4,
  id: 'd2d46fb1-dba5-403c-9373-427583f19e8c',
  eventType: 'workitem.created',
  publisherId: 'tfs',
  message: { text: 'Bug #5 created', html: '…', markdown: '…' },
  resource: {
    id: 5,
    rev: 1,
    fields: {
      'System.AreaPath': 'Shop',
      'System.TeamProject': 'Shop',
      'System.WorkItemType': 'Bug',
      'System.State': 'New',
      'System.CreatedBy': 'Jo Doe <jo@example.org>',
      'System.Title': 'The cart forgets',
    },
    url: 'https://dev.azure.com/example/_apis/wit/workItems/5',
  },
  resourceVersion: '1.0',
  createdDate: '2026-05-01T08:00:00.000Z',
};

const workItemUpdated = {
  ...workItemCreated,
  eventType: 'workitem.updated',
  resource: {
    id: 2,
    workItemId: 5,
    rev: 2,
    fields: {
      'System.Rev': { oldValue: 1, newValue: 2 },
      'System.State': { oldValue: 'New', newValue: 'Active' },
      'System.Reason': { newValue: 'Fixed' },
    },
    revision: {
      id: 5,
      rev: 2,
      fields: { ...workItemCreated.resource.fields, 'System.State': 'Active' },
      url: 'https://dev.azure.com/example/_apis/wit/workItems/5/revisions/2',
    },
  },
};

const gitPush = {
  ...workItemCreated,
  eventType: 'git.push',
  resource: {
    commits: [{ commitId: '33b55f7c', author: { name: 'Jo Doe' }, comment: 'Fix the cart', url: 'https://example.org/c/33b55f7c' }],
    refUpdates: [{ name: 'refs/heads/main', oldObjectId: 'aad331d8', newObjectId: '33b55f7c' }],
    repository: {
      id: 'r',
      name: 'shop',
      url: 'https://example.org/r',
      project: { id: 'p', name: 'Shop' },
      defaultBranch: 'refs/heads/main',
    },
    pushedBy: { id: 'u', displayName: 'Jo Doe', uniqueName: 'jo@example.org' },
    pushId: 14,
    date: '2026-05-01T08:00:00.000Z',
  },
};

const order = {
  id: 6200407294252,
  admin_graphql_api_id: 'gid://shopify/Order/6200407294252',
  name: '#1001',
  order_number: 1001,
  email: null,
  created_at: '2026-01-23T23:10:15-05:00',
  currency: 'CHF',
  total_price: '186.90',
  financial_status: 'paid',
  fulfillment_status: null,
  customer: { id: 1, email: 'a@example.org', first_name: 'Ann', last_name: null },
  shipping_address: { address1: 'Road 1', city: 'Bern', zip: '3000', country_code: 'CH' },
  line_items: [{ id: 2, sku: null, title: 'Lamp', quantity: 2, price: '93.45', product_id: 3, variant_id: 4, properties: [] }],
};

const invoicePaid = {
  id: 'evt_1',
  object: 'event',
  api_version: '2025-08-27.basil',
  created: 1763561590,
  type: 'invoice.paid',
  livemode: false,
  pending_webhooks: 1,
  request: { id: null, idempotency_key: null },
  data: {
    object: {
      id: 'in_1',
      object: 'invoice',
      number: 'A-1',
      customer: 'cus_1',
      customer_email: 'a@example.org',
      amount_due: 2990,
      amount_paid: 2990,
      currency: 'brl',
      status: 'paid',
      metadata: {},
    },
  },
};

function read<P>(trigger: WebhookTrigger<P>, body: unknown): P {
  return (trigger.payload as z.ZodType<P>).parse(body);
}

describe('connector presets read what the services really send', () => {
  test.each([
    ['push', github.onPush()],
    ['pull_request', github.onPullRequest()],
    ['issues', github.onIssue()],
    ['issue_comment', github.onIssueComment()],
    ['release', github.onRelease()],
  ] as [string, WebhookTrigger<object>][])('GitHub %s: every recorded example', (name, trigger) => {
    const found = examples.find((example) => example.name === name)?.examples ?? [];
    expect(found.length).toBeGreaterThan(0);
    for (const body of found) expect(read(trigger, body)).toMatchObject({ repository: { full_name: expect.any(String) as string } });
    expect(trigger).toMatchObject({ kind: 'webhook', scheme: { kind: 'github' }, events: [name] });
  });

  test('Azure DevOps: work items and pushes, mapped to what a workflow needs', () => {
    expect(read(azureDevOps.onWorkItemCreated(), workItemCreated)).toMatchObject({
      id: 5,
      type: 'Bug',
      state: 'New',
      title: 'The cart forgets',
      project: 'Shop',
    });
    expect(read(azureDevOps.onWorkItemUpdated(), workItemUpdated)).toMatchObject({
      id: 5,
      state: 'Active',
      changes: { 'System.State': { before: 'New', after: 'Active' }, 'System.Reason': { before: null, after: 'Fixed' } },
    });
    expect(read(azureDevOps.onGitPush(), gitPush)).toMatchObject({
      repository: 'shop',
      refs: [{ after: '33b55f7c' }],
      commits: [{ id: '33b55f7c' }],
    });
    expect(() => read(azureDevOps.onWorkItemCreated(), workItemUpdated)).toThrow('workitem.created');
  });

  test('Shopify, Stripe and Standard Webhooks', () => {
    expect(read(shopify.onOrderPaid(), order)).toMatchObject({ name: '#1001', line_items: [{ title: 'Lamp', quantity: 2 }] });
    expect(read(stripe.onInvoicePaid(), invoicePaid).data.object.amount_paid).toBe(2990);
    expect(() => read(stripe.onPaymentSucceeded(), invoicePaid)).toThrow('payment_intent.succeeded');
    const signedUp = standardWebhooks.on('user.created', z.object({ email: z.string() }));
    expect(read(signedUp, { type: 'user.created', timestamp: '2026-01-01T00:00:00Z', data: { email: 'a@example.org' } }).data.email).toBe(
      'a@example.org',
    );
  });
});

describe('a workflow started by a webhook', () => {
  const copies = defineWorkflow({
    id: 'copies',
    trigger: azureDevOps.onWorkItemCreated(),
    input: z.object({ id: z.number(), title: z.string() }),
    run: async ({ event, input, step }) => [await step.run('type', () => event.payload.type), input],
  });
  const byWebhook = { startedBy: { kind: 'webhook', id: 'devops' } } as const;

  test('sees the payload as the preset reads it, on every replay', async () => {
    const kit = createTestKit({ workflows: [copies] });
    const run = await kit.start('copies', workItemCreated, byWebhook);
    expect(await kit.result(run)).toEqual(['Bug', { id: 5, title: 'The cart forgets' }]);
  });

  test('is rejected with the places where the payload is another', async () => {
    const kit = createTestKit({ workflows: [copies] });
    const run = await kit.start('copies', workItemUpdated, byWebhook);
    expect(kit.run(run).status).toBe('rejected');
    expect(kit.run(run).problems).toContain('input/eventType');
  });

  test('started from code, it takes the payload as its code sees it', async () => {
    const kit = createTestKit({ workflows: [copies] });
    const item = read(azureDevOps.onWorkItemCreated(), workItemCreated);
    expect(await kit.result(await kit.start(copies, { ...item, title: 'By hand' }))).toMatchObject(['Bug', { title: 'By hand' }]);
  });

  test('forked, from a step or from the beginning, it sees the payload as before; what was tainted stays so', async () => {
    const kit = createTestKit({ workflows: [copies] });
    const run = await kit.start('copies', workItemCreated, { ...byWebhook, tainted: true });
    await kit.command(run, 'fork');
    const ref = { accountId: kit.accountId, runId: run.runId };
    await forkRun(kit.planner.replayer, kit.runtime, ref, { by: { kind: 'user', id: 'operator' }, from: 'type' });
    await kit.host.settle();
    const forks = [...kit.host.store.all()]
      .filter(({ path, data }) => /\/runs\/[^/]+$/.test(path) && data['forkedFrom'] !== undefined)
      .map(({ data }) => runRecordSchema.parse(data));
    expect(forks).toHaveLength(2);
    for (const fork of forks) {
      expect(fork).toMatchObject({ status: 'completed', tainted: true, startedBy: { kind: 'user' } });
      expect(await kit.result({ runId: fork.runId, workflow: copies })).toEqual(['Bug', { id: 5, title: 'The cart forgets' }]);
    }
  });
});
