import { Timestamp } from '@google-cloud/firestore';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { recordChange } from '../ledger/documents.ts';
import type { DocumentChange } from '../ledger/documents.ts';
import { attendEvent } from '../ledger/events.ts';
import { putHook, putHookInput } from '../ledger/hooks.ts';
import { attendSchedule, deleteSchedule, putSchedule, putScheduleInput } from '../ledger/schedules.ts';
import { eventRecordSchema } from '../model/event.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { scheduleRecordSchema } from '../model/schedule.ts';
import type { ScheduleRecord } from '../model/schedule.ts';
import { signWebhook } from '../services/webhooks/sign.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { receiveHook } from '../triggers/hooks.ts';
import type { HookAnswer } from '../triggers/hooks.ts';
import { defineWorkflow, standardWebhooks, triggers } from './api.ts';
import type { AnyCodeWorkflow } from './define-workflow.ts';

const KEY = `whsec_${Buffer.from('a signing key of thirty-two byte').toString('base64')}`;
const actor = { accountId: 'test', uid: 'ada' };

function runsOf(kit: TestKit, workflowId?: string): readonly RunRecord[] {
  return [...kit.host.store.all()]
    .filter(({ path }) => /^accounts\/test\/runs\/[^/]+$/.test(path))
    .map(({ data }) => runRecordSchema.parse(data))
    .filter((run) => workflowId === undefined || run.workflowId === workflowId);
}

