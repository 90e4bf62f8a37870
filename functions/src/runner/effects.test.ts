import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { effectId } from '../ledger/effects.ts';
import type { StoreOperation } from '../ledger/memory-store.ts';
import { effectRecordSchema } from '../model/effect.ts';
import { BusinessException, KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { defineAction } from '../steps/action-registry.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';

/** The target: payments by idempotency key as they were really made. */
const payments: { readonly invoice: string; readonly idempotencyKey: string }[] = [];
let refuse: Error | undefined;
let gate: Promise<void> | undefined;
let crash = false;

const pay = defineAction({
  name: 'pay',
  input: z.object({ invoice: z.string() }),
  output: z.json(),
  run: async ({ invoice }, { idempotencyKey }) => {
    if (refuse !== undefined) throw refuse;
    payments.push({ invoice, idempotencyKey });
    const n = payments.length;
    await gate;
    return { payment: `P${n}` };
  },
});
const findPayment = defineAction({
  name: 'findPayment',
  input: z.object({ invoice: z.string() }),
  output: z.json(),
  readOnly: true,
  run: ({ invoice }) => {
    const n = payments.findIndex((payment) => payment.invoice === invoice);
    return n === -1 ? { payment: null } : { payment: `P${n + 1}` };
  },
});

const inputs = { invoice: '{{workflow_input.invoice}}' };
const step = { id: 'pay', type: 'action', action: 'pay', inputs, effectKey: 'payment:{{workflow_input.invoice}}' };
const confirm = { type: 'action', action: 'findPayment', inputs, happened: 'output.payment != null' };

/** The process dies when it is about to record the result of the payment. */
function before(operation: StoreOperation): Promise<void> {
  const records =
    operation.kind === 'commit' &&
    operation.writes.some((write) => write.op === 'update' && 'state' in write.data && write.data.state === 'succeeded');
  if (!crash || !records) return Promise.resolve();
  crash = false;
  return Promise.reject(new Error('the process died'));
}

function kitFor(definitions: Record<string, object>): TestKit {
  return createTestKit({ definitions, actions: [pay, findPayment], hooks: { before } });
}

function effectOf(kit: TestKit, invoice: string) {
  const doc = kit.document(paths.effect('test', effectId(`payment:${invoice}`)));
  return doc === undefined ? undefined : effectRecordSchema.parse(doc);
}

beforeEach(() => {
  payments.length = 0;
  refuse = undefined;
  gate = undefined;
  crash = false;
});

describe('the effects ledger', () => {
  test('the same business key in another run yields the recorded result and counts what was prevented', async () => {
    const kit = kitFor({ wf: { steps: [step] } });
    const first = await kit.start('wf', { invoice: 'R1' });
    const second = await kit.start('wf', { invoice: 'R1' });
    const other = await kit.start('wf', { invoice: 'R2' });
    expect(await Promise.all([first, second, other].map((run) => kit.result(run)))).toEqual([
      { payment: 'P1' },
      { payment: 'P1' },
      { payment: 'P2' },
    ]);
    expect(payments.map(({ invoice }) => invoice)).toEqual(['R1', 'R2']);
    expect(effectOf(kit, 'R1')).toMatchObject({ state: 'settled', runId: first.runId, prevented: 1 });
    expect(kit.step(second, 'pay')).toMatchObject({ attempt: 0, details: expect.stringContaining(first.runId) as string });
    expect(kit.step(second, 'pay').details).not.toContain('differs');
  });

  test('another request under the same key gets the recorded result, and that it differs is shown', async () => {
    const kit = kitFor({ wf: { steps: [{ ...step, effectKey: 'payment:all' }] } });
    await kit.start('wf', { invoice: 'R1' });
    const second = await kit.start('wf', { invoice: 'R2' });
    expect(await kit.result(second)).toEqual({ payment: 'P1' });
    expect(kit.step(second, 'pay').details).toContain('"differs":true');
  });

  test('while one run is at it, another waits without holding anything, and gets the result', async () => {
    const kit = kitFor({ wf: { steps: [step] } });
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const starting = kit.start('wf', { invoice: 'R1' });
    await expect.poll(() => payments.length).toBe(1);
    const { startRun } = await import('./runs.ts');
    const { attendRun } = await import('./runs.ts');
    const { attend } = await import('./attend.ts');
    const { runId } = await startRun(kit.runtime, {
      accountId: 'test',
      workflowId: 'wf',
      input: { invoice: 'R1' },
      startedBy: { kind: 'user', id: 'u' },
    });
    await attendRun(kit.runtime, { accountId: 'test', runId });
    await attend(kit.runtime, { accountId: 'test', runId, key: 'pay' }, { kind: 'reconciler' });
    const second = { runId, workflow: { id: 'wf' } };
    expect(kit.step(second, 'pay')).toMatchObject({ state: 'waiting', wait: { kind: 'slot', limit: 'effect' }, attempt: 0 });
    resolve();
    await starting;
    await kit.advance('10s');
    expect(await kit.result(second)).toEqual({ payment: 'P1' });
    expect(payments).toHaveLength(1);
  });

  test('a failure that did nothing gives the key back', async () => {
    const kit = kitFor({ wf: { steps: [step] } });
    for (const error of [new KilnError('http.client_error', 'no'), new BusinessException('insufficient_funds')]) {
      refuse = error;
      const failed = await kit.start('wf', { invoice: 'R1' });
      expect(kit.run(failed).status).toBe('failed');
      expect(effectOf(kit, 'R1')).toBeUndefined();
    }
    refuse = new KilnError('http.server_error', 'later');
    const retried = await kit.start('wf', { invoice: 'R1' });
    expect(kit.step(retried, 'pay').state).toBe('waiting');
    expect(effectOf(kit, 'R1')).toBeUndefined();
    refuse = undefined;
    await kit.advance('10s');
    expect(await kit.result(retried)).toEqual({ payment: 'P1' });
    expect(effectOf(kit, 'R1')).toMatchObject({ state: 'settled', attempt: 2 });
  });

  test('after a failure that says nothing about the effect, the next run asks a person', async () => {
    const kit = kitFor({ wf: { steps: [step] } });
    refuse = new Error('socket hang up in the team’s own code');
    const failed = await kit.start('wf', { invoice: 'R1' });
    expect(effectOf(kit, 'R1')).toMatchObject({ state: 'unknown', runId: failed.runId });
    refuse = undefined;
    const next = await kit.start('wf', { invoice: 'R1' });
    expect(kit.step(next, 'pay')).toMatchObject({
      state: 'unresolved',
      error: { code: 'effect.unknown', message: expect.stringContaining(failed.runId) as string },
    });
    expect(payments).toEqual([]);
  });

  test('duplicate delivery, crash after the call, replay: one payment, with a check that looks it up', async () => {
    const kit = kitFor({ wf: { steps: [{ ...step, confirm }] } });
    crash = true;
    await expect(kit.start('wf', { invoice: 'R1' })).rejects.toThrow('the process died');
    const [stuck] = [...kit.host.store.all()].filter((doc) => doc.path.endsWith('/steps/pay'));
    expect(stuck?.data['state']).toBe('running');
    const run = { runId: String(stuck?.data['runId']), workflow: { id: 'wf' } };
    // The lease runs out; the reconciler finds it, the next attempt looks before it acts.
    await kit.advance('2m');
    await kit.reconcile();
    await kit.advance('1m');
    expect(await kit.result(run)).toEqual({ payment: 'P1' });
    expect(kit.step(run, 'pay')).toMatchObject({ attempt: 2, details: '{"confirmed":true}' });
    // Delivered again by its sender, and started again by a person: both get what is recorded.
    await kit.start('wf', { invoice: 'R1' });
    await kit.start('wf', { invoice: 'R1' });
    expect(payments).toHaveLength(1);
    expect(effectOf(kit, 'R1')).toMatchObject({ state: 'settled', prevented: 2 });
  });

  test('what the check does not find is done', async () => {
    const kit = kitFor({ wf: { steps: [{ ...step, confirm }] } });
    refuse = new KilnError('http.interrupted', 'the connection broke');
    const run = await kit.start('wf', { invoice: 'R1' });
    expect(effectOf(kit, 'R1')).toMatchObject({ state: 'claimed' });
    refuse = undefined;
    await kit.advance('10s');
    expect(await kit.result(run)).toEqual({ payment: 'P1' });
    expect(payments).toHaveLength(1);
  });

  test('without a check, a person settles it; until then others wait', async () => {
    const kit = kitFor({ wf: { steps: [step] } });
    refuse = new KilnError('http.interrupted', 'the connection broke');
    const run = await kit.start('wf', { invoice: 'R1' });
    expect(kit.step(run, 'pay').state).toBe('unresolved');
    expect(effectOf(kit, 'R1')).toMatchObject({ state: 'unknown' });
    refuse = undefined;
    const next = await kit.start('wf', { invoice: 'R1' });
    expect(kit.step(next, 'pay')).toMatchObject({ state: 'waiting', wait: { kind: 'slot', limit: 'effect' } });
    await kit.command(run, 'cancel');
    expect(effectOf(kit, 'R1')).toMatchObject({ state: 'unknown' });
    await kit.advance('2m');
    expect(kit.step(next, 'pay')).toMatchObject({ state: 'unresolved', error: { code: 'effect.unknown' } });
    // As long as nobody has settled it, trying again comes to the same.
    await kit.command(next, 'retry', 'once more', 'pay');
    expect(kit.step(next, 'pay')).toMatchObject({ state: 'unresolved', error: { code: 'effect.unknown' } });
    expect(payments).toEqual([]);
  });

  test('the target gets the same idempotency key in every run', async () => {
    const kit = kitFor({ wf: { steps: [step] }, loose: { steps: [{ id: 'pay', type: 'action', action: 'pay', inputs }] } });
    await kit.start('wf', { invoice: 'R1' });
    await kit.host.store.commit([{ op: 'delete', path: paths.effect('test', effectId('payment:R1')) }]);
    await kit.start('wf', { invoice: 'R1' });
    await kit.start('loose', { invoice: 'R1' });
    await kit.start('loose', { invoice: 'R1' });
    const [first, again, loose, other] = payments.map(({ idempotencyKey }) => idempotencyKey);
    expect(again).toBe(first);
    expect(new Set([first, loose, other]).size).toBe(3);
  });

  test('a key may be a number, but not nothing', async () => {
    const kit = kitFor({ wf: { steps: [{ ...step, effectKey: '{{workflow_input.key}}' }] } });
    expect(await kit.result(await kit.start('wf', { invoice: 'R1', key: 17 }))).toEqual({ payment: 'P1' });
    expect(kit.document(paths.effect('test', effectId('17')))).toMatchObject({ state: 'settled' });
    for (const key of [null, '', {}, false]) {
      const run = await kit.start('wf', { invoice: 'R2', key });
      expect(kit.step(run, 'pay')).toMatchObject({ state: 'failed', error: { code: 'request.invalid' } });
    }
    expect(payments).toHaveLength(1);
  });
});
