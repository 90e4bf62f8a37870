import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import { KilnError } from '../model/errors.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, member, Operations } from '../testing/operations.testing.ts';
import { attendReconciliation, followReconciliation } from './reconciliation.ts';

const MINUTE = 60_000;
/** The system of record. */
const ledger = new Map<string, Json>();
let onLook: () => void = () => undefined;
let looks = 0;

const pay = defineAction({
  name: 'pay',
  input: z.looseObject({ id: z.string(), amount: z.number() }),
  output: z.json(),
  run: ({ id, amount }) => {
    ledger.set(id, { amount, status: 'booked' });
    return { id, amount };
  },
});
const lookUp = defineAction({
  name: 'look_up',
  input: z.looseObject({ id: z.string() }),
  output: z.json(),
  readOnly: true,
  run: ({ id }) => {
    looks += 1;
    onLook();
    return ledger.get(id) ?? null;
  },
});

const workflow = (more: object = {}): object => ({
  steps: [{ id: 'pay', type: 'action', action: 'pay', inputs: { id: '{{workflow_input.id}}', amount: 100 } }],
  reconcile: {
    check: { type: 'action', action: 'look_up', inputs: { id: '{{step.pay.id}}' } },
    expect: 'found.status == "booked" && found.amount == output.amount',
    after: '5m',
    retryEvery: '5m',
    giveUpAfter: '20m',
    ...more,
  },
});

let ops: Operations;

beforeEach(() => {
  ledger.clear();
  onLook = () => undefined;
  looks = 0;
  ops = new Operations({ actions: [pay, lookUp], followers: [followReconciliation] });
});

/** Time passes as the reconciler sees it. */
async function pass(minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i += 1) {
    await ops.host.advance(MINUTE);
    await ops.reconcile();
  }
}

describe('a completed run', () => {
  test('is reconciled once the target system agrees', async () => {
    await ops.publish('wf', workflow());
    const run = await ops.start('wf', { id: 'p1' });
    expect(ops.run(run)).toMatchObject({ status: 'completed', reconciliation: 'pending' });
    await pass(4);
    expect(looks).toBe(0);
    await pass(2);
    expect(ops.run(run)).toMatchObject({ status: 'completed', reconciliation: 'reconciled' });
    expect(looks).toBe(1);
    await pass(30);
    expect(looks).toBe(1);
  });

  test('whose target accepted the call and later shows another value ends in mismatch, with both sides for a person', async () => {
    await ops.hire(member('op', ['operator']));
    await ops.publish('wf', workflow());
    const run = await ops.start('wf', { id: 'p1' });
    ledger.set('p1', { amount: 90, status: 'booked' });
    await pass(40);
    expect(ops.run(run)).toMatchObject({ status: 'completed', reconciliation: 'mismatch' });
    expect(looks).toBe(5);
    const [exception] = ops.docs('exceptions');
    expect(exception).toMatchObject({ kind: 'mismatch', runId: run, state: 'open' });
    expect(JSON.parse(String(exception?.['expected']))).toEqual({ id: 'p1', amount: 100 });
    expect(JSON.parse(String(exception?.['found']))).toEqual({ amount: 90, status: 'booked' });
    expect(ops.sent.map(({ subject }) => subject)).toEqual(['The outcome of wf differs in the target system']);
  });

  test('what a sensitive check found is compared, and kept nowhere', async () => {
    const check = { type: 'action', action: 'look_up', inputs: { id: '{{step.pay.id}}' }, sensitive: true };
    await ops.publish('wf', workflow({ check }));
    const run = await ops.start('wf', { id: 'p1' });
    ledger.set('p1', { amount: 90, status: 'in the account of somebody' });
    await pass(40);
    expect(ops.run(run).reconciliation).toBe('mismatch');
    expect(JSON.stringify([...ops.host.store.all()])).not.toContain('in the account of somebody');
  });

  test('is tried again while the target is slow to agree, or cannot be asked', async () => {
    await ops.publish('wf', workflow());
    const run = await ops.start('wf', { id: 'p1' });
    ledger.set('p1', { amount: 100, status: 'in process' });
    onLook = () => {
      if (looks === 2) throw new KilnError('http.server_error', '503');
      if (looks === 3) ledger.set('p1', { amount: 100, status: 'booked' });
    };
    await pass(30);
    expect(looks).toBe(3);
    expect(ops.run(run).reconciliation).toBe('reconciled');
    expect(ops.docs('exceptions')).toEqual([]);
  });

  test('that cannot be checked at all is a mismatch that says so', async () => {
    await ops.publish('wf', workflow());
    const run = await ops.start('wf', { id: 'p1' });
    onLook = () => {
      throw new KilnError('http.connection', 'nobody answers');
    };
    await pass(40);
    expect(ops.run(run).reconciliation).toBe('mismatch');
    expect(ops.docs('exceptions')).toMatchObject([{ text: 'The outcome could not be looked up: nobody answers' }]);
  });

  test('a difference is accepted by a person, or fixed and checked again', async () => {
    await ops.publish('wf', workflow());
    const accepted = await ops.start('wf', { id: 'p1' });
    const fixed = await ops.start('wf', { id: 'p2' });
    ledger.clear();
    await pass(40);
    expect(await ops.command(accepted, 'accept_mismatch', { reason: 'paid in cash' })).toMatchObject({ status: 'done' });
    ledger.set('p2', { amount: 100, status: 'booked' });
    await ops.command(fixed, 'retry');
    await pass(2);
    expect([ops.run(accepted).reconciliation, ops.run(fixed).reconciliation]).toEqual(['accepted', 'reconciled']);
    expect(ops.docs('exceptions').map((doc) => [doc['runId'], doc['state'], doc['by']])).toEqual([
      [accepted, 'accepted', 'op'],
      [fixed, 'fixed', undefined],
    ]);
    expect(await ops.command(accepted, 'accept_mismatch')).toMatchObject({ status: 'refused' });
  });

  test('is checked again each night where that is declared, and a later difference is found', async () => {
    await ops.publish('wf', workflow({ nightly: true }));
    const run = await ops.start('wf', { id: 'p1' });
    await pass(6);
    expect(ops.run(run).reconciliation).toBe('reconciled');
    ledger.set('p1', { amount: 100, status: 'reversed' });
    await pass(20);
    expect(ops.run(run).reconciliation).toBe('reconciled');
    await ops.host.advance(24 * 60 * MINUTE);
    await ops.reconcile();
    expect(ops.run(run).reconciliation).toBe('mismatch');
  });

  test('a check that two instances make at once is made by one', async () => {
    await ops.publish('wf', workflow({ after: 0 }));
    const run = await ops.start('wf', { id: 'p1' });
    await Promise.all([attendReconciliation(ops.runtime, ACCOUNT, run), attendReconciliation(ops.runtime, ACCOUNT, run)]);
    expect(looks).toBe(1);
    await followReconciliation(ops.runtime, ops.run(run));
    expect(ops.run(run).reconciliation).toBe('reconciled');
  });

  test('a run that failed is not checked', async () => {
    await ops.publish('wf', { ...workflow(), steps: [{ id: 'pay', type: 'fail', code: 'no' }] });
    const run = await ops.start('wf', { id: 'p1' });
    expect(ops.run(run).reconciliation).toBeUndefined();
    expect(ops.docs('reconciliations')).toEqual([]);
  });
});