describe('a workflow that an event starts', () => {
  const booked = defineWorkflow({
    id: 'booked',
    trigger: triggers.event('paid', {
      match: 'event.payload.amount > 10',
      payload: z.object({ amount: z.number().transform((n) => n * 100) }),
    }),
    run: ({ event }) => event.payload.amount,
  });
  const told = defineWorkflow({ id: 'told', trigger: triggers.event('paid'), run: () => 'told' });

  test('runs once for each event, however often that is attended; each workflow that declares it has its own', async () => {
    const kit = createTestKit({ workflows: [booked, told] });
    await kit.sendEvent('paid', { amount: 42 }, { eventId: 'e1' });
    await kit.host.store.commit([{ op: 'update', path: paths.event('test', 'e1'), data: { state: 'new' } }]);
    await attendEvent(kit.runtime, 'test', 'e1');
    await kit.host.settle();
    expect(runsOf(kit).map(({ workflowId }) => workflowId)).toEqual(['booked', 'told']);
    expect(runsOf(kit, 'booked')[0]).toMatchObject({
      status: 'completed',
      startedBy: { kind: 'event', id: 'paid' },
      startKey: 'event:e1',
      output: { json: '4200' },
    });
    expect(runsOf(kit, 'booked')[0]?.tainted).toBeUndefined();
  });

  test('is started by no event that does not match, nor by one that is addressed to a run', async () => {
    const kit = createTestKit({ workflows: [booked] });
    await kit.sendEvent('paid', { amount: 1 });
    await kit.sendEvent('refunded', { amount: 42 });
    await kit.sendEvent('paid', { amount: 42 }, { runId: 'another' });
    expect(runsOf(kit)).toEqual([]);
  });

  test('a payload that does not fit is a run that is rejected, with what is wrong', async () => {
    const loose = defineWorkflow({
      id: 'loose',
      trigger: triggers.event('paid', { payload: z.object({ amount: z.number() }) }),
      run: () => 1,
    });
    const kit = createTestKit({ workflows: [loose] });
    await kit.sendEvent('paid', { amount: 'much' });
    expect(runsOf(kit)[0]).toMatchObject({ status: 'rejected', problems: expect.stringContaining('input/amount') as string });
  });

  test('the newest version is what is started', async () => {
    const two = defineWorkflow({ id: 'told', version: 2, trigger: triggers.event('heard'), run: () => 'heard' });
    const kit = createTestKit({ workflows: [told, two] });
    await kit.sendEvent('paid');
    await kit.sendEvent('heard');
    expect(runsOf(kit).map(({ version }) => version)).toEqual([2]);
  });

  test('runs that start each other end with the limit of their chain, and the event says why', async () => {
    const circle = defineWorkflow({
      id: 'circle',
      trigger: triggers.event('round'),
      run: async ({ step }) => step.sendEvent('again', { event: 'round' }),
    });
    const kit = createTestKit({ workflows: [circle] });
    await kit.sendEvent('round');
    expect(runsOf(kit).map(({ chainDepth }) => chainDepth)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    const events = [...kit.host.store.all()]
      .filter(({ path }) => /\/events\/[^/]+$/.test(path))
      .map(({ data }) => eventRecordSchema.parse(data));
    expect(events.map(({ state, error }) => [state, error?.includes('chain') ?? false]).at(-1)).toEqual(['handled', true]);
  });

  test('a trigger that could not be is found where it is declared', () => {
    expect(() => defineWorkflow({ id: 'x', trigger: triggers.event('paid', { match: 'event.payload.' }), run: () => 1 })).toThrow('match');
    expect(() => defineWorkflow({ id: 'x', trigger: triggers.schedule('0 25 * * *', 'UTC', { accounts: ['a'] }), run: () => 1 })).toThrow(
      'cron',
    );
    expect(() => defineWorkflow({ id: 'x', trigger: triggers.schedule('@daily', 'UTC', { accounts: [] }), run: () => 1 })).toThrow(
      'accounts',
    );
    expect(() => defineWorkflow({ id: 'x', trigger: triggers.schedule('@daily', 'UTC', { accounts: ['a/b'] }), run: () => 1 })).toThrow(
      'a/b',
    );
  });
});

describe('what has come from outside', () => {
  const reader = defineWorkflow({
    id: 'reader',
    trigger: triggers.webhook({ kind: 'standard' }),
    async run({ step }) {
      await step.sendEvent('publish', { event: 'news' });
      const { runId } = await step.startRun('beside', 'child', null);
      await step.invoke('below', 'child', null);
      return runId;
    },
  });
  const child = defineWorkflow({ id: 'child', run: () => 'done' });
  const heard = defineWorkflow({ id: 'heard', trigger: triggers.event('news'), run: () => 'heard' });
  const waits = defineWorkflow({
    id: 'waits',
    run: ({ step }) => step.waitForEvent('wait', { event: 'news', lookback: '1h', timeout: '1d' }),
  });

  test.each([true, false])('marks the runs that it reaches: events, detached runs, children (%s)', async (tainted) => {
    const kit = createTestKit({ workflows: [reader, child, heard, waits] });
    await kit.start(waits, null);
    await kit.start(reader, null, { startedBy: { kind: 'webhook', id: 'in' }, ...(tainted ? { tainted } : {}) });
    const late = await kit.start(waits, null);
    expect(runsOf(kit).map(({ workflowId, status }) => [workflowId, status])).toEqual([
      ['waits', 'completed'],
      ['reader', 'completed'],
      ['heard', 'completed'],
      ['child', 'completed'],
      ['child', 'completed'],
      ['waits', 'completed'],
    ]);
    expect(kit.run(late).status).toBe('completed');
    expect(runsOf(kit).map((run) => run.tainted === true)).toEqual([tainted, tainted, tainted, tainted, tainted, tainted]);
  });

  test('an event of a run that is gone counts as from outside', async () => {
    const kit = createTestKit({ workflows: [reader, child, heard, waits] });
    const sender = await kit.start(reader, null);
    await kit.host.store.commit([{ op: 'delete', path: paths.run('test', sender.runId) }]);
    expect(kit.run(await kit.start(waits, null)).tainted).toBe(true);
  });
});

describe('a workflow that a webhook starts', () => {
  const signups = defineWorkflow({
    id: 'signups',
    trigger: standardWebhooks.on('user.created', z.object({ id: z.string() })),
    run: ({ event }) => event.payload.data.id,
  });

  async function kitWith(workflow: AnyCodeWorkflow, scheme: object): Promise<TestKit> {
    const kit = createTestKit({ workflows: [workflow], services: { secrets: { get: () => KEY } } });
    const hook = { hookId: 'in', scheme, keys: ['KEY'], target: { kind: 'start', workflowId: workflow.id } };
    await putHook(kit.runtime, actor, putHookInput.parse(hook));
    return kit;
  }

  async function deliver(kit: TestKit, type: string): Promise<HookAnswer> {
    const body = JSON.stringify({ type, timestamp: '2026-01-01T00:00:00Z', data: { id: 'u1' } });
    const headers = signWebhook({ id: type.replace('.', '-'), timestamp: kit.now, body, keys: [KEY] });
    const answer = await receiveHook(kit.runtime, { accountId: 'test', hookId: 'in', headers, rawBody: Buffer.from(body) });
    await kit.host.settle();
    return answer;
  }

  test('takes the deliveries whose names it declares, at a hook that names it', async () => {
    const kit = await kitWith(signups, { kind: 'standard' });
    expect(await deliver(kit, 'user.deleted')).toMatchObject({ status: 202, body: { ignored: true } });
    expect(await deliver(kit, 'user.created')).toMatchObject({ status: 202, body: { duplicate: false } });
    expect(runsOf(kit)).toMatchObject([{ status: 'completed', tainted: true, output: { json: '"u1"' } }]);
  });

  test('is not connected to an address of other senders', async () => {
    await expect(kitWith(signups, { kind: 'github' })).rejects.toThrow('standard');
  });
});

describe('a workflow that a schedule starts', () => {
  const nightly = (cron: string, overlap: 'skip' | 'parallel' = 'skip'): AnyCodeWorkflow =>
    defineWorkflow({
      id: 'nightly',
      trigger: triggers.schedule(cron, 'Europe/Zurich', { accounts: ['test'], overlap }),
      async run({ event, step }) {
        await step.sleep('work', '90m');
        return event.payload.scheduledFor;
      },
    });

  function schedules(kit: TestKit): readonly ScheduleRecord[] {
    return [...kit.host.store.all()].filter(({ path }) => path.includes('/schedules/')).map(({ data }) => scheduleRecordSchema.parse(data));
  }

  async function minutes(kit: TestKit, count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      await kit.advance('1m');
      await kit.reconcile();
    }
  }

  test('runs once for each occurrence, which is its payload; one beside another only where it says so', async () => {
    const skipping = createTestKit({ workflows: [nightly('0 * * * *')], now: '2026-01-01T00:30:00Z' });
    await minutes(skipping, 130);
    expect(runsOf(skipping)).toMatchObject([{ status: 'completed', output: { json: '"2026-01-01T01:00:00.000Z"' } }]);
    expect(schedules(skipping)).toMatchObject([{ declared: true, skipped: 1, workflowId: 'nightly', updatedBy: 'code' }]);
    const beside = createTestKit({ workflows: [nightly('0 * * * *', 'parallel')], now: '2026-01-01T00:30:00Z' });
    await minutes(beside, 130);
    expect(runsOf(beside)).toHaveLength(2);
  });

  test('follows the code: a changed time at once, a trigger that is gone by going', async () => {
    const kit = createTestKit({ workflows: [nightly('0 2 * * *')], now: '2026-01-01T00:30:00Z' });
    await minutes(kit, 1);
    kit.deploy([nightly('0 3 * * *')]);
    await minutes(kit, 1);
    expect(schedules(kit)).toMatchObject([{ cron: '0 3 * * *', nextAt: Date.parse('2026-01-01T02:00:00Z') }]);
    kit.deploy([defineWorkflow({ id: 'nightly', run: () => 1 })]);
    await minutes(kit, 90);
    expect(schedules(kit)).toEqual([]);
    expect(runsOf(kit)).toEqual([]);
  });

  test('what was stored by old code starts nothing by it', async () => {
    const kit = createTestKit({ workflows: [nightly('0 2 * * *')], now: '2026-01-01T00:30:00Z' });
    await minutes(kit, 1);
    const [{ scheduleId } = { scheduleId: '' }] = schedules(kit);
    kit.deploy([nightly('0 3 * * *')]);
    await kit.advance('31m');
    // Before anybody compared what is stored with the new code.
    await attendSchedule(kit.runtime, 'test', scheduleId);
    expect(schedules(kit)).toMatchObject([{ cron: '0 3 * * *', nextAt: Date.parse('2026-01-01T02:00:00Z') }]);
    expect(runsOf(kit)).toEqual([]);
  });

  test('can be paused by an operator, and is otherwise the code’s', async () => {
    const kit = createTestKit({ workflows: [nightly('0 2 * * *')], now: '2026-01-01T00:30:00Z' });
    await minutes(kit, 1);
    const [{ scheduleId } = { scheduleId: '' }] = schedules(kit);
    const as = (fields: object) =>
      putScheduleInput.parse({ scheduleId, workflowId: 'nightly', cron: '0 2 * * *', timeZone: 'Europe/Zurich', ...fields });
    await expect(putSchedule(kit.runtime, actor, as({ cron: '* * * * *' }))).rejects.toThrow('the code declares');
    await expect(deleteSchedule(kit.runtime, actor, scheduleId)).rejects.toThrow('the code declares');
    await putSchedule(kit.runtime, actor, as({ active: false }));
    await minutes(kit, 60);
    expect(runsOf(kit)).toEqual([]);
    expect(schedules(kit)).toMatchObject([{ active: false, declared: true }]);
  });
});

