import { describe, expect, test } from 'vitest';
import { person } from '../testing/person.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { copyToClickUp } from './copy-to-clickup.ts';
import { documentIntake } from './document-intake.ts';
import { workflows } from './index.ts';
import { orderFulfilment } from './order-fulfilment.ts';
import { subscriptionReminder } from './subscription-reminder.ts';

const members = [person('paula', { departments: ['product'] }, 'test'), person('anna', { departments: ['accounting'] }, 'test')];

const order = { orderId: 'o-1', email: 'c@example.org', amountCents: 4_200, currency: 'CHF', lines: [{ sku: 'lamp', quantity: 1 }] };

describe('order fulfilment', () => {
  /** The outside of the order: what is called, in order. */
  function shop(charge: 'paid' | 'declined' = 'paid'): { kit: TestKit; calls: string[] } {
    const kit = createTestKit({ workflows });
    const calls: string[] = [];
    const answers = {
      'reserve-goods': { missing: [] },
      charge: { id: 'ch_1', status: charge },
      'order-pickup': null,
      'tell-customer': null,
      refund: null,
      'release-goods': null,
    };
    for (const [name, answer] of Object.entries(answers)) kit.mockStep(name, () => (calls.push(name), answer));
    return { kit, calls };
  }

  test('reserves, charges, ships and tells', async () => {
    const { kit, calls } = shop();
    const run = await kit.start(orderFulfilment, order);
    expect(kit.waitingAt(run)).toEqual(['handed-over']);
    expect(kit.run(run).businessState).toBe('charged');
    await kit.sendEvent('parcel.handed_over', { trackingNumber: 'T-9' }, { key: 'o-1' });
    expect(await kit.result(run)).toEqual({ orderId: 'o-1', charge: 'ch_1', trackingNumber: 'T-9' });
    expect(calls).toEqual(['reserve-goods', 'charge', 'order-pickup', 'tell-customer']);
    expect(kit.run(run).businessState).toBe('handed_over');
  });

  test('a declined card gives the goods back', async () => {
    const { kit, calls } = shop('declined');
    const run = await kit.start(orderFulfilment, order);
    expect(kit.run(run)).toMatchObject({ status: 'compensated', error: { code: 'payment_declined' } });
    expect(calls).toEqual(['reserve-goods', 'charge', 'refund', 'release-goods']);
  });

  test('a parcel that never leaves is refunded after five days, with patience', async () => {
    const { kit, calls } = shop();
    kit.failStep('refund', 6);
    const run = await kit.start(orderFulfilment, order);
    await kit.advance('5d');
    expect(kit.run(run).status).toBe('compensating');
    await kit.advance('1h');
    expect(kit.run(run)).toMatchObject({ status: 'compensated', error: { code: 'not_shipped' } });
    expect(calls.slice(3)).toEqual(['refund', 'release-goods']);
  });
});

describe('document intake', () => {
  const text = 'Muster AG\nInvoice R-77\nTotal CHF 42.50\nDue 2026-02-01';
  const read = { supplier: 'Muster AG', invoiceNumber: 'R-77', totalCents: 4_250, currency: 'CHF', dueDate: '2026-02-01' };
  const scan = (documentId: string) => ({ path: `inbox/${documentId}`, params: { documentId }, data: { text, receivedFrom: 'Muster AG' } });

  test('what adds up is booked without a person, and only once', async () => {
    const kit = createTestKit({ workflows, members });
    kit.mockStep('read-invoice', () => read);
    const run = await kit.start(documentIntake, scan('d1'));
    expect(await kit.result(run)).toMatchObject({ corrected: false, duplicateOf: null });
    const again = await kit.start(documentIntake, scan('d2'));
    expect(await kit.result(again)).toMatchObject({ duplicateOf: 'd1' });
    expect(kit.document('invoices/Muster%20AG-R-77')).toMatchObject({ documentId: 'd1', totalCents: 4_250 });
  });

  test('what does not add up is corrected by a person, and the corrected values are booked', async () => {
    const kit = createTestKit({ workflows, members });
    kit.mockStep('read-invoice', () => ({ ...read, totalCents: 42_500 }));
    const run = await kit.start(documentIntake, scan('d1'));
    expect(kit.waitingAt(run)).toEqual(['correct']);
    await kit.approve(run, 'anna', { values: read });
    expect(await kit.result(run)).toMatchObject({ corrected: true, invoice: { totalCents: 4_250 } });
  });

  test('what is no invoice is not booked', async () => {
    const kit = createTestKit({ workflows, members });
    kit.mockStep('read-invoice', () => ({ ...read, invoiceNumber: 'X' }));
    const run = await kit.start(documentIntake, scan('d1'));
    await kit.reject(run, 'anna', { comment: 'a menu' });
    expect(kit.run(run)).toMatchObject({ status: 'failed', error: { code: 'not_an_invoice' } });
    expect(kit.document('inbox/d1')).toBeUndefined();
  });
});

