import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTestKit } from '../testing/test-kit.ts';
import { BusinessException, defineWorkflow, NonRetryable, RetryAfter, StepFailed } from './api.ts';

describe('a code workflow in order', () => {
  test('runs its steps one after the other and returns', async () => {
    const seen: string[] = [];
    const adds = defineWorkflow({
      id: 'adds',
      input: z.object({ a: z.number() }),
      async run({ input, step }) {
        const one = await step.run('one', () => (seen.push('one'), input.a + 1));
        const two = await step.run('two', async () => (seen.push('two'), one * 10));
        return { two };
      },
    });
    const kit = createTestKit({ workflows: [adds] });
    const run = await kit.start(adds, { a: 4 });
    expect(await kit.result(run)).toEqual({ two: 50 });
    expect(seen).toEqual(['one', 'two']);
    expect(kit.history(run)).toEqual(['one: succeeded', 'two: succeeded']);
  });

  test('T3 sleeps for 400 days, with a doorbell that reaches a week', async () => {
    const naps = defineWorkflow({
      id: 'naps',
      async run({ step }) {
        const before = step.now();
        await step.sleep('long', '400d');
        return step.now() - before;
      },
    });
    const kit = createTestKit({ workflows: [naps] });
    const run = await kit.start(naps, null);
    await kit.advance('399d');
    expect(kit.run(run).status).toBe('running');
    await kit.advance('1d');
    expect(await kit.result(run)).toBe(400 * 86_400_000);
  });

  test('a failing step is tried again, then its error can be caught', async () => {
    const tries = defineWorkflow({
      id: 'tries',
      async run({ step }) {
        try {
          await step.run('flaky', { retry: { maxAttempts: 2 } }, () => {
            throw new Error('no luck');
          });
        } catch (error) {
          if (!(error instanceof StepFailed)) throw error;
          return step.run('instead', () => `${error.step}: ${error.message}`);
        }
        return 'never';
      },
    });
    const kit = createTestKit({ workflows: [tries] });
    const run = await kit.start(tries, null);
    expect(kit.step(run, 'flaky')).toMatchObject({ state: 'waiting', attempt: 1 });
    await kit.advance('1m');
    expect(await kit.result(run)).toBe('flaky: Error: no luck');
    expect(kit.history(run)).toEqual(['flaky: failed after 2 attempts', 'instead: succeeded']);
  });

  test('BusinessException, NonRetryable and RetryAfter mean what they say', async () => {
    const errors = defineWorkflow({
      id: 'errors',
      async run({ step }) {
        const caught: unknown[] = [];
        for (const error of [new BusinessException('no_stock', { sku: 'x' }), new NonRetryable('broken')]) {
          try {
            await step.run('throws', () => {
              throw error;
            });
          } catch (thrown) {
            caught.push(thrown instanceof BusinessException ? [thrown.code, thrown.data] : (thrown as Error).message);
          }
        }
        let first = true;
        await step.run('later', () => {
          if (!first) return;
          first = false;
          throw new RetryAfter(60);
        });
        return caught;
      },
    });
    const kit = createTestKit({ workflows: [errors] });
    let failing = true;
    kit.mockStep('later', () => {
      if (failing) throw new RetryAfter(60);
    });
    const run = await kit.start(errors, null);
    expect(kit.step(run, 'later').wakeAt).toBeGreaterThanOrEqual(kit.now + 60_000);
    failing = false;
    await kit.advance('59s');
    expect(kit.run(run).status).toBe('running');
    await kit.advance('3s');
    expect(await kit.result(run)).toEqual([['no_stock', { sku: 'x' }], 'broken']);
    expect(kit.history(run)).toEqual(['throws: failed', 'throws#2: failed', 'later: succeeded after 2 attempts']);
  });
});
