import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import { KilnError } from '../model/errors.ts';
import { defineAction } from '../steps/action-registry.ts';
import { member, Operations } from '../testing/operations.testing.ts';
import type { OperationsOptions } from '../testing/operations.testing.ts';

/** The world outside: what has been done and not undone. */
const world = new Map<string, Json>();
const log: string[] = [];
let onDo: (what: string) => void = () => undefined;
let onUndo: (what: string) => void = () => undefined;

const perform = defineAction({
  name: 'do',
  input: z.looseObject({ what: z.string() }),
  output: z.json(),
  run: ({ what }) => {
    onDo(what);
    world.set(what, `receipt ${what}`);
    log.push(`do ${what}`);
    return { receipt: `receipt ${what}` };
  },
});
const undo = defineAction({
  name: 'undo',
  input: z.looseObject({ what: z.string() }),
  output: z.json(),
  idempotent: true,
  run: (input) => {
    onUndo(input.what);
    world.delete(input.what);
    log.push(`undo ${input.what} ${JSON.stringify(input['receipt'] ?? null)}`);
    return null;
  },
});

const effect = (id: string, more: object = {}): object => ({
  id,
  type: 'action',
  action: 'do',
  inputs: { what: id },
  compensate: {
    type: 'action',
    action: 'undo',
    inputs: { what: id, receipt: `{{step.${id}.receipt | default: "none"}}` },
    retry: { baseMs: 1_000, jitter: 'none' },
  },
  ...more,
});
const ids = ['one', 'two', 'three', 'four', 'five'];
const saga = { onError: 'compensate', steps: ids.map((id) => effect(id)) };
const actions = [perform, undo];

let ops: Operations;

beforeEach(() => {
  world.clear();
  log.length = 0;
  onDo = () => undefined;
  onUndo = () => undefined;
  ops = new Operations({ actions });
});

const refuse = (): never => {
  throw new KilnError('http.client_error', 'refused');
};
const loseAnswer = (what: string): never => {
  world.set(what, 'half done');
  throw new KilnError('http.interrupted', 'the connection broke');
};

describe('a saga of five effects', () => {
  test.each(ids.map((id, i) => [i + 1, id] as const))(
    'that fails at effect %i undoes exactly those before it, the latest first',
    async (position, failing) => {
      onDo = (what) => (what === failing ? refuse() : undefined);
      await ops.publish('wf', saga);
      const run = await ops.start('wf');
      const undone = ids.slice(0, position - 1).reverse();
      expect(log).toEqual([...ids.slice(0, position - 1).map((id) => `do ${id}`), ...undone.map((id) => `undo ${id} "receipt ${id}"`)]);
      expect([...world.keys()]).toEqual([]);
      // With nothing to undo it has simply failed.
      expect(ops.run(run)).toMatchObject({
        status: position === 1 ? 'failed' : 'compensated',
        error: { code: 'http.client_error', stepKey: failing },
      });
      expect(ops.docs('completions').length).toBe(1);
    },
  );

  test.each(ids.slice(1))('in which the answer to "%s" was lost undoes that one as well', async (lost) => {
    onDo = (what) => (what === lost ? loseAnswer(what) : undefined);
    await ops.publish('wf', saga);
    const run = await ops.start('wf');
    expect(ops.states(run)[lost]).toBe('unresolved');
    await ops.command(run, 'resolve', { stepKey: lost, argument: { outcome: 'failed', message: 'give up' } });
    expect(ops.run(run).status).toBe('compensated');
    expect(log.filter((line) => line.startsWith('undo'))[0]).toBe(`undo ${lost} "none"`);
    expect(world.size).toBe(0);
  });

  test('compensates all the same when an undoing fails twice and works the third time', async () => {
    let failures = 2;
    onDo = (what) => (what === 'five' ? refuse() : undefined);
    onUndo = (what) => {
      if (what === 'three' && failures-- > 0) throw new KilnError('http.server_error', '503');
    };
    await ops.publish('wf', saga);
    const run = await ops.start('wf');
    expect(ops.run(run).status).toBe('compensating');
    await ops.host.advance(60_000);
    expect(ops.run(run).status).toBe('compensated');
    expect(ops.step(run, 'three.$undo').attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'succeeded']);
    expect(log.filter((line) => line.startsWith('undo')).map((line) => line.split(' ')[1])).toEqual(['four', 'three', 'two', 'one']);
    expect(world.size).toBe(0);
  });

  test('needs a person when an undoing cannot work, says exactly what is left, and goes on when that is settled', async () => {
    await ops.hire(member('op', ['operator']));
    onDo = (what) => (what === 'five' ? refuse() : undefined);
    onUndo = (what) => (what === 'three' ? refuse() : undefined);
    await ops.publish('wf', saga);
    const run = await ops.start('wf');
    expect(ops.run(run)).toMatchObject({ status: 'needs_resolution', left: ['three'] });
    expect([...world.keys()]).toEqual(['one', 'two', 'three']);
    expect(ops.docs('alerts')).toMatchObject([
      { kind: 'compensation', stepKey: 'three.$undo', text: '"three" could not be undone: refused. 2 more wait for it.' },
    ]);
    expect(ops.sent.length).toBe(1);
    world.delete('three');
    await ops.command(run, 'resolve', { stepKey: 'three.$undo', argument: { outcome: 'succeeded' }, reason: 'done by hand' });
    expect(ops.run(run).status).toBe('compensated');
    expect(ops.run(run).left).toBeUndefined();
    expect(world.size).toBe(0);
  });

  test('retried by a person, the undoing goes on', async () => {
    onDo = (what) => (what === 'five' ? refuse() : undefined);
    onUndo = (what) => (what === 'three' ? refuse() : undefined);
    await ops.publish('wf', saga);
    const run = await ops.start('wf');
    onUndo = () => undefined;
    await ops.command(run, 'retry', { stepKey: 'three.$undo' });
    expect(ops.run(run).status).toBe('compensated');
    expect(world.size).toBe(0);
  });

  test('an effect that a person leaves as it is makes the run failed, not compensated', async () => {
    onDo = (what) => (what === 'five' ? refuse() : undefined);
    onUndo = (what) => (what === 'three' ? refuse() : undefined);
    await ops.publish('wf', saga);
    const run = await ops.start('wf');
    await ops.command(run, 'resolve', { stepKey: 'three.$undo', argument: { outcome: 'failed' }, reason: 'the customer keeps it' });
    expect(ops.run(run)).toMatchObject({ status: 'failed', left: ['three'], error: { code: 'run.not_compensated' } });
    expect([...world.keys()]).toEqual(['three']);
  });
});

