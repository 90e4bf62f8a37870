import { describe, expect, test } from 'vitest';
import { MortalProcess } from '../testing/mortal-process.ts';
import type { Moment } from '../testing/mortal-process.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { defineWorkflow } from './api.ts';
import type { StepApi } from './api.ts';

type Code = (step: StepApi) => Promise<unknown>;

const later = <T>(value: T, turns: number): Promise<T> =>
  turns === 0 ? Promise.resolve(value) : Promise.resolve().then(() => later(value, turns - 1));

/** What code can do, each where its own commits are. */
const codes: readonly [string, Code, unknown][] = [
  [
    'a few steps at once, then one',
    async (step) => {
      const parts = await Promise.all([1, 2, 3].map((i) => step.run(`part-${i}`, () => later(i, i))));
      return step.run('sum', () => parts.reduce((a, b) => a + b));
    },
    6,
  ],
  [
    'many steps at once, whose results wait for their turn',
    async (step) => {
      const parts = await Promise.all(Array.from({ length: 9 }, (_, i) => step.run(`part-${i}`, () => later(i, i % 3))));
      return parts.length;
    },
    9,
  ],
  [
    'a race of an event and a sleep, then a transaction',
    async (step) => {
      const { winner } = await step.race({ never: step.waitForEvent('never', { event: 'never' }), nap: step.sleep('nap', '1h') });
      await step.transaction('count', async (tx) =>
        tx.set('own/counter', { value: Number((await tx.get('own/counter'))?.['value'] ?? 0) + 1 }),
      );
      return winner;
    },
    'nap',
  ],
  [
    'recorded values, an event sent and a child run',
    async (step) => {
      const id = step.uuid();
      await step.sendEvent('tell', { event: 'told', payload: id });
      const child = await step.invoke('child', 'child', null);
      const told = await step.waitForEvent('told', { event: 'told', timeout: '1d', lookback: '1d' });
      return [child, told?.payload === id];
    },
    ['child', true],
  ],
];

const child = defineWorkflow({ id: 'child', run: ({ step }) => step.run('work', () => 'child') });

async function live(
  code: Code,
  k: number,
  moment: Moment,
  concurrent: boolean,
): Promise<{ kit: TestKit; run: TestRun<unknown>; operations: number }> {
  const process = new MortalProcess(k, moment);
  const workflow = defineWorkflow({ id: 'code', run: ({ step }) => code(step) });
  const kit = createTestKit({ workflows: [workflow, child], hooks: process.hooks, redelivers: process.redelivers, concurrent });
  const run = await process.insist(() => kit.start(workflow, null, { startKey: 'once' }));
  for (let i = 0; i < 4; i += 1) {
    await kit.advance('1h');
    await process.insist(() => kit.reconcile());
  }
  return { kit, run, operations: process.operations };
}

describe.each(codes)('the process dies at every I/O operation in turn: %s', (_what, code, output) => {
  test.each([
    ['before', false],
    ['after', false],
    ['before', true],
  ] as [Moment, boolean][])(
    'killed %s it (deliveries at once: %s)',
    async (moment, concurrent) => {
      const calm = await live(code, Infinity, moment, concurrent);
      expect(await calm.kit.result(calm.run)).toEqual(output);
      const states = (kit: TestKit, run: TestRun<unknown>): string[] =>
        kit
          .steps(run)
          .map((step) => `${step.key} ${step.state}`)
          .sort();
      for (let k = 1; k <= calm.operations; k += 1) {
        const { kit, run } = await live(code, k, moment, concurrent);
        expect(kit.run(run).status, `killed ${moment} ${k}: ${kit.history(run).join(', ')}`).toBe('completed');
        expect(await kit.result(run), `killed ${moment} ${k}`).toEqual(output);
        expect(states(kit, run), `killed ${moment} ${k}`).toEqual(states(calm.kit, calm.run));
        expect(kit.document('own/counter')?.['value'] ?? 1, `killed ${moment} ${k}`).toBe(1);
      }
    },
    120_000,
  );
});
