import { expect, test } from 'vitest';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { defineWorkflow } from './api.ts';

interface Watched {
  readonly kit: TestKit;
  /** How often the run function was entered. */
  readonly entered: () => number;
  readonly run: TestRun<unknown>;
}

async function start(each: (kit: TestKit, step: number) => void): Promise<Watched> {
  let entered = 0;
  const known: { kit?: TestKit } = {};
  const workflow = defineWorkflow({
    id: 'code',
    run: async ({ step }) => {
      entered += 1;
      const seen: unknown[] = [];
      for (let i = 0; i < 5; i += 1) {
        seen.push(
          await step.run('work', () => {
            if (known.kit !== undefined) each(known.kit, i);
            return i;
          }),
        );
        seen.push(step.uuid());
      }
      const event = await step.waitForEvent('paid', { event: 'paid' });
      seen.push(event?.payload);
      return seen.filter((value) => typeof value !== 'string');
    },
  });
  const kit = createTestKit({ workflows: [workflow] });
  known.kit = kit;
  return { kit, run: await kit.start(workflow, null), entered: () => entered };
}

test('an instance that made a step goes on where its code stands: the run function is entered to begin, and once more', async () => {
  const { kit, run, entered } = await start(() => undefined);
  expect(entered()).toBe(2);
  await kit.sendEvent('paid', 7);
  expect(await kit.result(run)).toEqual([0, 1, 2, 3, 4, 7]);
});

test('another instance replays, and comes to the same', async () => {
  const { kit, run, entered } = await start((own) => own.useColdInstance());
  expect(entered()).toBeGreaterThan(5);
  await kit.sendEvent('paid', 7);
  expect(await kit.result(run)).toEqual([0, 1, 2, 3, 4, 7]);
});