describe('what is undone, and when', () => {
  test('on command, after the run has completed; a second time it is refused', async () => {
    await ops.publish('wf', saga);
    const run = await ops.start('wf');
    expect(world.size).toBe(5);
    expect(await ops.command(run, 'compensate')).toMatchObject({ status: 'done', result: '5 effect(s) are undone, the latest first' });
    expect(world.size).toBe(0);
    expect(ops.run(run).status).toBe('compensated');
    expect(await ops.command(run, 'compensate')).toMatchObject({ status: 'refused' });
  });

  test('a run that did nothing that can be undone is left alone', async () => {
    await ops.publish(
      'wf',
      [effect('one', { compensate: undefined })].map((step) => JSON.parse(JSON.stringify(step)) as object),
    );
    const run = await ops.start('wf');
    expect(await ops.command(run, 'compensate')).toMatchObject({
      status: 'refused',
      result: 'the run did nothing that says how it is undone',
    });
    expect(ops.run(run).status).toBe('completed');
  });

  test('a cancel with compensation ends the run and undoes what it did', async () => {
    await ops.publish('wf', [effect('one'), effect('two'), { id: 'w', type: 'wait', for: '1d' }, effect('three')]);
    const run = await ops.start('wf');
    await ops.command(run, 'cancel', { argument: { compensate: true } });
    expect(ops.run(run)).toMatchObject({ status: 'compensated', error: { code: 'run.cancelled' } });
    expect(log).toEqual(['do one', 'do two', 'undo two "receipt two"', 'undo one "receipt one"']);
  });

  test('the deadline of a run undoes it, and does not hold the undoing up', async () => {
    await ops.publish('wf', { onError: 'compensate', deadline: '1h', steps: [effect('one'), { id: 'w', type: 'wait', for: '1d' }] });
    const run = await ops.start('wf');
    await ops.host.advance(2 * 3_600_000);
    await ops.reconcile();
    expect(ops.run(run)).toMatchObject({ status: 'compensated', error: { code: 'run.deadline' } });
    expect(world.size).toBe(0);
  });

  test('each iteration by itself, with its own output', async () => {
    const each = {
      id: 'each',
      type: 'loop',
      concurrency: 2,
      over: { source: 'static', items: ['a', 'b', 'c'] },
      steps: [
        effect('x', {
          inputs: { what: '{{loop_item}}' },
          compensate: { type: 'action', action: 'undo', inputs: { what: '{{loop_item}}', receipt: '{{step.x.receipt}}' } },
        }),
      ],
    };
    await ops.publish('wf', { onError: 'compensate', steps: [each, { id: 'f', type: 'fail', code: 'no' }] });
    const run = await ops.start('wf');
    expect(ops.run(run).status).toBe('compensated');
    expect(log.filter((line) => line.startsWith('undo')).sort()).toEqual([
      'undo a "receipt a"',
      'undo b "receipt b"',
      'undo c "receipt c"',
    ]);
    expect(world.size).toBe(0);
  });

  test('an attempt that is still at work when the run is cancelled is undone only when it must be over', async () => {
    // The process that performs it dies before it can record the result: its lease runs on.
    let dies = true;
    ops = new Operations({
      actions,
      hooks: {
        before: (operation) => {
          const ends = operation.kind === 'commit' && operation.writes.some((write) => write.path.endsWith('/steps/three'));
          return dies && ends ? Promise.reject(new Error('the process died')) : Promise.resolve();
        },
      },
    });
    await ops.publish('wf', [effect('one'), effect('two', { timeout: '60s' }), effect('three')]);
    await expect(ops.start('wf', {}, 'r1')).rejects.toThrow('died');
    dies = false;
    expect(ops.states('r1')).toEqual({ one: 'succeeded', two: 'running' });
    await ops.command('r1', 'cancel', { argument: { compensate: true } });
    expect(ops.step('r1', 'two.$undo')).toMatchObject({ state: 'waiting' });
    await ops.host.advance(70_000);
    expect(log.filter((line) => line.startsWith('undo'))).toEqual([]);
    await ops.host.advance(10_000);
    expect(log.filter((line) => line.startsWith('undo'))).toEqual(['undo two "none"', 'undo one "receipt one"']);
    expect(ops.run('r1').status).toBe('compensated');
  });

  test('an effect that was undone may be brought about again under its business key', async () => {
    const steps = [
      effect('one', { effectKey: 'order:{{workflow_input.order}}' }),
      { id: 'c', type: 'condition', if: 'workflow_input.ok', then: [], else: [{ id: 'f', type: 'fail', code: 'no' }] },
    ];
    await ops.publish('wf', { onError: 'compensate', steps });
    const undone = await ops.start('wf', { order: 7, ok: false });
    expect(ops.run(undone).status).toBe('compensated');
    const second = await ops.start('wf', { order: 7, ok: true });
    expect(ops.run(second).status).toBe('completed');
    const third = await ops.start('wf', { order: 7, ok: true });
    expect(ops.run(third).status).toBe('completed');
    expect(log).toEqual(['do one', 'undo one "receipt one"', 'do one']);
  });

  test('H8 a compensation can look its effect up by the key that the attempts were handed', async () => {
    const looks = effect('one', {
      compensate: {
        type: 'action',
        action: 'undo',
        inputs: { what: 'one', receipt: '{{run.undoes.idempotencyKey}} {{run.undoes.outcome}}' },
      },
    });
    await ops.publish('wf', { onError: 'compensate', steps: [looks, { id: 'f', type: 'fail', code: 'no' }] });
    await ops.start('wf');
    expect(log.at(-1)).toMatch(/^undo one "kiln_[0-9a-f]{40} succeeded"$/);
  });
});

