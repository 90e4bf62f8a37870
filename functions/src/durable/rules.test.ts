import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { paths } from '../model/paths.ts';
import { createTestKit } from '../testing/test-kit.ts';
import { defineWorkflow } from './api.ts';
import type { StepApi } from './api.ts';
import { WorkflowRegistry } from './define-workflow.ts';
import { forkRun } from './fork.ts';

const running = (run: (step: StepApi) => unknown) => defineWorkflow({ id: 'code', run: ({ step }) => run(step) });

async function errorOf(run: (step: StepApi) => unknown): Promise<{ code: string; message: string }> {
  const workflow = running(run);
  const kit = createTestKit({ workflows: [workflow] });
  const started = await kit.start(workflow, null);
  const { status, error } = kit.run(started);
  expect(status).toBe('failed');
  return error ?? { code: '', message: '' };
}

/** Longer than a moment. */
const slowly = async (): Promise<void> => {
  for (let i = 0; i < 3; i += 1) await moment();
};

const moment = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('what may stand between steps', () => {
  test('an await on something that is no step ends the run with an explanation', async () => {
    const error = await errorOf(async (step) => {
      await moment();
      await step.run('after', () => 1);
    });
    expect(error).toMatchObject({ code: 'code.foreign_await', message: expect.stringContaining('Put I/O into step.run') as string });
  });

  test('the same after a step has ended', async () => {
    const error = await errorOf(async (step) => {
      await step.run('first', () => 1);
      await moment();
      await step.run('after', () => 1);
    });
    expect(error.code).toBe('code.foreign_await');
  });

  test('a step that is called while another is performed, from a foreign await beside it', async () => {
    const error = await errorOf((step) => Promise.all([step.run('slow', slowly), moment().then(() => step.run('beside', () => 1))]));
    expect(error).toMatchObject({ code: 'code.outside', message: expect.stringContaining('step "beside" was called while') as string });
  });

  test('a run function that ends by a foreign await while a step is performed', async () => {
    const error = await errorOf((step) => Promise.race([step.run('slow', slowly), moment()]));
    expect(error.code).toBe('code.foreign_await');
  });

  test('a step inside another step', async () => {
    const error = await errorOf((step) => step.run('outer', { retry: { maxAttempts: 1 } }, () => step.run('inner', () => 1)));
    expect(error).toMatchObject({ code: 'code.outside', message: expect.stringContaining('from inside another step') as string });
  });

  test('an error of the code itself is the run’s', async () => {
    const error = await errorOf(() => {
      throw new TypeError('cannot read x');
    });
    expect(error).toMatchObject({ code: 'code.threw', message: 'TypeError: cannot read x' });
  });
});

describe('names', () => {
  test.each(['', 'a/b', '.', '..', '__x__', 'ü', 'a b', '#2', '$undo.x', 'x'.repeat(121), '步骤-é🙂', '\ud800'])(
    'V6 "%s" is refused where it is written',
    async (name) => {
      const error = await errorOf((step) => step.run(name, () => 1));
      expect(error.code).toBe('code.name_invalid');
    },
  );

  test.each(['fetch', 'fetch-1', 'a.b:c@d_e', '0', 'x'.repeat(120), 'constructor', 'toString', '__proto__x'.slice(2)])(
    'V5 "%s" is a name',
    async (name) => {
      const workflow = running((step) => step.run(name, () => name.length));
      const kit = createTestKit({ workflows: [workflow] });
      expect(await kit.result(await kit.start(workflow, null))).toBe(name.length);
    },
  );
});

describe('values', () => {
  test('V2 what JSON leaves out is left out at once, not only after a replay', async () => {
    const workflow = running(async (step) => {
      const value = await step.run('odd', () => ({ a: undefined, b: [[1], [2]] }));
      return Object.keys(value);
    });
    const kit = createTestKit({ workflows: [workflow] });
    expect(await kit.result(await kit.start(workflow, null))).toEqual(['b']);
  });

  test.each([
    ['a Date', () => ({ at: new Date(0) })],
    ['NaN', () => Number.NaN],
    ['a BigInt', () => 1n],
    ['a Map', () => new Map()],
  ])('V3 %s fails the step, once', async (_what, make) => {
    const error = await errorOf((step) => step.run('odd', make as () => unknown));
    expect(error).toMatchObject({ code: 'payload.unsupported', stepKey: 'odd' });
  });

  test('what a replay hands out can be changed without changing what is recorded', async () => {
    const workflow = running(async (step) => {
      const list = await step.run('list', () => [1]);
      list.push(2);
      await step.run('other', () => null);
      return list;
    });
    const kit = createTestKit({ workflows: [workflow] });
    expect(await kit.result(await kit.start(workflow, null))).toEqual([1, 2]);
  });

  test('V1 a result of 5 MB is handed on; one over 8 MiB fails the step, once', async () => {
    const workflow = defineWorkflow({
      id: 'large',
      input: z.number(),
      async run({ input, step }) {
        const text = await step.run('large', () => 'x'.repeat(input));
        await step.run('other', () => null);
        return step.run('length', () => text.length);
      },
    });
    const kit = createTestKit({ workflows: [workflow] });
    expect(await kit.result(await kit.start(workflow, 5_000_000))).toBe(5_000_000);
    await expect(kit.result(await kit.start(workflow, 8 * 1_024 * 1_024 + 1))).rejects.toThrow('payload.too_large');
  });

  test('errors with lists in lists in their data are stored', async () => {
    const { BusinessException } = await import('./api.ts');
    const error = await errorOf((step) =>
      step.run('throws', () => {
        throw new BusinessException('odd', { rows: [[1, 2], [3]] });
      }),
    );
    expect(error.code).toBe('odd');
  });
});

