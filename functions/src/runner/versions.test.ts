import { expect, test } from 'vitest';
import { WorkflowRegistry } from '../durable/define-workflow.ts';
import { defineWorkflow } from '../durable/api.ts';
import { pin, StoredDefinitions } from '../ledger/definitions.ts';
import { paths } from '../model/paths.ts';
import { ACCOUNT, member, Operations } from '../testing/operations.testing.ts';
import { startRun } from './runs.ts';

const noted = (text: string): object => ({ steps: [{ id: 'note', type: 'transform', value: text }] });

async function published(): Promise<Operations> {
  const ops = new Operations();
  await ops.hire(member('op', ['operator']));
  await ops.publish('child', noted('first'));
  await ops.publish('child', noted('second'));
  return ops;
}

const hashOf = (ops: Operations, version: number): unknown => ops.host.store.peek(paths.version(ACCOUNT, 'child', version))?.data['hash'];

test('a run of a chosen version records the hash of that version, not of the newest', async () => {
  const ops = await published();
  const request = { accountId: ACCOUNT, workflowId: 'child', input: null, startedBy: { kind: 'user', id: 'u' } } as const;
  const { runId } = await startRun(ops.runtime, { ...request, version: 1 });
  await ops.host.settle();
  expect(ops.run(runId)).toMatchObject({ version: 1, hash: hashOf(ops, 1), status: 'completed' });
  expect(await ops.output(runId)).toBe('first');
  await expect(startRun(ops.runtime, { ...request, version: 3 })).rejects.toMatchObject({ code: 'definition.not_found' });
});

test('a subworkflow of a chosen version does, too', async () => {
  const ops = await published();
  await ops.publish('parent', [{ id: 'call', type: 'subworkflow', workflow: 'child', version: 1 }]);
  const parent = await ops.start('parent');
  const [child] = ops.docs('runs').filter((run) => run['workflowId'] === 'child');
  expect(child).toMatchObject({ version: 1, hash: hashOf(ops, 1) });
  expect(await ops.output(parent)).toBe('first');
});

test('a fork onto a version that does not exist is refused', async () => {
  const ops = await published();
  const run = await ops.start('child');
  expect(await ops.command(run, 'fork', { argument: { version: 7 } })).toMatchObject({
    status: 'refused',
    result: expect.stringContaining('there is no version 7') as string,
  });
});

test('of a code workflow, a version that is still registered is pinned', async () => {
  const code = new WorkflowRegistry([1, 2].map((version) => defineWorkflow({ id: 'coded', version, run: () => Promise.resolve(version) })));
  const definitions = new StoredDefinitions(new Operations().host.store, code);
  const [newest, first, chosen] = await Promise.all(
    [undefined, 1, 2].map((version) => pin(definitions, { accountId: ACCOUNT, workflowId: 'coded', version })),
  );
  expect(newest).toEqual(chosen);
  expect(first).toMatchObject({ kind: 'code', version: 1 });
  expect(first?.hash).not.toBe(newest?.hash);
});
