import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import { KilnError } from '../model/errors.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, Operations } from '../testing/operations.testing.ts';
import { attendCommand } from './commands.ts';
import { countedNodes } from './joins.ts';

const calls: string[] = [];
let broken: (what: string) => boolean = () => false;

const work = defineAction({
  name: 'work',
  input: z.looseObject({}),
  output: z.json(),
  idempotent: true,
  run: (input) => {
    const what = JSON.stringify(input['what'] ?? input);
    calls.push(what);
    if (broken(what)) throw new KilnError('http.client_error', `${what} was refused`);
    return `did ${String(input['what'])}` as Json;
  },
});

const HOUR = 3_600_000;
const value = (id: string, what: Json, more: object = {}): object => ({ id, type: 'transform', value: what, ...more });
const act = (id: string, what: string, more: object = {}): object => ({ id, type: 'action', action: 'work', inputs: { what }, ...more });
const loop = (id: string, items: Json, steps: object[], more: object = {}): object => ({
  id,
  type: 'loop',
  over: { source: 'static', items },
  steps,
  ...more,
});

let ops: Operations;

beforeEach(() => {
  calls.length = 0;
  broken = () => false;
  ops = new Operations({ actions: [work] });
});

async function forked(run: string, options: Parameters<Operations['command']>[2], kind: 'fork' | 'retry' = 'fork'): Promise<string> {
  const done = await ops.command(run, kind, options);
  expect(done).toMatchObject({ status: 'done' });
  return /Run (\S+)/.exec(done.result ?? '')?.[1] ?? '';
}