describe('start and end', () => {
  test('an input that does not fit is rejected with every problem', async () => {
    const workflow = defineWorkflow({ id: 'strict', input: z.object({ a: z.number(), b: z.string() }), run: () => null });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, { a: 'x' } as never);
    expect(kit.run(run).status).toBe('rejected');
    expect(JSON.parse(kit.run(run).problems ?? '')).toMatchObject([{ path: 'input/a' }, { path: 'input/b' }]);
  });

  test('an output that does not fit its schema fails the run', async () => {
    const workflow = defineWorkflow({ id: 'typed', output: z.object({ n: z.number() }), run: () => ({ n: 'x' }) as never });
    const kit = createTestKit({ workflows: [workflow] });
    await expect(kit.result(await kit.start(workflow, null))).rejects.toThrow('schema.mismatch');
  });

  test('a run without steps completes with its start; recorded values are different for each run and the same on replay', async () => {
    const empty = running(() => 'at once');
    const values = defineWorkflow({
      id: 'values',
      async run({ step, run }) {
        const made = [step.uuid(), step.random(), step.now()];
        await step.sleep('a-while', '1h');
        return [run.id, ...made];
      },
    });
    const kit = createTestKit({ workflows: [empty, values] });
    expect(await kit.result(await kit.start(empty, null))).toBe('at once');
    const [first, second] = [await kit.start(values, null), await kit.start(values, null)];
    const before = kit.now;
    await kit.advance('1h');
    const [one, two] = [(await kit.result(first)) as unknown[], (await kit.result(second)) as unknown[]];
    expect(one[1]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(one[1]).not.toBe(two[1]);
    expect(one[3]).toBe(before);
  });

  test('business states follow the declared transitions', async () => {
    const workflow = defineWorkflow({
      id: 'states',
      states: { initial: 'new', transitions: { new: ['packed'], packed: ['sent'] } },
      async run({ step }) {
        step.setState('packed');
        await step.sleep('wait', '1d');
        step.setState('new');
      },
    });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    expect(kit.run(run).businessState).toBe('packed');
    await kit.advance('1d');
    await expect(kit.result(run)).rejects.toThrow('"new" may not follow "packed"; allowed: sent');
  });

  test('business states have their history, and people are told of one that lasts too long', async () => {
    const workflow = defineWorkflow({
      id: 'states',
      states: { initial: 'new', transitions: { new: ['packed'], packed: ['sent'] }, deadlines: { new: '1h', packed: '2h' } },
      async run({ step }) {
        await step.sleep('pack', '30m');
        step.setState('packed');
        await step.sleep('wait', '1d');
        step.setState('sent');
      },
    });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    expect(kit.run(run)).toMatchObject({ businessState: 'new', stateSince: kit.now });
    for (let hour = 0; hour < 25; hour += 1) {
      await kit.advance('1h');
      await kit.reconcile();
    }
    expect(kit.run(run)).toMatchObject({ status: 'completed', businessState: 'sent' });
    const stored = (collection: string): Readonly<Record<string, unknown>>[] =>
      [...kit.host.store.all()].filter(({ path }) => path.split('/').at(-2) === collection).map(({ data }) => data);
    expect(stored('states').map(({ state, from, lastedMs }) => [state, from, lastedMs])).toEqual([
      ['new', undefined, undefined],
      ['packed', 'new', undefined],
      ['sent', 'packed', 86_400_000],
    ]);
    expect(stored('alerts').map(({ kind, businessState }) => [kind, businessState])).toEqual([['state_overdue', 'packed']]);
  });

  test('a fork begins in the business state that its run had come to', async () => {
    const workflow = defineWorkflow({
      id: 'states',
      states: { initial: 'new', transitions: { new: ['packed'], packed: ['sent'] } },
      async run({ step }) {
        step.setState('packed');
        await step.sleep('send', '3h');
        step.setState('sent');
      },
    });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    await kit.advance('3h');
    const ref = { accountId: kit.accountId, runId: run.runId };
    const { runId } = await forkRun(kit.planner.replayer, kit.runtime, ref, { by: { kind: 'user', id: 'operator' }, from: 'send' });
    await kit.host.settle();
    expect(kit.document(paths.run(kit.accountId, runId))).toMatchObject({ status: 'running', businessState: 'packed' });
    const states = [...kit.host.store.all()].filter(({ path }) => path.includes(`/runs/${runId}/states/`));
    expect(states.map(({ data }) => [data['from'], data['state']])).toEqual([[undefined, 'packed']]);
  });

  test('a paused run begins nothing; resumed, it goes on', async () => {
    const workflow = running(async (step) => {
      await step.sleep('first', '1h');
      await step.sleep('second', '1h');
      return step.run('work', () => 'done');
    });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    await kit.command(run, 'pause');
    await kit.advance('5h');
    expect(kit.history(run)).toEqual(['first: succeeded', 'second: ready']);
    await kit.command(run, 'resume');
    await kit.advance('1h');
    expect(await kit.result(run)).toBe('done');
  });

  test('a wall-clock deadline ends the run', async () => {
    const workflow = defineWorkflow({ id: 'deadline', deadline: '1d', run: ({ step }) => step.sleep('long', '2d') });
    const kit = createTestKit({ workflows: [workflow] });
    const run = await kit.start(workflow, null);
    await kit.advance('2d');
    expect(kit.run(run)).toMatchObject({ status: 'failed', error: { code: 'run.deadline' } });
  });

  test('what cannot be deployed is refused when it is declared', () => {
    expect(() => defineWorkflow({ id: '1x', run: () => null })).toThrow('workflow id "1x"');
    expect(() => defineWorkflow({ id: 'x', version: 0, run: () => null })).toThrow('version');
    expect(() => defineWorkflow({ id: 'x', deadline: 'soon', run: () => null })).toThrow('x.deadline is "soon"');
    const one = defineWorkflow({ id: 'x', run: () => null });
    expect(() => new WorkflowRegistry([one, { ...one }])).toThrow('two workflows are "x" version 1');
  });
});