describe('a crash in the middle', () => {
  const settings = (commits: { left: number }, lost: boolean): OperationsOptions => {
    const die = (): Promise<void> => ((commits.left -= 1) === 0 ? Promise.reject(new Error('the process died')) : Promise.resolve());
    return {
      actions,
      redelivers: (error) => error instanceof Error && error.message === 'the process died',
      hooks: lost
        ? { after: ({ kind }) => (kind === 'commit' ? die() : Promise.resolve()) }
        : { before: ({ kind }) => (kind === 'commit' ? die() : Promise.resolve()) },
    };
  };

  test.each([false, true])('at any commit (answer lost: %s) loses nothing and undoes nothing twice', async (lost) => {
    onDo = (what) => (what === 'four' ? refuse() : undefined);
    let crashes = 0;
    for (let at = 1; at <= 40; at += 1) {
      world.clear();
      log.length = 0;
      const commits = { left: Infinity };
      ops = new Operations(settings(commits, lost));
      await ops.publish('wf', { ...saga, steps: ids.map((id) => effect(id, { idempotent: true })) });
      commits.left = at + 1;
      const run = await ops.start('wf', {}, 'r1');
      for (let i = 0; i < 4; i += 1) {
        await ops.host.advance(120_000);
        await ops.reconcile().catch(() => undefined);
      }
      if (commits.left <= 0) crashes += 1;
      expect(ops.run(run).status, `crash at commit ${at}`).toBe('compensated');
      expect(world.size, `crash at commit ${at}`).toBe(0);
      const undone = ops.steps(run).filter(({ type }) => type === '$undo');
      // The fourth as well, when the crash took the answer that it had done nothing.
      expect(undone.map(({ key }) => key)).toEqual(expect.arrayContaining(['one.$undo', 'three.$undo', 'two.$undo']));
      expect(undone.every(({ state }) => state === 'succeeded')).toBe(true);
    }
    expect(crashes).toBeGreaterThan(15);
  });
});
