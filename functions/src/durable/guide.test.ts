import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { person } from '../testing/person.ts';
import { createTestKit } from '../testing/test-kit.ts';
import { BusinessException, defineWorkflow, NonRetryable, RetryAfter, StepFailed, triggers } from './api.ts';

// Stand-ins for the systems of the snippets.
const crm = { find: (id: string) => Promise.resolve({ id, email: 'c@example.org', limit: 100 }) };
const payments = {
  charge: (_cents: number, _options: { idempotencyKey: string }) => Promise.resolve({ id: 'ch_1' }),
  refund: (_key: string, _options: { idempotencyKey: string }) => Promise.resolve(null),
};
const search = { a: () => Promise.resolve('a'), b: () => Promise.resolve('b') };

// #region first
const welcome = defineWorkflow({
  id: 'welcome',
  input: z.object({ customerId: z.string(), cents: z.number().int() }),
  async run({ input, step }) {
    const customer = await step.run('find-customer', () => crm.find(input.customerId));
    const charge = await step.run('charge', { retry: { maxAttempts: 5 } }, ({ idempotencyKey }) =>
      payments.charge(input.cents, { idempotencyKey }),
    );
    await step.sleep('cooldown', '24h');
    return { email: customer.email, charge: charge.id };
  },
});
// #endregion

// #region errors
const careful = defineWorkflow({
  id: 'careful',
  input: z.object({ cents: z.number() }),
  async run({ input, step }) {
    try {
      await step.run('charge', { retry: { maxAttempts: 3 } }, () => {
        if (input.cents < 0) throw new NonRetryable('a negative amount');
        if (input.cents === 0) throw new BusinessException('nothing_to_pay', { cents: input.cents });
        if (input.cents > 1_000) throw new RetryAfter(60);
      });
      return 'charged';
    } catch (error) {
      if (error instanceof BusinessException) return error.code;
      if (error instanceof StepFailed) return `${error.step}: ${error.message}`;
      throw error;
    }
  },
});
// #endregion

// #region parallel
const gathers = defineWorkflow({
  id: 'gathers',
  async run({ step }) {
    const [a, b] = await Promise.all([step.run('search-a', search.a), step.run('search-b', search.b)]);
    const { winner } = await step.race({
      paid: step.waitForEvent('paid', { event: 'order.paid', timeout: '30d' }),
      reminder: step.sleep('until-reminder', '7d'),
    });
    return [a, b, winner];
  },
});
// #endregion

// #region approval
const releases = defineWorkflow({
  id: 'releases',
  input: z.object({ cents: z.number() }),
  async run({ input, step }) {
    const decision = await step.waitForApproval('release', {
      title: 'Release the payment?',
      approvers: { department: 'finance' },
      deadline: '7d',
      show: { amount: input.cents },
    });
    if (!decision.approved) throw new BusinessException('not_released', { outcome: decision.outcome });
    return decision.outcome;
  },
});
// #endregion

// #region transaction
const takes = defineWorkflow({
  id: 'takes',
  input: z.object({ sku: z.string() }),
  run: ({ input, step }) =>
    step.transaction('take-one', async (tx) => {
      const stock = await tx.get(`stock/${input.sku}`);
      const left = Number(stock?.['left'] ?? 0);
      if (left === 0) throw new BusinessException('sold_out', { sku: input.sku });
      tx.update(`stock/${input.sku}`, { left: left - 1 });
      return left - 1;
    }),
});
// #endregion

// #region compensation
const pays = defineWorkflow({
  id: 'pays',
  async run({ step }) {
    // Before the step it undoes: also a charge that nobody knows the outcome of is refunded.
    step.onCompensate('refund', { retry: { maxAttempts: 10 } }, ({ idempotencyKey, idempotencyKeyOf }) =>
      payments.refund(idempotencyKeyOf('charge'), { idempotencyKey }),
    );
    await step.run('charge', ({ idempotencyKey }) => payments.charge(100, { idempotencyKey }));
    throw new BusinessException('changed_their_mind');
  },
});
// #endregion

// #region patched
const older = defineWorkflow({
  id: 'checks',
  async run({ step }) {
    await step.run('fetch', () => 'fetched');
    await step.sleep('cooldown', '1d');
    return step.run('send', () => 'sent');
  },
});

const newer = defineWorkflow({
  id: 'checks',
  async run({ step }) {
    await step.run('fetch', () => 'fetched');
    // Runs that are past this line go on without the check; all others have it.
    if (step.patched('check-first')) await step.run('check', () => 'checked');
    await step.sleep('cooldown', '1d');
    return step.run('send', () => 'sent');
  },
});
// #endregion

// #region triggers
const nightly = defineWorkflow({
  id: 'nightly',
  trigger: triggers.schedule('0 2 * * *', 'Europe/Zurich', { accounts: ['acme'], overlap: 'skip' }),
  run: ({ event }) => event.payload.scheduledFor,
});

