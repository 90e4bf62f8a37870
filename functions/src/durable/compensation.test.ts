import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { defineWorkflow, NonRetryable } from './api.ts';
import { compensateRun } from './compensation.ts';

const once = { retry: { maxAttempts: 1 } };

/** Books a flight and a hotel, then pays; each can be undone. */
function trip(calls: string[]) {
  return defineWorkflow({
    id: 'trip',
    input: z.object({ cards: z.string() }),
    async run({ input, step }) {
      step.onCompensate('cancel-flight', ({ outcomeOf, idempotencyKeyOf }) => {
        calls.push(`cancel flight ${JSON.stringify(outcomeOf('flight'))} ${idempotencyKeyOf('flight') === step.idempotencyKey('flight')}`);
      });
      await step.run('flight', () => (calls.push('flight'), 'F1'));
      step.onCompensate('cancel-hotel', { retry: { maxAttempts: 5 } }, ({ attempt, outcomeOf }) => {
        calls.push(`cancel hotel ${outcomeOf('hotel')?.status ?? 'unknown'} ${attempt}`);
      });
      await step.run('hotel', once, () => {
        calls.push('hotel');
        if (input.cards === 'no hotel') throw new Error('full');
      });
      return step.run('pay', once, () => {
        calls.push('pay');
        if (input.cards !== 'good') throw new Error('declined');
        return 'paid';
      });
    },
  });
}

const ended = (kit: TestKit, run: TestRun<unknown>): string[] => kit.steps(run).map((step) => `${step.key} ${step.state}`);

describe('compensation', () => {
  test('H8 a failed run is undone in reverse, also the step that failed; each undo is a step of its own', async () => {
    const calls: string[] = [];
    const workflow = trip(calls);
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, { cards: 'no hotel' });
    expect(kit.run(run)).toMatchObject({ status: 'compensated', error: { message: 'Error: full', stepKey: 'hotel' } });
    expect(calls).toEqual(['flight', 'hotel', 'cancel hotel failed 1', 'cancel flight {"status":"succeeded","value":"F1"} true']);
    expect(ended(kit, run)).toEqual(['flight succeeded', 'hotel failed', '$undo.cancel-hotel succeeded', '$undo.cancel-flight succeeded']);
    expect([...kit.host.store.all()].filter((doc) => doc.path.includes('/completions/'))).toHaveLength(1);
  });

  test('a run that completes undoes nothing', async () => {
    const calls: string[] = [];
    const workflow = trip(calls);
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, { cards: 'good' });
    expect(await kit.result(run)).toBe('paid');
    expect(calls).toEqual(['flight', 'hotel', 'pay']);
  });

  test('an undo has its own retries; the run compensates meanwhile', async () => {
    const calls: string[] = [];
    const workflow = trip(calls);
    const kit = createTestKit({ workflows: [workflow] });
    kit.failStep('cancel-hotel', 4);
    const run = await kit.start(workflow, { cards: 'bad' });
    expect(kit.run(run).status).toBe('compensating');
    await kit.advance('5m');
    expect(kit.run(run).status).toBe('compensated');
    expect(kit.history(run)).toEqual([
      'flight: succeeded',
      'hotel: succeeded',
      'pay: failed',
      '$undo.cancel-hotel: succeeded after 5 attempts',
      '$undo.cancel-flight: succeeded',
    ]);
  });

  test('an undo that fails for good waits for a person; when it is settled, the rest is undone', async () => {
    const calls: string[] = [];
    const workflow = trip(calls);
    const kit = createTestKit({ workflows: [workflow] });
    kit.failStep('cancel-hotel', 1, new NonRetryable('the hotel refuses'));
    const run = await kit.start(workflow, { cards: 'bad' });
    expect(kit.run(run).status).toBe('needs_resolution');
    expect(kit.step(run, '$undo.cancel-hotel')).toMatchObject({ state: 'unresolved', error: { message: 'the hotel refuses' } });
    await kit.retryStep(run, '$undo.cancel-hotel');
    expect(kit.run(run).status).toBe('compensated');
    expect(calls.at(-1)).toMatch('cancel flight');
  });

  test('a completed run is undone on command, once', async () => {
    const calls: string[] = [];
    const workflow = trip(calls);
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, { cards: 'good' });
    const ref = { accountId: kit.accountId, runId: run.runId };
    await compensateRun(kit.planner.replayer, kit.runtime, ref);
    await kit.host.settle();
    expect(kit.run(run).status).toBe('compensated');
    expect(calls.slice(3)).toEqual(['cancel hotel succeeded 1', expect.stringContaining('cancel flight')]);
    await expect(compensateRun(kit.planner.replayer, kit.runtime, ref)).rejects.toThrow('the run is compensated');
  });

  test('a cancelled run is undone on command as far as it had come', async () => {
    const calls: string[] = [];
    const workflow = defineWorkflow({
      id: 'half',
      async run({ step }) {
        step.onCompensate('undo-a', () => void calls.push('undo a'));
        await step.run('a', () => null);
        await step.sleep('long', '7d');
        step.onCompensate('undo-b', () => void calls.push('undo b'));
        await step.run('b', () => null);
      },
    });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    const ref = { accountId: kit.accountId, runId: run.runId };
    await expect(compensateRun(kit.planner.replayer, kit.runtime, ref)).rejects.toThrow('only a run that has ended');
    await kit.command(run, 'cancel');
    await compensateRun(kit.planner.replayer, kit.runtime, ref);
    await kit.host.settle();
    expect(kit.run(run).status).toBe('compensated');
    expect(calls).toEqual(['undo a']);
  });

  test('a run that reaches its limits is undone too', async () => {
    const calls: string[] = [];
    const workflow = defineWorkflow({
      id: 'limited',
      limits: { maxSteps: 3 },
      async run({ step }) {
        step.onCompensate('undo', () => void calls.push('undo'));
        for (let i = 0; i < 10; i += 1) await step.run('work', () => calls.push(`work ${i}`));
      },
    });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    expect(kit.run(run)).toMatchObject({ status: 'compensated', error: { code: 'run.too_many_steps' } });
    expect(calls).toEqual(['work 0', 'work 1', 'work 2', 'undo']);
  });

  test('a run whose wall-clock deadline passes while it waits is undone, by the reconciler alone', async () => {
    const calls: string[] = [];
    const workflow = defineWorkflow({
      id: 'late',
      deadline: '1d',
      async run({ step }) {
        step.onCompensate('undo', () => void calls.push('undo'));
        await step.run('work', () => null);
        await Promise.all([step.sleep('long', '9d'), step.waitForEvent('never', { event: 'never' })]);
      },
    });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    await kit.advance('1d');
    await kit.reconcile();
    expect(kit.run(run)).toMatchObject({ status: 'compensated', error: { code: 'run.deadline' } });
    expect(kit.waitingAt(run)).toEqual([]);
    expect(calls).toEqual(['undo']);
  });

  test('with onError "fail", a failed run is left as it is', async () => {
    const calls: string[] = [];
    const workflow = { ...trip(calls), onError: 'fail' as const };
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, { cards: 'bad' });
    expect(kit.run(run).status).toBe('failed');
    expect(calls).toEqual(['flight', 'hotel', 'pay']);
  });
});
