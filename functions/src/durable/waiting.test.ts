import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { person } from '../testing/person.ts';
import { createTestKit, RunNotCompleted } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { BusinessException, defineWorkflow } from './api.ts';

const DAY = 86_400_000;

describe('events', () => {
  const waits = defineWorkflow({
    id: 'waits',
    async run({ step }) {
      await step.run('before', () => null);
      const event = await step.waitForEvent<{ amount: number }>('paid', { event: 'paid', timeout: '3d' });
      return event === null ? 'nothing came' : event.payload.amount;
    },
  });

  test('D1 an event that came before the wait counts, once', async () => {
    const kit = createTestKit({ workflows: [waits] });
    let sent = false;
    kit.mockStep('before', async () => {
      if (!sent) await kit.host.store.commit(kit.eventWrites('paid', { amount: 7 }));
      sent = true;
    });
    const run = await kit.start(waits, null);
    expect(await kit.result(run)).toBe(7);
    await kit.advance(1);
    const later = await kit.start(waits, null);
    expect(kit.waitingAt(later)).toEqual(['paid']);
  });

  test('an event that comes while it waits; null when none comes in time', async () => {
    const kit = createTestKit({ workflows: [waits] });
    const [first, second] = [await kit.start(waits, null), await kit.start(waits, null)];
    await kit.sendEvent('paid', { amount: 3 }, { runId: first.runId });
    expect(await kit.result(first)).toBe(3);
    await kit.advance('3d');
    expect(await kit.result(second)).toBe('nothing came');
    await kit.sendEvent('paid', { amount: 9 });
    expect(await kit.result(second)).toBe('nothing came');
  });

  test.each(['event first', 'timeout first'])('T1 event and timeout at the same instant, %s: exactly one outcome', async (order) => {
    const kit = createTestKit({ workflows: [waits] });
    const run = await kit.start(waits, null);
    if (order === 'event first') {
      await kit.advance(3 * DAY - 1);
      // At the very millisecond of the timeout, but before its doorbell is heard.
      kit.host.onRing = () => kit.sendEvent('paid', { amount: 1 });
      await kit.advance(1);
    } else {
      await kit.advance(3 * DAY);
      await kit.sendEvent('paid', { amount: 1 });
    }
    expect(await kit.result(run)).toBe(order === 'event first' ? 1 : 'nothing came');
    expect(kit.steps(run).filter((step) => step.key === 'paid')).toHaveLength(1);
  });

  test('match and key choose the event; sent events reach other runs', async () => {
    const sends = defineWorkflow({
      id: 'sends',
      async run({ step }) {
        const { eventId } = await step.sendEvent('tell', { event: 'ready', key: 'order-1', payload: { size: 2 } });
        return eventId;
      },
    });
    const hears = defineWorkflow({
      id: 'hears',
      async run({ step }) {
        const event = await step.waitForEvent('ready', { event: 'ready', key: 'order-1', match: 'event.payload.size > 1', timeout: '1d' });
        return event?.id ?? null;
      },
    });
    const kit = createTestKit({ workflows: [sends, hears] });
    const hearing = await kit.start(hears, null);
    await kit.sendEvent('ready', { size: 1 }, { key: 'order-1' });
    await kit.sendEvent('ready', { size: 5 }, { key: 'order-2' });
    expect(kit.waitingAt(hearing)).toEqual(['ready']);
    const sending = await kit.start(sends, null);
    expect(await kit.result(hearing)).toBe(await kit.result(sending));
    expect(kit.steps(sending)).toEqual([]);
  });
});

