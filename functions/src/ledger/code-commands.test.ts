import { describe, expect, test } from 'vitest';
import { defineWorkflow } from '../durable/api.ts';
import { commandDocument } from '../model/client-documents.ts';
import { commandRecordSchema } from '../model/command.ts';
import type { CommandKind, CommandRecord } from '../model/command.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';

let ids = 0;

/** What an operator asks of a code run, and what came of it. */
async function command(
  kit: TestKit,
  run: TestRun<unknown>,
  kind: CommandKind,
  more: { stepKey?: string; argument?: object } = {},
): Promise<CommandRecord> {
  const path = paths.command(kit.accountId, run.runId, `c${(ids += 1)}`);
  const { stepKey, argument } = more;
  const data = commandDocument({
    accountId: kit.accountId,
    runId: run.runId,
    by: 'op',
    at: kit.now,
    kind,
    reason: 'test',
    ...(stepKey === undefined ? {} : { stepKey }),
    ...(argument === undefined ? {} : { argument: JSON.stringify(argument) }),
  });
  await kit.host.store.commit([{ op: 'create', path, data }]);
  await kit.host.settle();
  return commandRecordSchema.parse(kit.host.store.peek(path)?.data);
}

const done: string[] = [];
const workflow = defineWorkflow({
  id: 'code',
  run: async ({ step }) => {
    const first = await step.run('first', () => (done.push('first'), 'one'));
    const event = await step.waitForEvent('paid', { event: 'paid', timeout: '2d' });
    step.onCompensate('refund', () => void done.push('refund'));
    const second = await step.run('second', { idempotent: false }, () => (done.push('second'), 'two'));
    await step.sleep('nap', '1h');
    return { first, payload: event?.payload ?? null, second };
  },
});

function kitOf(): TestKit {
  done.length = 0;
  return createTestKit({ workflows: [workflow] });
}

describe('commands on a code run', () => {
  test('an event is supplied, a sleep is over, and the code goes on', async () => {
    const kit = kitOf();
    const run = await kit.start(workflow, null);
    expect(await command(kit, run, 'override_wait', { stepKey: 'paid', argument: { payload: 5 } })).toMatchObject({ status: 'done' });
    expect(kit.waitingAt(run)).toEqual(['nap']);
    await command(kit, run, 'override_wait', { stepKey: 'nap' });
    expect(await kit.result(run)).toEqual({ first: 'one', payload: 5, second: 'two' });
  });

  test('a step whose outcome nobody knows is settled, and the code sees what the person says', async () => {
    const kit = kitOf();
    kit.mockStep('second', () => {
      throw new KilnError('http.interrupted', 'the connection broke');
    });
    const run = await kit.start(workflow, null);
    await command(kit, run, 'override_wait', { stepKey: 'paid' });
    expect(kit.step(run, 'second').state).toBe('unresolved');
    expect(await command(kit, run, 'retry', { stepKey: 'second', argument: { input: {} } })).toMatchObject({ status: 'refused' });
    await command(kit, run, 'resolve', { stepKey: 'second', argument: { outcome: 'succeeded', output: 'by hand' } });
    await kit.advance('2h');
    expect(await kit.result(run)).toMatchObject({ second: 'by hand' });
  });

  test('a wait is skipped, and the step says so', async () => {
    const kit = kitOf();
    const run = await kit.start(workflow, null);
    await command(kit, run, 'skip', { stepKey: 'paid', argument: { output: { timedOut: true, event: null } } });
    expect(kit.step(run, 'paid').state).toBe('skipped');
    await kit.advance('2h');
    expect(await kit.result(run)).toMatchObject({ payload: null });
  });

  test('what it did is undone on command, once', async () => {
    const kit = kitOf();
    const run = await kit.start(workflow, null);
    await command(kit, run, 'override_wait', { stepKey: 'paid' });
    await kit.advance('2h');
    expect(await command(kit, run, 'compensate')).toMatchObject({ status: 'done' });
    expect(kit.run(run).status).toBe('compensated');
    expect(done).toEqual(['first', 'second', 'refund']);
    expect(await command(kit, run, 'compensate')).toMatchObject({ status: 'refused' });
  });

  test('a fork keeps what the code had recorded before the step', async () => {
    const kit = kitOf();
    const run = await kit.start(workflow, null);
    await command(kit, run, 'override_wait', { stepKey: 'paid', argument: { payload: 1 } });
    await kit.advance('2h');
    done.length = 0;
    const forked = await command(kit, run, 'fork', { stepKey: 'second' });
    expect(forked).toMatchObject({ status: 'done' });
    const runId = /Run (\S+)/.exec(forked.result ?? '')?.[1] ?? '';
    await kit.advance('2h');
    expect(done).toEqual(['second']);
    const record = runRecordSchema.parse(kit.host.store.peek(paths.run(kit.accountId, runId))?.data);
    expect(record).toMatchObject({ status: 'completed', forkedFrom: { runId: run.runId, stepKey: 'second' } });
    expect(await kit.result({ runId, workflow: { id: 'code' } })).toEqual({ first: 'one', payload: 1, second: 'two' });
  });
});
