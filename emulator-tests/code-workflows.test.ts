import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalJson } from '../functions/src/engine/json.ts';
import type { Json } from '../functions/src/engine/json.ts';
import { eventRecord } from '../functions/src/ledger/events.ts';
import { newRunWrites } from '../functions/src/ledger/new-run.ts';
import { storePayload } from '../functions/src/ledger/payloads.ts';
import { paths } from '../functions/src/model/paths.ts';
import { Outside } from './code-outside.ts';
import { ACCOUNT, Installation } from './installation.ts';

const DAY = 86_400_000;
const order = { orderId: 'o-1', email: 'c@example.org', amountCents: 4_200, currency: 'CHF', lines: [{ sku: 'lamp', quantity: 1 }] };

const outside = new Outside({
  '/reserve': { missing: [] },
  '/charge': { id: 'ch_1', status: 'paid' },
  '/workitems/5': { title: 'The cart forgets', description: 'It does', priority: 2 },
  '/tasks': { id: 'cu-1', url: 'https://example.org/cu-1' },
});
let kiln: Installation;
let runs = 0;

beforeAll(async () => {
  const env = await outside.start('payments', 'warehouse', 'carrier', 'mailer', 'devops', 'clickup');
  kiln = await Installation.start({ name: 'code', worker: true, env });
  const now = kiln.clock.now();
  await kiln.store.commit(
    ['product', 'accounting'].map((department) => ({
      op: 'set',
      path: paths.member(ACCOUNT, department),
      data: {
        v: 1,
        accountId: ACCOUNT,
        uid: department,
        email: `${department}@example.org`,
        name: department,
        roles: ['approver'],
        departments: [department],
        active: true,
        updatedAt: now,
        updatedBy: 'test',
      },
    })),
  );
});
afterAll(async () => {
  await kiln.close();
  await outside.close();
});

async function start(workflowId: string, input: Json): Promise<string> {
  const runId = `code-${(runs += 1)}`;
  const pinned = { kind: 'code', version: 1, hash: 'test' } as const;
  const now = kiln.clock.now();
  await kiln.store.commit(
    newRunWrites({
      accountId: ACCOUNT,
      runId,
      workflowId,
      pinned,
      input: canonicalJson(input),
      startedBy: { kind: 'user', id: 'tester' },
      now,
    }),
  );
  await kiln.host.idle();
  return runId;
}

async function send(name: string, key: string, payload: Json): Promise<void> {
  const eventId = `event-${(runs += 1)}`;
  const stored = storePayload({ accountId: ACCOUNT, runId: eventId }, '$event', canonicalJson(payload));
  const record = eventRecord(ACCOUNT, { eventId, name, key, payload, source: 'test' }, stored.payload, kiln.clock.now());
  await kiln.store.commit([{ op: 'create', path: paths.event(ACCOUNT, eventId), data: record }]);
  await kiln.host.idle();
}

