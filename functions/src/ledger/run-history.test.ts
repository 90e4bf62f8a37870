import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineWorkflow } from '../durable/api.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { attendCompletion } from '../runner/runs.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, Operations } from '../testing/operations.testing.ts';
import { createTestKit } from '../testing/test-kit.ts';
import { readHistory, verifyStored } from './history.ts';

const anything = { input: z.looseObject({}), output: z.json(), idempotent: true } as const;
const perform = defineAction({ name: 'do', ...anything, run: () => 'done' });
const break_ = defineAction({
  name: 'break',
  ...anything,
  run: () => {
    throw new KilnError('step.failed', 'the card number 4711 was refused');
  },
});
const effect = (id: string, action = 'do'): object => ({
  id,
  type: 'action',
  action,
  compensate: { type: 'action', action: 'do' },
});

const told = async (ops: Operations, run: string): Promise<readonly (readonly [string, string])[]> =>
  (await ops.history(run)).map(({ by, text }) => [by, text] as const);

async function broken(ops: Operations, definition: object): Promise<string> {
  await ops.publish('wf', definition);
  return ops.start('wf');
}

test('a graph run’s history begins with who started it and ends with how it ended, by code and not by message', async () => {
  const ops = new Operations({ actions: [perform, break_] });
  const run = await broken(ops, { steps: [effect('pay'), effect('ship', 'break')] });
  expect(await told(ops, run)).toEqual([
    ['starter', 'A run of version 1 of "wf" was started'],
    ['system', 'The run failed at "ship": step.failed'],
  ]);
  expect((await ops.history(run)).map(({ data }) => data ?? '').join()).not.toContain('4711');
  expect(await verifyStored(ops.host.store, paths.historyOf(ACCOUNT, run))).toMatchObject({ ok: true, entries: 2 });
});

test('an end is told once however often it is attended, and each end that a run comes to is told', async () => {
  const ops = new Operations({ actions: [perform] });
  const run = await broken(ops, { steps: [effect('pay')] });
  await attendCompletion(ops.runtime, { accountId: ACCOUNT, runId: run });
  await ops.command(run, 'compensate', { by: 'olga', reason: 'ordered twice' });
  await ops.host.advance(120_000);
  await ops.reconcile();
  await attendCompletion(ops.runtime, { accountId: ACCOUNT, runId: run });
  expect(await told(ops, run)).toEqual([
    ['starter', 'A run of version 1 of "wf" was started'],
    ['system', 'The run completed'],
    ['olga', '1 effect(s) are undone, the latest first. Reason: ordered twice'],
    ['system', 'What the run did has been undone'],
  ]);
  expect(await verifyStored(ops.host.store, paths.historyOf(ACCOUNT, run))).toMatchObject({ ok: true, entries: 4 });
});

test('a run that is refused, a fork and a child that goes with its parent say so', async () => {
  const ops = new Operations({ actions: [perform] });
  await ops.publish('child', [{ id: 'w', type: 'wait', for: '1h' }]);
  const parent = await broken(ops, { steps: [{ id: 'sub', type: 'subworkflow', workflow: 'child' }] });
  const child =
    ops.step(parent, 'sub').wait?.kind === 'run'
      ? ops
          .docs('runs')
          .map((doc) => String(doc['runId']))
          .find((id) => id !== parent)
      : undefined;
  await ops.command(parent, 'cancel', { by: 'olga', reason: 'enough' });
  expect(await told(ops, child ?? '')).toEqual([
    [`run:${parent}`, `A run of version 1 of "child" was started by run "${parent}"`],
    [`run:${parent}`, 'Cancelled. Reason: the parent run ended'],
    ['system', 'The run was cancelled'],
  ]);
  await ops.command(parent, 'fork', { by: 'olga' });
  const fork = ops
    .docs('runs')
    .map((doc) => String(doc['runId']))
    .find((id) => ops.run(id).forkedFrom !== undefined);
  expect((await told(ops, fork ?? ''))[0]).toEqual(['olga', `A run of version 1 of "wf" was started to go on from run ${parent}`]);

  await ops.publish('strict', { input: { type: 'object', properties: {}, required: ['amount'] }, steps: [effect('pay')] });
  const refused = await ops.start('strict');
  expect((await told(ops, refused)).at(-1)).toEqual(['system', 'The run was refused before its first step: preflight.failed']);
});

test('a code run’s history begins and ends like that of a graph run', async () => {
  const workflow = defineWorkflow({ id: 'code', timeout: '1h', run: ({ step }) => step.run('a', () => 1) });
  const kit = createTestKit({ workflows: [workflow] });
  const run = await kit.start(workflow, null);
  const entries = await readHistory(kit.host.store, paths.historyOf(kit.accountId, run.runId));
  expect(entries.map(({ text }) => text)).toEqual([expect.stringContaining('of "code" was started'), 'The run completed']);
});
