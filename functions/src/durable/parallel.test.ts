import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { StoreOperation } from '../ledger/memory-store.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { defineWorkflow, StepFailed } from './api.ts';

const later = <T>(value: T, turns: number): Promise<T> =>
  turns === 0 ? Promise.resolve(value) : Promise.resolve().then(() => later(value, turns - 1));

/** Everything that could still wake a run that has ended. */
function left(kit: TestKit, run: TestRun<unknown>): string[] {
  const waits = [...kit.host.store.all()]
    .filter((doc) => doc.path.includes('/waits/') && doc.data['state'] === 'open')
    .map((doc) => doc.path);
  return [...kit.waitingAt(run), ...waits];
}

describe('steps at the same time', () => {
  const gathers = defineWorkflow({
    id: 'gathers',
    input: z.number(),
    async run({ input, step }) {
      const items = Array.from({ length: input }, (_, i) => i);
      const squares = await Promise.all(items.map((i) => step.run(`square-${i}`, () => later(i * i, i % 7))));
      return step.run('sum', () => squares.reduce((sum, square) => sum + square, 0));
    },
  });

  test.each([2, 8, 9, 60, 200])('Promise.all over %i steps gathers all results, whatever the order', async (count) => {
    const kit = createTestKit({ workflows: [gathers], concurrent: true });
    const run = await kit.start(gathers, count);
    await kit.advance('2m');
    expect(await kit.result(run)).toBe(Array.from({ length: count }, (_, i) => i * i).reduce((a, b) => a + b));
    expect(kit.steps(run)).toHaveLength(count + 1);
    expect(kit.steps(run).every((step) => step.state === 'succeeded' && step.attempt === 1)).toBe(true);
  });

  test('more than 200 at once end the run with the way out in the message', async () => {
    const kit = createTestKit({ workflows: [gathers] });
    const run = await kit.start(gathers, 201);
    await expect(kit.result(run)).rejects.toThrow('code.too_many_at_once');
    expect(kit.steps(run)).toHaveLength(0);
  });

  test('chains in parallel go their own ways, and the run goes back to carrying its journal along', async () => {
    const chains = defineWorkflow({
      id: 'chains',
      async run({ step }) {
        const chain = async (name: string, length: number): Promise<string> => {
          let text = name;
          for (let i = 0; i < length; i += 1) text = await step.run(`${name}-${i}`, () => `${text}${i}`);
          return text;
        };
        const both = await Promise.all([chain('a', 3), chain('b', 1)]);
        const c = await chain('c', 2);
        return [...both, c];
      },
    });
    const kit = createTestKit({ workflows: [chains], concurrent: true });
    const run = await kit.start(chains, null);
    expect(await kit.result(run)).toEqual(['a012', 'b0', 'c01']);
  });

  test('allSettled and failures: each branch has its own outcome', async () => {
    const settles = defineWorkflow({
      id: 'settles',
      async run({ step }) {
        const results = await Promise.allSettled([
          step.run('good', () => 1),
          step.run('bad', { retry: { maxAttempts: 1 } }, () => {
            throw new Error('bad luck');
          }),
        ]);
        return results.map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as Error).message));
      },
    });
    const kit = createTestKit({ workflows: [settles], concurrent: true });
    const run = await kit.start(settles, null);
    expect(await kit.result(run)).toEqual([1, 'Error: bad luck']);
  });

  test('F3 Promise.all fails with the first failure; the other steps are closed with the run', async () => {
    const fails = defineWorkflow({
      id: 'fails',
      async run({ step }) {
        await Promise.all([
          step.sleep('long', '7d'),
          step.run('bad', { retry: { maxAttempts: 1 } }, () => {
            throw new Error('bad luck');
          }),
        ]);
      },
    });
    const kit = createTestKit({ workflows: [fails] });
    const run = await kit.start(fails, null);
    expect(kit.run(run)).toMatchObject({ status: 'failed', error: { message: 'Error: bad luck', stepKey: 'bad' } });
    expect(kit.history(run)).toEqual(['long: cancelled', 'bad: failed']);
    await expect(kit.result(run)).rejects.toThrow('bad luck');
  });
});