describe('subscription reminder', () => {
  const subscription = { subscriptionId: 's-1', email: 'c@example.org', renewsAt: '2026-07-31T09:00:00Z', everyMonths: 6, renewals: 3 };

  function service(): { kit: TestKit; sent: string[] } {
    const kit = createTestKit({ workflows, now: '2026-01-31T09:00:00Z' });
    const sent: string[] = [];
    for (const n of [1, 2, 3]) {
      for (const what of ['remind', 'renew'])
        kit.mockStep(`${what}-${n}`, () => void sent.push(`${what} ${new Date(kit.now).toISOString().slice(0, 10)}`));
    }
    return { kit, sent };
  }

  test('sleeps for months and wakes on the day, at the end of short months too', async () => {
    const { kit, sent } = service();
    const run = await kit.start(subscriptionReminder, subscription);
    await kit.advance('600d');
    expect(await kit.result(run)).toEqual({ renewals: 3, ended: 'term over' });
    expect(sent).toEqual([
      'remind 2026-07-17',
      'renew 2026-07-31',
      'remind 2027-01-17',
      'renew 2027-01-31',
      'remind 2027-07-17',
      'renew 2027-07-31',
    ]);
  });

  test('a cancellation counts whenever it comes, and leaves nothing waiting', async () => {
    const { kit, sent } = service();
    const run = await kit.start(subscriptionReminder, subscription);
    await kit.advance('200d');
    await kit.sendEvent('subscription.cancelled', null, { key: 's-1' });
    expect(await kit.result(run)).toEqual({ renewals: 1, ended: 'cancelled' });
    expect(kit.waitingAt(run)).toEqual([]);
    expect(sent).toHaveLength(2);
  });
});

describe('copy to ClickUp', () => {
  const item = {
    id: 5,
    revision: 1,
    project: 'Shop',
    type: 'Bug',
    state: 'New',
    title: 'The cart forgets',
    createdBy: undefined,
    assignedTo: undefined,
    url: 'https://example.org/5',
    deliveryId: 'x',
  };

  function linked(): TestKit {
    const kit = createTestKit({ workflows, members });
    kit.mockStep('fetch-item', () => ({ title: 'The cart forgets', description: 'It does', priority: 2 }));
    kit.mockStep('create-task', () => ({ id: 'cu-1', url: 'https://example.org/cu-1' }));
    kit.mockStep('link-back', () => null);
    return kit;
  }

  test('a released item is copied, and linked a day later', async () => {
    const kit = linked();
    kit.failStep('create-task', 2);
    const run = await kit.start(copyToClickUp, item);
    await kit.approve(run, 'paula');
    await kit.advance('1h');
    expect(kit.waitingAt(run)).toEqual(['cooldown']);
    await kit.advance('24h');
    expect(await kit.result(run)).toEqual({ copied: true, task: 'cu-1' });
    expect(kit.history(run)).toEqual([
      'fetch-item: succeeded',
      'release: succeeded',
      'create-task: succeeded after 3 attempts',
      'cooldown: succeeded',
      'link-back: succeeded',
    ]);
  });

  test('a refused item is not copied, a task is not even asked about', async () => {
    const kit = linked();
    const refused = await kit.start(copyToClickUp, item);
    await kit.reject(refused, 'paula');
    expect(await kit.result(refused)).toEqual({ copied: false, why: 'reject' });
    const task = await kit.start(copyToClickUp, { ...item, type: 'Task' });
    expect(await kit.result(task)).toMatchObject({ copied: false });
    expect(kit.steps(task)).toEqual([]);
  });
});