describe('times', () => {
  test('T4 a date in the past continues at once; what is no time fails where it is written', async () => {
    const dates = defineWorkflow({
      id: 'dates',
      input: z.object({ date: z.string() }),
      async run({ input, step }) {
        await step.sleepUntil('past', input.date);
        return step.now();
      },
    });
    const kit = createTestKit({ workflows: [dates] });
    const past = await kit.start(dates, { date: '2020-01-01T00:00:00Z' });
    await kit.advance(0);
    expect(await kit.result(past)).toBe(kit.now);
    const soon = await kit.start(dates, { date: 'soon' });
    await expect(kit.result(soon)).rejects.toThrow('date.invalid past: date is "soon"');
    const nan = defineWorkflow({ id: 'nan', run: ({ step }) => step.sleep('never', Number.NaN) });
    kit.deploy([dates, nan]);
    await expect(kit.result(await kit.start(nan, null))).rejects.toThrow('duration.invalid never: duration is NaN');
  });

  test.each([25, 30, 31, 60, 400])('T3 a sleep of %i days wakes on time, also when every doorbell is lost', async (days) => {
    const sleeps = defineWorkflow({ id: 'sleeps', run: ({ step }) => step.sleep('long', days * DAY) });
    const kit = createTestKit({ workflows: [sleeps] });
    const run = await kit.start(sleeps, null);
    kit.host.loseRings();
    await kit.advance(days * DAY - 1);
    await kit.reconcile();
    expect(kit.run(run).status).toBe('running');
    await kit.advance(1);
    await kit.reconcile();
    expect(kit.run(run).status).toBe('completed');
  });
});

describe('approvals', () => {
  const asks = defineWorkflow({
    id: 'asks',
    input: z.object({ amount: z.number() }),
    async run({ input, step }) {
      const decision = await step.waitForApproval('release', {
        title: 'Release the payment',
        approvers: { department: 'finance' },
        deadline: '7d',
        show: { amount: input.amount, note: 'as agreed' },
      });
      return [decision.approved, decision.outcome];
    },
  });
  const members = [person('anna', { departments: ['finance'] }, 'test'), person('otto', {}, 'test')];

  test('an approval, a rejection and an expiry are outcomes', async () => {
    const kit = createTestKit({ workflows: [asks], members });
    const runs = [];
    for (let i = 0; i < 3; i += 1) runs.push(await kit.start(asks, { amount: 100 }));
    const [approved, rejected, expired] = runs as [TestRun<unknown>, TestRun<unknown>, TestRun<unknown>];
    await kit.approve(approved, 'anna');
    await kit.reject(rejected, 'anna');
    await kit.advance('8d');
    expect(await Promise.all(runs.map((run) => kit.result(run)))).toEqual([
      [true, 'approve'],
      [false, 'reject'],
      [false, 'expired'],
    ]);
    expect(kit.history(expired)).toEqual(['release: failed']);
    expect(kit.run(expired).pendingApprovals).toBe(0);
  });

  test('A3 two requests at once are decided one by one', async () => {
    const twice = defineWorkflow({
      id: 'twice',
      run: ({ step }) =>
        Promise.all(
          ['one', 'two'].map(async (name) => (await step.waitForApproval(name, { approvers: { department: 'finance' } })).outcome),
        ),
    });
    const kit = createTestKit({ workflows: [twice], members, concurrent: true });
    const run = await kit.start(twice, null);
    await kit.reject(run, 'anna', { step: 'two' });
    expect(kit.history(run)).toEqual(['one: waiting', 'two: succeeded']);
    await kit.approve(run, 'anna');
    expect(await kit.result(run)).toEqual(['approve', 'reject']);
  });

  test('a request that nobody may decide fails the step at once', async () => {
    const kit = createTestKit({ workflows: [asks], members: [person('otto', {}, 'test')] });
    await expect(kit.result(await kit.start(asks, { amount: 1 }))).rejects.toThrow('approval.no_eligible');
  });
});

