import { describe, expect, test } from 'vitest';
import { alertIdOf } from '../ledger/alerts.ts';
import { paths } from '../model/paths.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { defineWorkflow } from './api.ts';
import type { StepApi } from './api.ts';
import { forkRun } from './fork.ts';

/** A workflow under one id, whose code is what the test deploys. */
function versionOf(run: (step: StepApi) => Promise<unknown>, version = 1) {
  return defineWorkflow({ id: 'changing', version, run: ({ step }) => run(step) });
}

const old = versionOf(async (step) => {
  await step.run('fetch', () => 'fetched');
  await step.sleep('cooldown', '1d');
  return step.run('send', () => 'sent');
});

async function parked(workflow = old): Promise<{ kit: TestKit; run: TestRun<unknown> }> {
  const kit = createTestKit({ workflows: [workflow] });
  const run = await kit.start(workflow, null);
  expect(kit.waitingAt(run)).toEqual(['cooldown']);
  return { kit, run };
}

describe('A13 code that changed while a run waits', () => {
  test.each<[string, (step: StepApi) => Promise<unknown>, string, string]>([
    ['a step renamed', async (step) => void (await step.run('load', () => 1)), 'step run "fetch"', 'the code waits for step run "load"'],
    [
      'a step put before',
      async (step) => {
        await step.run('check', () => 1);
        await step.run('fetch', () => 1);
      },
      'step run "fetch"',
      'the code waits for step run "check"',
    ],
    [
      'the waiting step removed',
      async (step) => {
        await step.run('fetch', () => 1);
        return step.run('send', () => 2);
      },
      'step sleep "cooldown" under way',
      'the code waits for step run "send"',
    ],
    [
      'a step of another kind under the same name',
      async (step) => {
        await step.run('fetch', () => 1);
        await step.run('cooldown', () => 1);
      },
      'step sleep "cooldown" under way',
      'the code waits for step run "cooldown"',
    ],
    ['everything removed', () => Promise.resolve('done'), 'step run "fetch"', 'the code has returned'],
    [
      'a recorded value put before',
      async (step) => {
        step.now();
        await step.run('fetch', () => 1);
        await step.sleep('cooldown', '1d');
      },
      'step run "fetch"',
      'the code calls step.now() "now"',
    ],
    [
      'a recorded value put before the waiting step',
      async (step) => {
        await step.run('fetch', () => 1);
        step.random();
        await step.sleep('cooldown', '1d');
      },
      'nothing',
      'the code calls step.random() "random"',
    ],
  ])('%s: the run is diverged, with the first difference', async (_what, code, recorded, found) => {
    const { kit, run } = await parked();
    kit.deploy([versionOf(code)]);
    await kit.advance('1d');
    const { status, error } = kit.run(run);
    expect(status).toBe('diverged');
    expect(error).toMatchObject({ code: 'run.diverged', stepKey: 'cooldown', data: { recorded, found } });
    expect(kit.step(run, 'cooldown').state).toBe('unresolved');
    await kit.advance('30d');
    await kit.reconcile();
    expect(kit.run(run).status).toBe('diverged');
  });

  test('people are told of it, once', async () => {
    const { kit, run } = await parked();
    kit.deploy([versionOf(() => Promise.resolve(null))]);
    await kit.advance('1d');
    await kit.retryStep(run, 'cooldown');
    const alertId = alertIdOf({ runId: run.runId, kind: 'unresolved', breach: 'diverged@0' });
    expect(kit.document(paths.alert('test', alertId))).toMatchObject({ state: 'open', stepKey: 'cooldown' });
    expect(kit.run(run).status).toBe('diverged');
  });

  test('a diverged run can be cancelled', async () => {
    const { kit, run } = await parked();
    kit.deploy([versionOf(() => Promise.resolve(null))]);
    await kit.advance('1d');
    await kit.command(run, 'cancel');
    expect(kit.run(run).status).toBe('cancelled');
    expect(kit.waitingAt(run)).toEqual([]);
  });

  test('a result that comes while the code does not fit is kept, and used when the code is back', async () => {
    const waits = versionOf(async (step) => {
      const event = await step.waitForEvent('paid', { event: 'paid', timeout: '7d' });
      return event?.payload ?? null;
    });
    const kit = createTestKit({ workflows: [waits] });
    const run = await kit.start(waits, null);
    kit.deploy([versionOf(() => Promise.resolve(null))]);
    await kit.sendEvent('paid', 'thanks');
    expect(kit.run(run).status).toBe('diverged');
    kit.deploy([waits]);
    await kit.retryStep(run, 'paid');
    expect(await kit.result(run)).toBe('thanks');
    expect(kit.run(run).error).toBeUndefined();
  });

  test('a version that is not deployed any more: diverged, and says what is deployed', async () => {
    const { kit, run } = await parked();
    kit.deploy([versionOf(() => Promise.resolve(null), 2)]);
    await kit.advance('1d');
    expect(kit.run(run)).toMatchObject({
      status: 'diverged',
      error: { message: expect.stringContaining('has "changing" in version 2, not 1') as string },
    });
  });

  test('two versions side by side: runs in flight keep theirs, new runs take the newest', async () => {
    const { kit, run } = await parked();
    const next = versionOf(() => Promise.resolve('new'), 2);
    kit.deploy([old, next]);
    expect(await kit.result(await kit.start(next, null))).toBe('new');
    await kit.advance('1d');
    expect(await kit.result(run)).toBe('sent');
    expect(kit.run(run).version).toBe(1);
  });
});

