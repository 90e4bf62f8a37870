import { beforeEach, expect, test } from 'vitest';
import { canonicalJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { requestDocument } from '../model/client-documents.ts';
import { paths } from '../model/paths.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, Operations } from '../testing/operations.testing.ts';
import { z } from '../testing/zod.testing.ts';
import { deleteRun, deleteSteps, erasePayloads } from './erase-run.ts';
import { startRun } from '../runner/runs.ts';
import { eventRecord } from './events.ts';
import { storePayload } from './payloads.ts';
import { attendRequest } from './requests.ts';

let payments = 0;
const pay = defineAction({
  name: 'pay',
  input: z.object({ name: z.string() }),
  output: z.json(),
  run: ({ name }) => ({ paidTo: name, n: (payments += 1) }),
});

let ops: Operations;
let runId: string;

beforeEach(async () => {
  payments = 0;
  ops = new Operations({ actions: [pay] });
  await ops.publish('wf', {
    steps: [
      {
        id: 'confirmed',
        type: 'wait',
        event: { name: 'confirmed', match: 'event.payload.name == vars.name', vars: { name: '{{workflow_input.name}}' } },
      },
      { id: 'pay', type: 'action', action: 'pay', inputs: { name: '{{workflow_input.name}}' }, effectKey: 'pay:{{workflow_input.n}}' },
    ],
  });
  runId = await ask('one', { name: 'Erika Muster', n: 1 });
});

/** A member asks for a run, as the app does, and what it waits for comes. */
async function ask(id: string, input: Json): Promise<string> {
  const data = requestDocument({ accountId: ACCOUNT, id, by: 'starter', at: 0, workflowId: 'wf', input: JSON.stringify(input) });
  await ops.host.store.commit([{ op: 'create', path: paths.request(ACCOUNT, id), data }]);
  await attendRequest(ops.runtime, ACCOUNT, id);
  await ops.host.settle();
  const event = { eventId: `e-${id}`, name: 'confirmed', payload: input, source: 'test' };
  const { payload } = storePayload({ accountId: ACCOUNT, runId: 'none' }, 'e', canonicalJson(input));
  await ops.host.store.commit([
    { op: 'set', path: paths.event(ACCOUNT, event.eventId), data: eventRecord(ACCOUNT, event, payload, ops.host.now) },
  ]);
  await ops.host.settle();
  return String(ops.host.store.peek(paths.request(ACCOUNT, id))?.data['runId']);
}

/** Everything in the account but events, which go after 30 days by themselves. */
function texts(): string {
  return JSON.stringify([...ops.host.store.all()].filter(({ path }) => !path.includes('/events/')));
}

test('what a run left beside itself is erased with what it carried: waits, the request, the result of its effect', async () => {
  expect(ops.run(runId).status).toBe('completed');
  expect(ops.docs('waits')).toHaveLength(1);
  await erasePayloads(ops.host.store, ops.run(runId), ops.host.now);
  expect(ops.docs('waits')).toEqual([]);
  expect(ops.docs('requests')).toEqual([]);
  expect(texts()).not.toContain('Muster');
});

test('an effect whose run was erased is still not repeated', async () => {
  await erasePayloads(ops.host.store, ops.run(runId), ops.host.now);
  const second = await ask('two', { name: 'Somebody else', n: 1 });
  expect(ops.run(second).status).toBe('completed');
  expect(payments).toBe(1);
  expect(await ops.output(second)).toEqual({ erased: true });
});

test('a request that was erased starts no second run when it is made again', async () => {
  await erasePayloads(ops.host.store, ops.run(runId), ops.host.now);
  expect(await ask('one', { name: 'Erika Muster', n: 1 })).toBe(runId);
});

test('a run that goes takes its start key along, unless another run has it by now', async () => {
  const input = { name: 'a', n: 2 };
  const start = { accountId: ACCOUNT, workflowId: 'wf', input, startedBy: { kind: 'user', id: 'u' } } as const;
  expect(ops.docs('startKeys')).toHaveLength(1);
  await deleteSteps(ops.host.store, ops.run(runId));
  await deleteRun(ops.host.store, ops.run(runId));
  expect(ops.docs('startKeys')).toEqual([]);

  const first = await startRun(ops.runtime, { ...start, startKey: 'k' });
  await ops.host.settle();
  await ops.command(first.runId, 'cancel');
  const second = await startRun(ops.runtime, { ...start, startKey: 'k' });
  await deleteRun(ops.host.store, ops.run(first.runId));
  expect(ops.docs('startKeys')).toMatchObject([{ runId: second.runId }]);
});