describe('a workflow that a document starts', () => {
  const intake = defineWorkflow({
    id: 'intake',
    trigger: triggers.document<{ total: number; at: string }>('orders/{orderId}'),
    run: ({ event: { payload } }) => `${payload.params['orderId'] ?? ''}: ${payload.data.total} ${payload.data.at}`,
  });
  const watches = defineWorkflow({
    id: 'watches',
    run: ({ step }) => step.waitForDocument<{ paid: boolean }>('orders/o1', (order) => order?.['paid'] === true, { timeout: '2d' }),
  });
  const change: DocumentChange = {
    id: 'c1',
    accountId: 'test',
    path: 'orders/o1',
    pattern: 'orders/{orderId}',
    params: { orderId: 'o1' },
    change: 'created',
    data: { total: 7, at: Timestamp.fromMillis(0) },
    tainted: false,
  };

  async function record(kit: TestKit, fields: Partial<DocumentChange> = {}): Promise<void> {
    await recordChange(kit.runtime, { ...change, ...fields });
    await kit.host.settle();
  }

  test('runs once for each document that is created, however often its trigger comes', async () => {
    const kit = createTestKit({ workflows: [intake] });
    await record(kit);
    await record(kit);
    await record(kit, { id: 'c2', change: 'updated' });
    await record(kit, { id: 'c3', pattern: 'orders/{id}' });
    expect(runsOf(kit)).toMatchObject([{ status: 'completed', output: { json: '"o1: 7 1970-01-01T00:00:00.000Z"' } }]);
    await record(kit, { id: 'c4', path: 'orders/o2', params: { orderId: 'o2' }, tainted: true });
    expect(runsOf(kit)).toHaveLength(2);
    expect(runsOf(kit).map(({ tainted }) => tainted)).toEqual([undefined, true]);
  });

  test('wakes what waits for the document', async () => {
    const kit = createTestKit({ workflows: [watches] });
    const run = await kit.start(watches, null);
    await kit.setDocument('orders/o1', { paid: true });
    await record(kit, { change: 'updated' });
    expect(await kit.result(run)).toEqual({ paid: true });
  });
});