describe('transactions', () => {
  const takes = defineWorkflow({
    id: 'takes',
    input: z.object({ sku: z.string() }),
    run: ({ input, step }) =>
      step.transaction('take', { retry: { maxAttempts: 2 } }, async (tx) => {
        const stock = await tx.get(`stock/${input.sku}`);
        const left = Number(stock?.['left'] ?? 0);
        if (left === 0) throw new Error('sold out');
        tx.update(`stock/${input.sku}`, { left: left - 1, note: undefined });
        tx.create(`taken/${input.sku}-${left}`, { at: left });
        return left - 1;
      }),
  });

  test('the result and the team’s writes commit together, with two writes of the engine', async () => {
    const commits: number[] = [];
    const kit = createTestKit({
      workflows: [takes],
      documents: { 'stock/a': { left: 2, note: 'x' } },
      hooks: { after: (operation) => Promise.resolve(void (operation.kind === 'commit' && commits.push(operation.writes.length))) },
    });
    const run = await kit.start(takes, { sku: 'a' });
    expect(await kit.result(run)).toBe(1);
    expect(kit.document('stock/a')).toEqual({ left: 1 });
    expect(kit.document('taken/a-2')).toEqual({ at: 2 });
  });

  test('an error writes nothing; it is tried again and then fails', async () => {
    const kit = createTestKit({ workflows: [takes], documents: { 'stock/a': { left: 0 } } });
    const run = await kit.start(takes, { sku: 'a' });
    await kit.advance('1m');
    await expect(kit.result(run)).rejects.toThrow('sold out');
    expect(kit.step(run, 'take').attempt).toBe(2);
    expect(kit.document('stock/a')).toEqual({ left: 0 });
  });

  test('a conflict with documents that exist is the step’s failure, not an endless loop', async () => {
    const kit = createTestKit({ workflows: [takes], documents: { 'stock/a': { left: 2 }, 'taken/a-2': { at: 0 } } });
    const run = await kit.start(takes, { sku: 'a' });
    await kit.advance('1m');
    await expect(kit.result(run)).rejects.toThrow('the writes could not be committed');
    expect(kit.document('stock/a')).toEqual({ left: 2 });
  });

  test.each(['accounts/test/runs/x', 'accounts/test/runs/x/steps/y', 'accounts/test/members/m', 'accounts/test', 'system/control'])(
    'the engine’s own document %s is not written',
    async (path) => {
      const error = await errorOf((step) => step.transaction('write', (tx) => tx.set(path, { a: 1 })));
      expect(error.code).toBe('code.path_reserved');
    },
  );
});