describe('patched', () => {
  const patched = versionOf(async (step) => {
    await step.run('fetch', () => 'fetched');
    if (step.patched('check-first')) await step.run('check', () => 'checked');
    await step.sleep('cooldown', '1d');
    return step.patched('check-first') ? step.run('send-checked', () => 'checked') : step.run('send', () => 'sent');
  });

  test('a run that was past the line goes the old way, a new run the new way', async () => {
    const { kit, run } = await parked();
    kit.deploy([patched]);
    const fresh = await kit.start(patched, null);
    await kit.advance('1d');
    expect(await kit.result(run)).toBe('sent');
    expect(await kit.result(fresh)).toBe('checked');
    expect(kit.history(fresh)).toEqual(['fetch: succeeded', 'check: succeeded', 'cooldown: succeeded', 'send-checked: succeeded']);
  });

  test('a run that gets to the line with the new code goes the new way', async () => {
    const kit = createTestKit({ workflows: [old] });
    kit.failStep('fetch', 1);
    const run = await kit.start(old, null);
    kit.deploy([patched]);
    await kit.advance('2d');
    expect(await kit.result(run)).toBe('checked');
  });
});

describe('forking onto the new code', () => {
  test('a diverged run is forked at the first difference and goes on with the new code', async () => {
    const { kit, run } = await parked();
    const next = versionOf(async (step) => {
      const text = await step.run('fetch', () => 'fetched again');
      return step.run('deliver', () => `${text} and delivered`);
    });
    kit.deploy([next]);
    await kit.advance('1d');
    expect(kit.run(run).status).toBe('diverged');
    const { runId } = await forkRun(
      kit.planner.replayer,
      kit.runtime,
      { accountId: kit.accountId, runId: run.runId },
      { by: { kind: 'user', id: 'operator' } },
    );
    await kit.host.settle();
    const fork = { runId, workflow: next };
    expect(await kit.result(fork)).toBe('fetched and delivered');
    expect(kit.history(fork)).toEqual(['deliver: succeeded']);
    expect(kit.run(fork).forkedFrom).toEqual({ runId: run.runId, stepKey: 'cooldown' });
  });

  test('a fork does not send again what its journal says was sent', async () => {
    const workflow = defineWorkflow({
      id: 'sender',
      async run({ step }) {
        await step.run('first', () => 1);
        await step.sendEvent('tell', { event: 'told' });
        return step.run('second', () => 2);
      },
    });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    const events = (): unknown[] =>
      [...kit.host.store.all()].filter(({ path }) => path.includes('/events/')).map(({ data, updateTime }) => [data, updateTime]);
    const before = events();
    expect(before).toHaveLength(1);
    const ref = { accountId: kit.accountId, runId: run.runId };
    const { runId } = await forkRun(kit.planner.replayer, kit.runtime, ref, { by: { kind: 'user', id: 'operator' }, from: 'second' });
    await kit.host.settle();
    expect(await kit.result({ runId, workflow })).toBe(2);
    expect(events()).toEqual(before);
  });

  test('H2 a run is forked from a step of its past', async () => {
    const { kit, run } = await parked();
    await kit.advance('1d');
    const ref = { accountId: kit.accountId, runId: run.runId };
    const { runId } = await forkRun(kit.planner.replayer, kit.runtime, ref, { by: { kind: 'user', id: 'operator' }, from: 'send' });
    kit.mockStep('send', () => 'sent anew');
    await kit.host.settle();
    const fork = { runId, workflow: old };
    expect(await kit.result(fork)).toBe('sent anew');
    expect(kit.history(fork)).toEqual(['send: succeeded']);
    expect(await kit.result(run)).toBe('sent');
  });

  test('large results of the run forked from are found', async () => {
    const large = versionOf(async (step) => {
      const text = await step.run('large', () => 'x'.repeat(300 * 1_024));
      return step.run('length', () => text.length);
    });
    const kit = createTestKit({ workflows: [large] });
    const run = await kit.start(large, null);
    const { runId } = await forkRun(
      kit.planner.replayer,
      kit.runtime,
      { accountId: kit.accountId, runId: run.runId },
      { by: { kind: 'user', id: 'o' }, from: 'length' },
    );
    await kit.host.settle();
    expect(await kit.result({ runId, workflow: large })).toBe(300 * 1_024);
  });

  test('a step that the run never had cannot be forked from', async () => {
    const { kit, run } = await parked();
    await expect(
      forkRun(
        kit.planner.replayer,
        kit.runtime,
        { accountId: kit.accountId, runId: run.runId },
        { by: { kind: 'user', id: 'o' }, from: 'nowhere' },
      ),
    ).rejects.toThrow('no step "nowhere"');
  });
});
