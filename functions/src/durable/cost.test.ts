import { describe, expect, test } from 'vitest';
import type { StoreOperation } from '../ledger/memory-store.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { defineWorkflow } from './api.ts';
import type { StepApi } from './api.ts';
import { ReplayingPlanner } from './code-planner.ts';
import { WorkflowRegistry } from './define-workflow.ts';

interface Counts {
  reads: number;
  writes: number;
  bytes: number;
}

/** Counts documents read and written, step by step. */
class Meter {
  counts: Counts = { reads: 0, writes: 0, bytes: 0 };
  readonly hooks = {
    after: (operation: StoreOperation): Promise<void> => {
      if (operation.kind === 'get') this.counts.reads += operation.paths.length;
      if (operation.kind === 'query') this.counts.reads += 1;
      if (operation.kind === 'commit') {
        this.counts.writes += operation.writes.length;
        this.counts.bytes += JSON.stringify(operation.writes).length;
      }
      return Promise.resolve();
    },
  };

  take(): Counts {
    const taken = this.counts;
    this.counts = { reads: 0, writes: 0, bytes: 0 };
    return taken;
  }
}

function code(run: (step: StepApi) => Promise<unknown>) {
  return defineWorkflow({ id: 'code', timeout: '1h', limits: { maxSteps: 2_000 }, run: ({ step }) => run(step) });
}

async function costOf(
  run: (step: StepApi) => Promise<unknown>,
  during: (kit: TestKit) => Promise<unknown> = () => Promise.resolve(),
): Promise<Counts> {
  const meter = new Meter();
  const workflow = code(run);
  const kit = createTestKit({ workflows: [workflow], hooks: meter.hooks });
  const started = await kit.start(workflow, null);
  await during(kit);
  expect(kit.run(started).status).toBe('completed');
  return meter.take();
}

describe('what a step costs', () => {
  test('an effectful step: 3 writes and no read on an instance that knows the run', async () => {
    const [two, three] = [
      await costOf(async (step) => {
        await step.run('a', () => 1);
        await step.run('b', () => 1);
      }),
      await costOf(async (step) => {
        await step.run('a', () => 1);
        await step.run('b', () => 1);
        await step.run('c', () => 1);
      }),
    ];
    expect(three.writes - two.writes).toBe(3);
    expect(three.reads - two.reads).toBe(0);
  });

  test('a sleep: 2 writes; what the code asks in passing: none', async () => {
    const none = await costOf(async (step) => void (await step.run('a', () => 1)));
    const sleep = await costOf(
      async (step) => {
        await step.run('a', () => 1);
        await step.sleep('b', '1h');
      },
      (kit) => kit.advance('1h'),
    );
    expect(sleep.writes - none.writes).toBe(2);
    const passing = await costOf(async (step) => {
      step.now();
      step.random();
      step.uuid();
      step.patched('x');
      step.onCompensate('undo', () => null);
      await step.run('a', () => 1);
    });
    expect(passing.writes).toBe(none.writes);
  });

  test('a transaction: 2 writes beside the team’s own', async () => {
    const none = await costOf(async (step) => void (await step.run('a', () => 1)));
    const both = await costOf(async (step) => {
      await step.run('a', () => 1);
      await step.transaction('b', (tx) => tx.set('own/1', { a: 1 }));
    });
    expect(both.writes - none.writes).toBe(3);
  });

  test('1,000 steps: at most 3 reads a step on a cold instance, and no more at the end than the journal needs', async () => {
    const meter = new Meter();
    const costs: (Counts & { ms: number })[] = [];
    let last = performance.now();
    const cold: { kit?: TestKit } = {};
    const workflow = code(async (step) => {
      for (let i = 0; i < 1_000; i += 1) {
        await step.run('work', () => {
          const now = performance.now();
          costs.push({ ...meter.take(), ms: now - last });
          last = now;
          // The next step finds an instance that knows nothing.
          if (i % 2 === 0) cold.kit?.useColdInstance();
          return { index: i, text: 'a small result of some hundred bytes, such as a row or an answer has them: '.repeat(2) };
        });
      }
    });
    const kit = createTestKit({ workflows: [workflow], hooks: meter.hooks });
    cold.kit = kit;
    const run = await kit.start(workflow, null);
    expect(kit.run(run).status).toBe('completed');
    expect(costs).toHaveLength(1_000);
    const summary = [costs.slice(1, 101), costs.slice(900)].map((part) => ({
      reads: Math.max(...part.map((cost) => cost.reads)),
      writes: part.reduce((sum, cost) => sum + cost.writes, 0) / part.length,
      ms: median(part.map((cost) => cost.ms)),
    }));
    const [first, end] = summary as [(typeof summary)[0], (typeof summary)[0]];
    expect(first.reads).toBeLessThanOrEqual(3);
    expect(end.reads).toBeLessThanOrEqual(3);
    expect(end.writes).toBeLessThan(3.1);
    process.stdout.write(`1,000 steps, cold every other step: first 100 ${JSON.stringify(first)}, last 100 ${JSON.stringify(end)}\n`);
  });
});

function median(values: readonly number[]): number {
  return Number([...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]?.toFixed(2));
}

test('a planner is made for one database: two of them share no cache', () => {
  const registry = new WorkflowRegistry([]);
  expect(new ReplayingPlanner(registry).replayer.reader).not.toBe(new ReplayingPlanner(registry).replayer.reader);
});
