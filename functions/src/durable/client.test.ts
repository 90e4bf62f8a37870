import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { Write } from '../ledger/store.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { defineWorkflow } from './api.ts';
import { BrowserRuns } from './browser-client.ts';
import { Runs } from './client.ts';
import type { Listen, RunResult } from './run-result.ts';

const doubles = defineWorkflow({
  id: 'doubles',
  input: z.object({ n: z.number(), long: z.boolean().default(false) }),
  async run({ input, step }) {
    await step.sleep('a-while', '1h');
    return { twice: input.n * 2, text: input.long ? 'x'.repeat(300 * 1_024) : '' };
  },
});

/** Listens by looking whenever the test says so. */
function listening(kit: TestKit): { listen: Listen; look: () => Promise<void>; open: () => number } {
  const listeners = new Map<object, () => void>();
  return {
    listen: (path, changed) => {
      const key = {};
      const tell = (): void => changed(kit.host.store.peek(path)?.data);
      listeners.set(key, tell);
      tell();
      return () => void listeners.delete(key);
    },
    look: async () => {
      for (const tell of listeners.values()) tell();
      await new Promise((resolve) => void setImmediate(resolve));
    },
    open: () => listeners.size,
  };
}

function setUp(): { kit: TestKit; runs: Runs; world: ReturnType<typeof listening> } {
  const kit = createTestKit({ workflows: [doubles] });
  const world = listening(kit);
  const runs = new Runs({ runtime: kit.runtime, accountId: kit.accountId, by: { kind: 'code', id: 'shop' }, listen: world.listen });
  return { kit, runs, world };
}

describe('the typed client', () => {
  test('starts, follows and reads a run; the types follow from the workflow', async () => {
    const { kit, runs, world } = setUp();
    const run = await runs.start(doubles, { n: 4, long: true });
    expectTypeOf(runs.result(run)).resolves.toEqualTypeOf<RunResult<{ twice: number; text: string }>>();
    const seen: string[] = [];
    runs.watch(run, (result) => void seen.push(result.state));
    await kit.host.settle();
    await world.look();
    expect(await runs.result(run)).toMatchObject({ state: 'live', status: 'running' });
    await kit.advance('1h');
    await world.look();
    const result = await runs.result(run);
    expect(result.state === 'completed' && [result.output.twice, result.output.text.length]).toEqual([8, 300 * 1_024]);
    expect(seen.at(-1)).toBe('completed');
    expect(world.open()).toBe(0);
    await expect(runs.result({ accountId: 'test', runId: 'none' })).rejects.toThrow('does not exist');
  });

  test('H5 a start key is one run while it runs and when it succeeded', async () => {
    const { kit, runs } = setUp();
    const first = await runs.start(doubles, { n: 1 }, { startKey: 'k' });
    const second = await runs.start(doubles, { n: 1 }, { startKey: 'k' });
    expect(second).toEqual({ ...first, reused: true });
    await kit.host.settle();
    await kit.advance('1h');
    const anew = await runs.start(doubles, { n: 1 }, { startKey: 'k', policy: { reuseSucceeded: false } });
    expect(anew.runId).not.toBe(first.runId);
  });

  test('startIn is part of the team’s own transaction, once for each start key', async () => {
    const { kit, runs } = setUp();
    const begin = (): Promise<{ runId: string }> =>
      kit.runtime.store.transaction(async (tx) => {
        const own = {
          create: (path: string, data: object): void => tx.write({ op: 'create', path, data }),
          set: (path: string, data: object): void => tx.write({ op: 'set', path, data }),
        };
        const mine: Write = { op: 'set', path: 'orders/1', data: { status: 'new' } };
        const run = await runs.startIn(own, (path) => path, doubles, { n: 2 }, { startKey: 'order-1' });
        tx.write(mine);
        return run;
      });
    const run = await begin();
    await kit.host.settle();
    await kit.advance('1h');
    expect(await runs.result({ accountId: 'test', runId: run.runId })).toMatchObject({ state: 'completed' });
    expect(kit.document('orders/1')).toEqual({ status: 'new' });
    await expect(begin()).rejects.toThrow('exists');
  });

  test('a run that ended otherwise says how', async () => {
    const { kit, runs } = setUp();
    const run = await runs.start('doubles', { n: 'x' });
    await kit.host.settle();
    expect(await runs.result(run)).toMatchObject({ state: 'ended', status: 'rejected', error: { code: 'preflight.failed' } });
  });
});

describe('the browser’s client', () => {
  function browser(kit: TestKit, listen: Listen): BrowserRuns {
    let ids = 0;
    return new BrowserRuns({
      accountId: kit.accountId,
      uid: 'ann',
      create: async (path, data) => {
        await kit.host.store.commit([{ op: 'create', path, data }]);
        await kit.host.settle();
      },
      read: (path) => Promise.resolve(kit.host.store.peek(path)?.data),
      listen,
      serverTimestamp: () => kit.now,
      newId: () => `request-${(ids += 1)}`,
    });
  }

  test('asks for a run by a document, and watches it to its end', async () => {
    const { kit, world } = setUp();
    const runs = browser(kit, world.listen);
    const run = await runs.start<typeof doubles>('doubles', { n: 3, long: true });
    expect(kit.run({ runId: run.runId, workflow: doubles }).startedBy).toEqual({ kind: 'user', id: 'ann' });
    const results: RunResult<{ twice: number; text: string }>[] = [];
    runs.watch(run, { changed: (result) => void results.push(result) });
    await kit.advance('1h');
    await world.look();
    const last = results.at(-1);
    expect(last?.state === 'completed' && [last.output.twice, last.output.text.length]).toEqual([6, 300 * 1_024]);
    expect(world.open()).toBe(0);
  });

  test('a refused request is rejected with its reason', async () => {
    const { kit, world } = setUp();
    await expect(browser(kit, world.listen).start<typeof doubles>('unknown', { n: 1 })).rejects.toThrow('no workflow "unknown"');
  });
});