const onOrder = defineWorkflow({
  id: 'on-order',
  trigger: triggers.document<{ total: number }>('orders/{orderId}'),
  run: ({ event }) => `${event.payload.params['orderId'] ?? ''}: ${event.payload.data.total}`,
});
// #endregion

describe('the guide to code workflows', () => {
  test('its snippets are what is tested here', () => {
    const source = readFileSync(import.meta.filename, 'utf8');
    const page = readFileSync(new URL('../../../docs/code-workflows.md', import.meta.url), 'utf8');
    const regions = new Map(
      [...source.matchAll(/^\s*\/\/ #region (\w+)\n([\s\S]*?)\n\s*\/\/ #endregion$/gm)].map(([, name, text]) => [name, dedent(text ?? '')]),
    );
    const shown = [...page.matchAll(/<!-- snippet: (\w+) -->\n+```ts\n([\s\S]*?)\n```/g)].map(([, name, text]) => [name, text] as const);
    expect(new Set(shown.map(([name]) => name))).toEqual(new Set(regions.keys()));
    for (const [name, text] of shown) expect(text).toBe(regions.get(name));
  });

  test('the first workflow, tested as the guide shows', async () => {
    // #region kit
    const kit = createTestKit({ workflows: [welcome] });
    kit.mockStep('find-customer', () => ({ email: 'ann@example.org' }));
    kit.failStep('charge', 2);

    const run = await kit.start(welcome, { customerId: 'c-1', cents: 500 });
    await kit.advance('1h');
    expect(kit.waitingAt(run)).toEqual(['cooldown']);
    await kit.advance('24h');

    expect(await kit.result(run)).toEqual({ email: 'ann@example.org', charge: 'ch_1' });
    expect(kit.history(run)).toEqual(['find-customer: succeeded', 'charge: succeeded after 3 attempts', 'cooldown: succeeded']);
    // #endregion
  });

  test.each([
    [500, 'charged'],
    [0, 'nothing_to_pay'],
    [-1, 'charge: a negative amount'],
  ])('errors: %i', async (cents, result) => {
    const kit = createTestKit({ workflows: [careful] });
    expect(await kit.result(await kit.start(careful, { cents }))).toBe(result);
  });

  test('errors: a target that asks to wait is asked again later', async () => {
    const kit = createTestKit({ workflows: [careful] });
    const run = await kit.start(careful, { cents: 5_000 });
    await kit.advance('59s');
    expect(kit.step(run, 'charge').attempt).toBe(1);
    await kit.advance('5m');
    expect(await kit.result(run)).toBe('charge: the target asked to wait');
  });

  test('steps at the same time, and a race', async () => {
    const kit = createTestKit({ workflows: [gathers] });
    const run = await kit.start(gathers, null);
    await kit.advance('7d');
    expect(await kit.result(run)).toEqual(['a', 'b', 'reminder']);
    expect(kit.step(run, 'paid').state).toBe('cancelled');
  });

  test('an approval', async () => {
    const kit = createTestKit({ workflows: [releases], members: [person('fred', { departments: ['finance'] }, 'test')] });
    const run = await kit.start(releases, { cents: 100 });
    await kit.approve(run, 'fred');
    expect(await kit.result(run)).toBe('approve');
  });

  test('a transaction', async () => {
    const kit = createTestKit({ workflows: [takes], documents: { 'stock/lamp': { left: 2 } } });
    expect(await kit.result(await kit.start(takes, { sku: 'lamp' }))).toBe(1);
    expect(kit.document('stock/lamp')).toEqual({ left: 1 });
  });

  test('a compensation', async () => {
    const kit = createTestKit({ workflows: [pays] });
    const run = await kit.start(pays, null);
    expect(kit.run(run)).toMatchObject({ status: 'compensated', error: { code: 'changed_their_mind' } });
  });

  test('code that changed while a run waits', async () => {
    const kit = createTestKit({ workflows: [older] });
    const run = await kit.start(older, null);
    kit.deploy([newer]);
    await kit.advance('1d');
    expect(await kit.result(run)).toBe('sent');
    expect(kit.history(run)).not.toContain('check: succeeded');
  });

  test('triggers type the payload', async () => {
    const kit = createTestKit({ workflows: [nightly, onOrder] });
    expect(await kit.result(await kit.start(nightly, { scheduledFor: '2026-01-01T02:00:00+01:00', timeZone: 'Europe/Zurich' }))).toContain(
      '2026',
    );
    expect(await kit.result(await kit.start(onOrder, { path: 'orders/7', params: { orderId: '7' }, data: { total: 9 } }))).toBe('7: 9');
  });
});

function dedent(text: string): string {
  const lines = text.split('\n');
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length));
  return lines.map((line) => line.slice(indent)).join('\n');
}