describe('a fork', () => {
  test('H2 goes on from inside the third iteration of a loop in a branch, with all that came before it kept', async () => {
    const each = loop(
      'each',
      ['a', 'b', 'c', 'd'],
      [act('first', 'first {{loop_item}}'), act('second', 'second {{loop_item}} after {{step.first}}')],
    );
    await ops.publish('wf', [
      act('start', 'start'),
      {
        id: 'fan',
        type: 'parallel',
        branches: { left: [act('before', 'before {{step.start}}'), each, act('after', 'after')], right: [act('side', 'side')] },
      },
      value('end', '{{step.fan}}'),
    ]);
    const run = await ops.start('wf');
    const whole = await ops.output(run);
    calls.length = 0;
    const next = await forked(run, { stepKey: 'fan.left.each[2].second' });
    expect(calls).toEqual(['"second c after did first c"', '"first d"', '"second d after did first d"', '"after"']);
    expect(await ops.output(next)).toEqual(whole);
    expect(ops.run(next)).toMatchObject({ status: 'completed', forkedFrom: { runId: run, stepKey: 'fan.left.each[2].second' } });
    expect(ops.states(next)).toEqual(ops.states(run));
    expect(ops.step(next, 'fan.left.each[1].second').endedAt).toBe(ops.step(run, 'fan.left.each[1].second').endedAt);
  });

  test('leaves the original as it is, and links both', async () => {
    await ops.publish('wf', [act('a', 'a'), act('b', 'b')]);
    const run = await ops.start('wf');
    const itself = (): string =>
      JSON.stringify([...ops.host.store.all()].filter(({ path }) => path.includes(`/runs/${run}`) && !/history|commands/.test(path)));
    const before = itself();
    const next = await forked(run, { stepKey: 'b', by: 'olga', reason: 'b was wrong' });
    expect(itself()).toBe(before);
    expect((await ops.history(run)).slice(2).map(({ kind, by, data }) => [kind, by, JSON.parse(data ?? '{}')])).toEqual([
      ['command_fork', 'olga', { commandId: 'c1', stepKey: 'b', forkedTo: next }],
    ]);
    expect(ops.run(next)).toMatchObject({ forkedFrom: { runId: run, stepKey: 'b' }, startedBy: { kind: 'user', id: 'olga' } });
  });

  test('waits for its turn where the workflow limits how many run at once, and holds a place then', async () => {
    await ops.publish('wf', { concurrency: { limit: 1 }, steps: [act('a', 'a'), { id: 'w', type: 'wait', for: '1h' }, act('b', 'b')] });
    broken = (what) => what === '"b"';
    const run = await ops.start('wf');
    await ops.host.advance(HOUR);
    expect(ops.run(run).status).toBe('failed');
    broken = () => false;
    const second = await ops.start('wf');
    expect(ops.run(second).status).toBe('running');
    const id = await ops.ask(run, 'fork', { stepKey: 'w' });
    await ops.host.settle();
    const waiting = ops.commandOf(run, id);
    expect(waiting).toMatchObject({ status: 'pending', result: expect.stringContaining('concurrency is used up') as string });
    expect(ops.docs('runs')).toHaveLength(2);
    await ops.host.advance(HOUR);
    await ops.reconcile();
    const done = ops.commandOf(run, id);
    expect(done).toMatchObject({ status: 'done' });
    const fork = /Run (\S+)/.exec(done.result ?? '')?.[1] ?? '';
    expect(ops.run(fork)).toMatchObject({ status: 'running', slots: [expect.any(String) as string] });
    const third = await ops.start('wf');
    expect(ops.run(third)).toMatchObject({ status: 'pending', queuedFor: 'concurrency' });
  });

  test('goes on with another version; one that lacks the step is refused', async () => {
    await ops.publish('wf', [act('a', 'a'), act('b', 'b')]);
    const run = await ops.start('wf');
    await ops.publish('wf', [act('a', 'a2'), act('new', 'new'), act('b', 'b2'), act('c', 'c')]);
    await ops.publish('wf', [act('a', 'a3')]);
    calls.length = 0;
    const next = await forked(run, { stepKey: 'b', argument: { version: 2 } });
    expect(calls).toEqual(['"b2"', '"c"']);
    expect(ops.run(next)).toMatchObject({ version: 2, status: 'completed' });
    expect(ops.states(next)).toEqual({ a: 'succeeded', b: 'succeeded', c: 'succeeded' });
    expect(await ops.command(run, 'fork', { stepKey: 'b', argument: { version: 3 } })).toMatchObject({ status: 'refused' });
    expect(await ops.command(run, 'fork', { stepKey: 'b', argument: { version: 9 } })).toMatchObject({ status: 'refused' });
  });

  test('without a step it begins again with the same input', async () => {
    await ops.publish('wf', [act('a', '{{workflow_input.n}}')]);
    const run = await ops.start('wf', { n: 7 });
    const next = await forked(run, {});
    expect(calls).toEqual(['7', '7']);
    expect(ops.run(next)).toMatchObject({ status: 'completed', forkedFrom: { runId: run, stepKey: '' } });
  });

  test('takes large values along', async () => {
    await ops.publish('wf', [value('big', '{{workflow_input.big}}'), act('a', 'a'), value('end', '{{step.big}}')]);
    const run = await ops.start('wf', { big: 'x'.repeat(700_000) });
    const next = await forked(run, { stepKey: 'a' });
    expect(await ops.output(next)).toBe('x'.repeat(700_000));
  });

  test('keeps the branch that a condition chose, and goes on behind it', async () => {
    await ops.publish('wf', [
      {
        id: 'c',
        type: 'condition',
        if: 'workflow_input.n > 3',
        then: [act('big', 'big'), act('bigger', 'bigger')],
        else: [act('small', 'small')],
      },
      act('after', '{{step.bigger | default: "none"}}'),
    ]);
    const run = await ops.start('wf', { n: 5 });
    calls.length = 0;
    await forked(run, { stepKey: 'c.then.bigger' });
    expect(calls).toEqual(['"bigger"', '"did bigger"']);
    calls.length = 0;
    await forked(run, { stepKey: 'after' });
    expect(calls).toEqual(['"did bigger"']);
  });

  test('goes on from inside an exception path', async () => {
    await ops.publish('wf', [
      { id: 'f', type: 'fail', code: 'no_stock', onException: { no_stock: [act('x', 'x'), act('y', 'y')] } },
      act('after', 'after'),
    ]);
    const run = await ops.start('wf');
    calls.length = 0;
    const next = await forked(run, { stepKey: 'f.onException.y' });
    expect(calls).toEqual(['"y"', '"after"']);
    expect(ops.states(next)).toEqual(ops.states(run));
  });

  test('attended twice at once it makes one run', async () => {
    await ops.publish('wf', [act('a', 'a'), act('b', 'b')]);
    const run = await ops.start('wf');
    const id = await ops.ask(run, 'fork', { stepKey: 'b' });
    const ref = { accountId: ACCOUNT, runId: run };
    await Promise.all([attendCommand(ops.runtime, ref, id), attendCommand(ops.runtime, ref, id)]);
    await ops.host.settle();
    expect(ops.docs('runs').filter((doc) => doc['forkedFrom'] !== undefined).length).toBe(1);
    expect(calls.filter((call) => call === '"b"').length).toBe(2);
  });

  test('a crash anywhere in the middle loses nothing: the command is carried out when it is attended again', async () => {
    let commits = Infinity;
    ops = new Operations({
      actions: [work],
      hooks: { before: ({ kind }) => (kind === 'commit' && (commits -= 1) < 0 ? Promise.reject(new Error('died')) : Promise.resolve()) },
    });
    await ops.publish('wf', [
      value('big', '{{workflow_input}}'),
      act('a', 'a'),
      loop('each', [1, 2, 3], [act('b', '{{loop_item}}')]),
      act('end', 'end'),
    ]);
    const run = await ops.start('wf', 'x'.repeat(2_500_000));
    const id = await ops.ask(run, 'fork', { stepKey: 'each[1].b' });
    let deaths = 0;
    for (let at = 0; at < 20; at += 1) {
      commits = at;
      try {
        await attendCommand(ops.runtime, { accountId: ACCOUNT, runId: run }, id);
        break;
      } catch {
        deaths += 1;
      }
    }
    commits = Infinity;
    await ops.host.settle();
    expect(deaths).toBeGreaterThan(1);
    expect(ops.commandOf(run, id).status).toBe('done');
    const next = ops.docs('runs').filter((doc) => doc['forkedFrom'] !== undefined);
    expect(next.map((doc) => doc['status'])).toEqual(['completed']);
  });
});