describe('documents of the team', () => {
  const watches = defineWorkflow({
    id: 'watches',
    run: ({ step }) =>
      step.waitForDocument<{ status: string }>('orders/7', (order) => order?.['status'] === 'paid', { timeout: '2d', every: '10m' }),
  });

  test('true now counts', async () => {
    const kit = createTestKit({ workflows: [watches], documents: { 'orders/7': { status: 'paid' } } });
    expect(await kit.result(await kit.start(watches, null))).toEqual({ status: 'paid' });
  });

  test('looks again by itself, and at once when a trigger tells of a change', async () => {
    const kit = createTestKit({ workflows: [watches] });
    const [polled, told] = [await kit.start(watches, null), await kit.start(watches, null)];
    await kit.setDocument('orders/7', { status: 'open' });
    await kit.sendEvent('document:orders/7', null, { runId: told.runId });
    expect(kit.waitingAt(told)).toHaveLength(1);
    await kit.setDocument('orders/7', { status: 'paid' });
    await kit.sendEvent('document:orders/7', null, { runId: told.runId });
    expect(await kit.result(told)).toEqual({ status: 'paid' });
    expect(kit.waitingAt(polled)).toHaveLength(1);
    await kit.advance('10m');
    expect(await kit.result(polled)).toEqual({ status: 'paid' });
    expect(openWaits(kit)).toEqual([]);
  });

  test('null when the time is over, with no wait left open', async () => {
    const kit = createTestKit({ workflows: [watches] });
    const run = await kit.start(watches, null);
    await kit.advance('2d');
    expect(await kit.result(run)).toBeNull();
    expect(openWaits(kit)).toEqual([]);
  });
});

describe('other runs', () => {
  const child = defineWorkflow({
    id: 'child',
    input: z.object({ n: z.number() }),
    async run({ input, step }) {
      if (input.n < 0) throw new BusinessException('negative', { n: input.n });
      await step.sleep('a-while', '1h');
      return input.n * 2;
    },
  });
  const parent = defineWorkflow({
    id: 'parent',
    input: z.object({ n: z.number() }),
    run: ({ input, step }) => step.invoke('double', child, { n: input.n }),
  });

  test('invoke waits for the output of a child; its business exception comes through', async () => {
    const kit = createTestKit({ workflows: [child, parent] });
    const [good, bad] = [await kit.start(parent, { n: 4 }), await kit.start(parent, { n: -1 })];
    await kit.advance('1h');
    expect(await kit.result(good)).toBe(8);
    await expect(kit.result(bad)).rejects.toThrow(RunNotCompleted);
    expect(kit.run(bad).error).toMatchObject({ code: 'negative', class: 'business' });
  });

  test('H7 cancelling the parent cancels the child', async () => {
    const kit = createTestKit({ workflows: [child, parent] });
    const run = await kit.start(parent, { n: 4 });
    await kit.command(run, 'cancel');
    const statuses = [...kit.host.store.all()].filter((doc) => /\/runs\/[^/]+$/.test(doc.path)).map((doc) => doc.data['status']);
    expect(statuses).toEqual(['cancelled', 'cancelled']);
  });

  test('invoke takes a graph workflow; a graph workflow takes a code workflow', async () => {
    const caller = defineWorkflow({ id: 'caller', run: ({ step }) => step.invoke<{ text: string }>('graph', 'greets', { name: 'Ann' }) });
    const graphs = {
      greets: { steps: [{ id: 'say', type: 'transform', value: { text: 'Hello {{workflow_input.name}}' } }] },
      calls: { steps: [{ id: 'twice', type: 'subworkflow', workflow: 'child', inputs: { n: 5 } }] },
    };
    const kit = createTestKit({ workflows: [caller, child], definitions: graphs });
    expect(await kit.result(await kit.start(caller, null))).toEqual({ text: 'Hello Ann' });
    const run = await kit.start('calls');
    await kit.advance('1h');
    expect(await kit.result(run)).toBe(10);
  });

  test('startRun starts one run, however often it is attempted', async () => {
    const starter = defineWorkflow({ id: 'starter', run: ({ step }) => step.startRun('other', child, { n: 1 }) });
    const kit = createTestKit({ workflows: [starter, child] });
    const run = await kit.start(starter, null);
    const { runId } = await kit.result(run);
    expect(kit.run({ runId, workflow: child })).toMatchObject({
      workflowId: 'child',
      startedBy: { kind: 'run', id: run.runId },
      chainDepth: 1,
    });
  });
});

function openWaits(kit: TestKit): string[] {
  return [...kit.host.store.all()].filter((doc) => doc.path.includes('/waits/') && doc.data['state'] === 'open').map((doc) => doc.path);
}
