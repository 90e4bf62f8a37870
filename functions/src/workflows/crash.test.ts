import { describe, expect, test } from 'vitest';
import { MortalProcess } from '../testing/mortal-process.ts';
import type { Moment } from '../testing/mortal-process.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { orderFulfilment } from './order-fulfilment.ts';

interface World {
  readonly kit: TestKit;
  readonly run: TestRun<unknown>;
  readonly operations: number;
  /** How often each keyed effect was applied, and how often it was asked for. */
  readonly applied: ReadonlyMap<string, number>;
  readonly asked: number;
}

const order = { orderId: 'o-1', email: 'c@example.org', amountCents: 4_200, currency: 'CHF', lines: [{ sku: 'lamp', quantity: 1 }] };

/** Fulfils an order in a world in which the k-th I/O operation kills the process. */
async function fulfil(ships: boolean, k: number, moment: Moment): Promise<World> {
  const process = new MortalProcess(k, moment);
  const kit = createTestKit({ workflows: [orderFulfilment], hooks: process.hooks, redelivers: process.redelivers });
  const applied = new Map<string, number>();
  let asked = 0;
  const answers = {
    'reserve-goods': { missing: [] },
    charge: { id: 'ch_1', status: 'paid' },
    'order-pickup': null,
    'tell-customer': null,
    refund: null,
    'release-goods': null,
  };
  for (const [name, answer] of Object.entries(answers)) {
    kit.mockStep(name, ({ idempotencyKey }) => {
      asked += 1;
      // A target that honours keys applies each once.
      if (!applied.has(`${name} ${idempotencyKey}`)) applied.set(`${name} ${idempotencyKey}`, 1);
      return answer;
    });
  }
  const run = await process.insist(() => kit.start(orderFulfilment, order, { startKey: 'o-1' }));
  await kit.advance('30m');
  await process.insist(() => kit.reconcile());
  if (ships) {
    await process.insist(() => kit.sendEventOnce('parcel.handed_over', { trackingNumber: 'T-9' }, { key: 'o-1', eventId: 'parcel-1' }));
  }
  // Long enough for leases, retries, the reconciler's minute and the five days of the carrier.
  for (let i = 0; i < 3; i += 1) {
    await kit.advance('3d');
    await process.insist(() => kit.reconcile());
  }
  return { kit, run, operations: process.operations, applied, asked };
}

describe('the process dies at every I/O operation of an order in turn', () => {
  test.each([
    ['shipped', true, 'before'],
    ['shipped', true, 'after'],
    ['undone', false, 'before'],
    ['undone', false, 'after'],
  ] as [string, boolean, Moment][])(
    '%s (%s), killed %s each operation: the run ends right, each effect once',
    async (_what, ships, moment) => {
      const calm = await fulfil(ships, Infinity, moment);
      expect(calm.kit.run(calm.run).status).toBe(ships ? 'completed' : 'compensated');
      let repeated = 0;
      for (let k = 1; k <= calm.operations; k += 1) {
        const world = await fulfil(ships, k, moment);
        expect({ k, ...endOf(world) }).toEqual({ k, ...endOf(calm) });
        if (world.asked > calm.asked) repeated += 1;
      }
      // Death before an operation also comes between an effect and its record: a sweep that repeats none has not looked there.
      expect(repeated > 0).toBe(moment === 'before');
    },
    120_000,
  );
});

/** What is the same whether or not somebody died on the way: how it ended, its steps, its effects, and that nothing is left. */
function endOf({ kit, run, applied }: World): object {
  return {
    status: kit.run(run).status,
    steps: kit.steps(run).map((step) => `${step.key} ${step.state}`),
    effects: [...applied.keys()].map((key) => key.split(' ')[0]),
    runs: [...kit.host.store.all()].filter((doc) => /\/runs\/[^/]+$/.test(doc.path)).length,
    waiting: kit.waitingAt(run),
  };
}