describe('retrying a failed run', () => {
  test('goes on from the failed step in a new run; the failed one stays as it is', async () => {
    broken = (what) => what === '"b"';
    await ops.publish('wf', [act('a', 'a'), act('b', 'b'), act('c', 'c')]);
    const run = await ops.start('wf');
    expect(ops.run(run)).toMatchObject({ status: 'failed', error: { stepKey: 'b' } });
    broken = () => false;
    calls.length = 0;
    const next = await forked(run, {}, 'retry');
    expect(calls).toEqual(['"b"', '"c"']);
    expect([ops.run(run).status, ops.run(next).status]).toEqual(['failed', 'completed']);
  });

  test('asked twice, it is one new run, and the second answer names it; another input is another run', async () => {
    broken = (what) => what === '"b"';
    await ops.publish('wf', [act('a', 'a'), act('b', 'b')]);
    const run = await ops.start('wf');
    broken = () => false;
    const next = await forked(run, {}, 'retry');
    calls.length = 0;
    expect(await ops.command(run, 'retry')).toMatchObject({
      status: 'done',
      result: `Run ${next} went on from there already; it is completed`,
    });
    expect(calls).toEqual([]);
    expect(await forked(run, { argument: { input: { inputs: { what: 'c' } } } }, 'retry')).not.toBe(next);
  });

  test('in a loop with several lanes: what is done is kept, what failed or was cut off is done again, the rest follows', async () => {
    broken = (what) => what === '2';
    await ops.publish('wf', [
      loop('each', [0, 1, 2, 3, 4, 5, 6, 7], [act('x', '{{loop_item}}'), { id: 'w', type: 'wait', for: '1m' }, act('y', '{{loop_item}}')], {
        concurrency: 4,
      }),
      act('end', 'end'),
    ]);
    const run = await ops.start('wf');
    await ops.host.advance(3_600_000);
    expect(ops.run(run)).toMatchObject({ status: 'failed', error: { code: 'step.iteration_failed' } });
    broken = () => false;
    calls.length = 0;
    const next = await forked(run, {}, 'retry');
    await ops.host.advance(3_600_000);
    expect(ops.run(next).status).toBe('completed');
    // What ended before the failure was not done again.
    expect(calls.filter((call) => call === '0').length).toBe(1);
    expect(await ops.output(next)).toBe('did end');
    expect(ops.step(next, 'each').output?.json).toBe(JSON.stringify([0, 1, 2, 3, 4, 5, 6, 7].map((i) => `did ${i}`)));
  });

  test('with an edited input', async () => {
    broken = (what) => what === '"bad"';
    await ops.publish('wf', [act('a', '{{workflow_input.what}}')]);
    const run = await ops.start('wf', { what: 'bad' });
    const next = await forked(run, { argument: { input: { inputs: { what: 'good' } } } }, 'retry');
    expect(await ops.output(next)).toBe('did good');
    expect(JSON.parse(ops.step(next, 'a').input?.json ?? '')).toMatchObject({ inputs: { what: 'good' } });
  });

  test('failures that a loop put up with stay as they are', async () => {
    broken = (what) => what === '1' || what === '"end"';
    await ops.publish('wf', [loop('each', [0, 1, 2], [act('x', '{{loop_item}}')], { onItemError: 'continue' }), act('end', 'end')]);
    const run = await ops.start('wf');
    broken = () => false;
    calls.length = 0;
    const next = await forked(run, {}, 'retry');
    expect(calls).toEqual(['"end"']);
    expect(ops.step(next, 'each').output).toEqual(ops.step(run, 'each').output);
    // Forked from inside it, the failed iteration keeps its failure, too.
    const inside = await forked(run, { stepKey: 'each[2].x' });
    expect(ops.step(inside, 'each').output).toEqual(ops.step(run, 'each').output);
  });

  test('a settled branch that failed keeps its failure when another is done again', async () => {
    broken = (what) => what === '"l"';
    await ops.publish('wf', [
      { id: 'fan', type: 'parallel', branches: { l: [act('l', 'l')], r: [act('r', 'r'), act('r2', 'r2')] } },
      value('end', '{{step.fan}}'),
    ]);
    const run = await ops.start('wf');
    calls.length = 0;
    const next = await forked(run, { stepKey: 'fan.r.r2' });
    expect(calls).toEqual(['"r2"']);
    expect(await ops.output(next)).toEqual(await ops.output(run));
  });
});

describe('lanes that have been counted', () => {
  test('fill nodes as counting them one by one does', () => {
    const nodes = countedNodes(
      'each',
      40,
      [...Array(17).keys()].map((lane) => ({ lane, seq: 2 })),
    );
    expect(nodes.map(({ id, node }) => [id, node.members.length, node.seqSum])).toEqual([
      ['each:0:0', 16, 32],
      ['each:0:1', 1, 2],
      ['each:1:0', 1, 32],
    ]);
  });

  test('a fork of a loop with forty lanes joins once', async () => {
    await ops.publish('wf', [loop('each', [...Array(40).keys()], [act('x', '{{loop_item}}')], { concurrency: 40 }), act('end', 'end')]);
    const run = await ops.start('wf');
    calls.length = 0;
    const next = await forked(run, { stepKey: 'each[20].x' });
    expect(calls).toEqual(['20', '"end"']);
    expect(ops.step(next, 'each').output).toEqual(ops.step(run, 'each').output);
  });
});