describe('the examples on the deployed functions and the Firestore emulator', () => {
  test('order fulfilment: shipped', async () => {
    outside.forget();
    const run = await start('order-fulfilment', order);
    await send('parcel.handed_over', 'o-1', { trackingNumber: 'T-9' });
    expect(await kiln.ended(run)).toMatchObject({ status: 'completed', businessState: 'handed_over' });
    expect(await kiln.output(run)).toEqual({ orderId: 'o-1', charge: 'ch_1', trackingNumber: 'T-9' });
    expect(outside.asked).toEqual(['/reserve', '/charge', '/pickup', '/send']);
  });

  test('order fulfilment: never shipped, so undone after five days', async () => {
    outside.forget();
    const run = await start('order-fulfilment', { ...order, orderId: 'o-2' });
    await kiln.host.advance(5 * DAY);
    expect(await kiln.ended(run)).toMatchObject({ status: 'compensated', error: { code: 'not_shipped' } });
    expect(outside.asked).toEqual(['/reserve', '/charge', '/pickup', '/refund', '/release']);
  });

  test('copy to ClickUp: released by a person, linked a day later', async () => {
    outside.forget();
    const run = await start('copy-to-clickup', {
      id: 5,
      revision: 1,
      project: 'Shop',
      type: 'Bug',
      state: 'New',
      title: 'The cart forgets',
      url: 'https://example.org/5',
      deliveryId: 'x',
    });
    const [approval] = await kiln.approvalOf(run);
    await kiln.decide(approval ?? { approvalId: '', digest: '' }, 'product', 'approve');
    await kiln.host.advance(DAY);
    expect(await kiln.ended(run)).toMatchObject({ status: 'completed' });
    expect(await kiln.output(run)).toEqual({ copied: true, task: 'cu-1' });
  });

  test('subscription reminder: sleeps for months, and a cancellation ends it with nothing left waiting', async () => {
    outside.forget();
    const renewsAt = new Date(kiln.clock.now() + 200 * DAY).toISOString();
    const run = await start('subscription-reminder', {
      subscriptionId: 's-1',
      email: 'c@example.org',
      renewsAt,
      everyMonths: 6,
      renewals: 3,
    });
    await kiln.host.advance(201 * DAY);
    expect(outside.asked).toEqual(['/send', '/renew']);
    await send('subscription.cancelled', 's-1', null);
    expect(await kiln.ended(run)).toMatchObject({ status: 'completed' });
    expect(await kiln.output(run)).toEqual({ renewals: 1, ended: 'cancelled' });
    const states = Object.values(await kiln.states(run));
    expect(states.filter((state) => !['succeeded', 'cancelled'].includes(state))).toEqual([]);
    const waits = await kiln.host.firestore().collection(paths.waits(ACCOUNT)).where('runId', '==', run).where('state', '==', 'open').get();
    expect(waits.size).toBe(0);
  });

  test('document intake: what the model reads does not add up, so a person corrects it, and it is booked in one transaction', async () => {
    outside.forget();
    const text = 'Muster AG\nInvoice R-77\nTotal CHF 42.50\nDue 2026-02-01';
    const run = await start('document-intake', {
      path: 'inbox/d1',
      params: { documentId: 'd1' },
      data: { text, receivedFrom: 'Muster AG' },
    });
    const [approval] = await kiln.approvalOf(run);
    const values = { supplier: 'Muster AG', invoiceNumber: 'R-77', totalCents: 4_250, currency: 'CHF', dueDate: '2026-02-01' };
    const { approvalId, digest } = approval ?? { approvalId: '', digest: '' };
    const decision = {
      v: 1,
      accountId: ACCOUNT,
      approvalId,
      by: 'accounting',
      outcome: 'approve',
      digest,
      values: canonicalJson(values),
      at: kiln.clock.now(),
    };
    await kiln.store.commit([{ op: 'create', path: paths.decision(ACCOUNT, approvalId, 'accounting'), data: decision }]);
    expect(await kiln.ended(run)).toMatchObject({ status: 'completed' });
    expect(await kiln.output(run)).toMatchObject({ corrected: true, invoice: { totalCents: 4_250 } });
    const booked = await kiln.host.firestore().doc('invoices/Muster%20AG-R-77').get();
    expect(booked.data()).toMatchObject({ totalCents: 4_250, documentId: 'd1' });
  });
});

describe('SIGKILL of the functions’ process', () => {
  test.each(['/reserve', '/charge', '/pickup', '/send'])('while %s is asked: the order is fulfilled, each effect once', async (deadly) => {
    outside.forget();
    const orderId = `killed-at-${deadly.slice(1)}`;
    let killed: Promise<void> | undefined;
    outside.onCall = async (path) => {
      if (path === deadly) await (killed ??= kiln.host.kill());
    };
    const run = await start('order-fulfilment', { ...order, orderId });
    // Longer than the lease of the attempt that died.
    for (let i = 0; i < 3; i += 1) await kiln.host.advance(60_000);
    await kiln.host.reconcile();
    await send('parcel.handed_over', orderId, { trackingNumber: 'T-1' });
    expect(await kiln.ended(run)).toMatchObject({ status: 'completed' });
    expect(killed).toBeDefined();
    expect([...outside.applied.values()].sort()).toEqual(['/charge', '/pickup', '/reserve', '/send']);
    expect(outside.asked.filter((path) => path === deadly)).toHaveLength(2);
  });

  test('at any moment of the deliveries of four orders: each is fulfilled, each result accepted once, each effect once', async () => {
    outside.forget();
    kiln.host.setFaults({ kill: 0.25, killMs: 60, duplicate: 0.2 });
    const before = kiln.host.counters.kills;
    const ids = Array.from({ length: 4 }, (_, n) => `any-${n}`);
    const orders: string[] = [];
    for (const orderId of ids) orders.push(await start('order-fulfilment', { ...order, orderId }));
    for (let i = 0; i < 6; i += 1) {
      await kiln.host.advance(60_000);
      await kiln.host.reconcile();
    }
    for (const orderId of ids) await send('parcel.handed_over', orderId, { trackingNumber: 'T-1' });
    for (const run of orders) expect(await kiln.ended(run)).toMatchObject({ status: 'completed' });
    expect(kiln.host.counters.kills - before).toBeGreaterThan(2);
    kiln.host.setFaults({ kill: 0, duplicate: 0 });
    for (const run of orders) {
      const steps = [...(await kiln.steps(run)).values()];
      expect(steps.filter(({ state }) => state !== 'succeeded')).toEqual([]);
      expect(steps.filter(({ attempts }) => attempts.filter(({ outcome }) => outcome === 'succeeded').length > 1)).toEqual([]);
    }
    const applied = [...outside.applied.values()];
    for (const effect of ['/reserve', '/charge', '/pickup', '/send']) expect(applied.filter((path) => path === effect)).toHaveLength(4);
  }, 280_000);
});