describe('races', () => {
  test('T9 the loser of Promise.race is closed in the commit that ends the run', async () => {
    const commits: StoreOperation[] = [];
    const races = defineWorkflow({
      id: 'races',
      async run({ step }) {
        const first = await Promise.race([
          step.waitForEvent<string>('done', { event: 'done', timeout: '7d' }).then((event) => event?.payload ?? 'late'),
          step.waitForEvent<string>('error', { event: 'error', timeout: '7d' }).then((event) => event?.payload ?? 'late'),
        ]);
        return first;
      },
    });
    const kit = createTestKit({ workflows: [races], hooks: { after: (operation) => Promise.resolve(void commits.push(operation)) } });
    const run = await kit.start(races, null);
    expect(kit.waitingAt(run)).toEqual(['done', 'error']);
    await kit.sendEvent('done', 'fine');
    expect(await kit.result(run)).toBe('fine');
    expect(left(kit, run)).toEqual([]);
    expect(kit.history(run)).toEqual(['done: succeeded', 'error: cancelled']);
    const ending = commits.filter(
      (operation) => operation.kind === 'commit' && operation.writes.some((write) => write.path.includes('/completions/')),
    );
    const closed = ending.flatMap((operation) =>
      operation.kind === 'commit' ? operation.writes.map((write) => write.path.split('/').slice(-2).join('/')) : [],
    );
    expect(closed).toEqual(expect.arrayContaining(['steps/done', 'steps/error', `runs/${run.runId}`]));
    await kit.advance('10d');
    expect(kit.history(run)).toEqual(['done: succeeded', 'error: cancelled']);
  });

  test('D2 step.race closes the losers at once: a later wait gets the next event', async () => {
    const watches = defineWorkflow({
      id: 'watches',
      async run({ step }) {
        const rounds: string[] = [];
        for (let round = 1; round <= 4; round += 1) {
          const { winner } = await step.race({
            paid: step.waitForEvent(`paid-${round}`, { event: 'paid', timeout: '90d' }),
            tick: step.sleep(`tick-${round}`, '1d'),
          });
          rounds.push(winner);
          if (winner === 'paid') break;
        }
        return rounds;
      },
    });
    const kit = createTestKit({ workflows: [watches] });
    const run = await kit.start(watches, null);
    await kit.advance('3d');
    expect(kit.waitingAt(run)).toEqual(['paid-4', 'tick-4']);
    await kit.sendEvent('paid');
    expect(await kit.result(run)).toEqual(['tick', 'tick', 'tick', 'paid']);
    expect(left(kit, run)).toEqual([]);
  });

  test('step.race between a step that runs and one that ended at the same moment has one winner', async () => {
    const both = defineWorkflow({
      id: 'both',
      async run({ step }) {
        const { winner } = await step.race({ a: step.run('a', () => later('a', 2)), b: step.run('b', () => later('b', 2)) });
        await step.sleep('after', '1h');
        return winner;
      },
    });
    const kit = createTestKit({ workflows: [both], concurrent: true });
    const run = await kit.start(both, null);
    await kit.advance('2h');
    const winner = await kit.result(run);
    const states = Object.fromEntries(kit.steps(run).map((step) => [step.key, step.state]));
    expect(states).toEqual({
      a: winner === 'a' ? 'succeeded' : 'cancelled',
      b: winner === 'b' ? 'succeeded' : 'cancelled',
      after: 'succeeded',
    });
  });

  test('step.race takes steps only', async () => {
    const wrong = defineWorkflow({
      id: 'wrong',
      run: ({ step }) => step.race({ a: Promise.resolve(1) }),
    });
    const kit = createTestKit({ workflows: [wrong] });
    await expect(kit.result(await kit.start(wrong, null))).rejects.toThrow('takes the steps themselves; "a" is something else');
  });
});

describe('F4 the same name twice', () => {
  test('in a loop, the uses are counted', async () => {
    const loops = defineWorkflow({
      id: 'loops',
      async run({ step }) {
        const seen: number[] = [];
        for (let i = 0; i < 3; i += 1) seen.push(await step.run('fetch', () => i));
        return seen;
      },
    });
    const kit = createTestKit({ workflows: [loops] });
    const run = await kit.start(loops, null);
    expect(await kit.result(run)).toEqual([0, 1, 2]);
    expect(kit.steps(run).map((step) => step.key)).toEqual(['fetch', 'fetch#2', 'fetch#3']);
  });

  test('in a fallback, after the first has ended', async () => {
    const falls = defineWorkflow({
      id: 'falls',
      async run({ step }) {
        let url = 'primary';
        const fetchIt = (): Promise<string> =>
          step.run('fetch', { retry: { maxAttempts: 1 } }, () => {
            if (url === 'primary') throw new Error('down');
            return url;
          });
        try {
          return await fetchIt();
        } catch (error) {
          if (!(error instanceof StepFailed)) throw error;
          url = 'secondary';
          return await fetchIt();
        }
      },
    });
    const kit = createTestKit({ workflows: [falls] });
    expect(await kit.result(await kit.start(falls, null))).toBe('secondary');
  });

  test('in two chains at once, it is an error that names both places and the fix', async () => {
    const collides = defineWorkflow({
      id: 'collides',
      async run({ step }) {
        const first = async (): Promise<void> => void (await step.run('fetch', () => 1));
        const second = async (): Promise<void> => void (await step.run('fetch', () => 2));
        await Promise.all([first(), second()]);
      },
    });
    const kit = createTestKit({ workflows: [collides] });
    const run = await kit.start(collides, null);
    const { status, error } = kit.run(run);
    expect(status).toBe('failed');
    expect(error?.code).toBe('code.name_twice');
    expect(error?.message).toMatch(
      /two steps are named "fetch" at the same time: the first is called at first .*parallel\.test\.ts:\d+.*, the second at second .*parallel\.test\.ts:\d+/,
    );
    expect(error?.message).toContain('Give each its own name');
  });
});
