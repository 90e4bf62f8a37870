import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import { paths } from '../model/paths.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, member, Operations } from '../testing/operations.testing.ts';
import { stateRecordSchema } from './business-states.ts';

const HOUR = 3_600_000;
const calls: Json[] = [];
const act = defineAction({
  name: 'act',
  input: z.looseObject({}),
  output: z.json(),
  idempotent: true,
  run: (input) => calls.push(input as Json),
});

const states = {
  initial: 'received',
  transitions: { received: ['approved', 'refused'], approved: ['paid'], paid: [], refused: [] },
  deadlines: { approved: '2h' },
};
const step = (id: string, setsState?: string): object => ({
  id,
  type: 'action',
  action: 'act',
  inputs: { id },
  ...(setsState === undefined ? {} : { setsState }),
});
const pause = (id: string, time: string): object => ({ id, type: 'wait', for: time });

let ops: Operations;

beforeEach(() => {
  calls.length = 0;
  ops = new Operations({ actions: [act] });
});

const historyOf = (run: string): Record<string, unknown>[] =>
  [...ops.host.store.all()]
    .filter(({ path }) => path.startsWith(`${paths.run(ACCOUNT, run)}/states/`))
    .map(({ data }) => stateRecordSchema.parse(data))
    .sort((a, b) => a.at - b.at)
    .map(({ state, lastedMs, stepKey }) => ({ state, lastedMs, stepKey }));

async function pass(hours: number): Promise<void> {
  for (let i = 0; i < hours * 4; i += 1) {
    await ops.host.advance(HOUR / 4);
    await ops.reconcile();
  }
}

describe('business states', () => {
  test('steps set them; how long each lasted is kept', async () => {
    await ops.publish('wf', { states, steps: [pause('w', '1h'), step('a', 'approved'), pause('v', '30m'), step('b', 'paid')] });
    const run = await ops.start('wf');
    expect(ops.run(run).businessState).toBe('received');
    await pass(2);
    expect(ops.run(run)).toMatchObject({ status: 'completed', businessState: 'paid' });
    expect(historyOf(run)).toEqual([
      { state: 'received', lastedMs: undefined, stepKey: undefined },
      { state: 'approved', lastedMs: HOUR, stepKey: 'a' },
      { state: 'paid', lastedMs: HOUR / 2, stepKey: 'b' },
    ]);
  });

  test('a fork begins in the state that the kept steps brought the run to', async () => {
    await ops.publish('wf', { states, steps: [step('a', 'approved'), pause('v', '30m'), step('b', 'paid')] });
    const run = await ops.start('wf');
    await pass(1);
    const done = await ops.command(run, 'fork', { stepKey: 'v' });
    const copy = /Run (\S+)/.exec(done.result ?? '')?.[1] ?? '';
    expect(ops.run(copy)).toMatchObject({ status: 'running', businessState: 'approved' });
    await pass(1);
    expect(ops.run(copy)).toMatchObject({ status: 'completed', businessState: 'paid' });
    expect(historyOf(copy)).toEqual([
      { state: 'approved', lastedMs: undefined, stepKey: undefined },
      { state: 'paid', lastedMs: HOUR / 2, stepKey: 'b' },
    ]);
  });

  test('a transition that is not declared is refused before the step does anything', async () => {
    await ops.publish('wf', { states, steps: [step('a', 'refused'), step('b', 'paid')] });
    const run = await ops.start('wf');
    expect(ops.run(run)).toMatchObject({ status: 'failed', businessState: 'refused', error: { code: 'state.not_allowed', stepKey: 'b' } });
    expect(calls).toEqual([{ id: 'a' }]);
  });

  test('of two branches that set states which exclude each other, one fails', async () => {
    ops = new Operations({ actions: [act], concurrent: true });
    await ops.publish('wf', {
      states,
      steps: [{ id: 'fan', type: 'parallel', branches: { yes: [step('a', 'approved')], no: [step('b', 'refused')] } }],
    });
    const run = await ops.start('wf');
    expect(Object.values(ops.states(run)).filter((state) => state === 'failed').length).toBe(1);
    expect(historyOf(run).length).toBe(2);
    expect(ops.run(run).businessState).toBe(ops.states(run)['fan.yes.a'] === 'succeeded' ? 'approved' : 'refused');
  });

  test('a state that lasts too long is told once; one that is left in time is not', async () => {
    await ops.hire(member('op', ['operator']));
    await ops.publish('late', { states, steps: [step('a', 'approved'), pause('v', '5h'), step('b', 'paid')] });
    await ops.publish('quick', { states, steps: [step('a', 'approved'), pause('v', '1h'), step('b', 'paid'), pause('u', '5h')] });
    const late = await ops.start('late');
    await ops.start('quick');
    await pass(4);
    expect(ops.docs('alerts').map((doc) => [doc['runId'], doc['kind'], doc['title']])).toEqual([
      [late, 'state_overdue', `late ${late} is still "approved"`],
    ]);
    expect(ops.sent.length).toBe(1);
    expect(ops.docs('watches')).toEqual([]);
  });
});

describe('what a run is found by', () => {
  test('its business key and attributes come from the input', async () => {
    await ops.publish('wf', {
      businessKey: 'inv-{{workflow_input.id}}',
      attributes: { customer: '{{workflow_input.customer}}' },
      steps: [step('a')],
    });
    const run = await ops.start('wf', { id: 7, customer: 'ACME' });
    expect(ops.run(run)).toMatchObject({
      businessKey: 'inv-7',
      attributes: { customer: 'ACME' },
      tags: ['$by=user:starter', 'customer=ACME'],
    });
  });

  test('an input without them is rejected, with the reason', async () => {
    await ops.publish('wf', { businessKey: 'inv-{{workflow_input.id}}', steps: [step('a')] });
    const run = await ops.start('wf', {});
    expect(ops.run(run).status).toBe('rejected');
    expect(ops.run(run).problems).toContain('workflow_input has no path id');
  });
});
