import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { approvalRecordSchema } from '../model/approval.ts';
import { defineAction } from '../steps/action-registry.ts';
import { readSeries, TOTAL } from '../telemetry/metrics.ts';
import { samplesOf } from '../telemetry/series.ts';
import { ACCOUNT, member, Operations } from '../testing/operations.testing.ts';
import { attendCommand } from './commands.ts';

const HOUR = 3_600_000;
const calls: Json[] = [];
let answer: (input: Json, nth: number) => Json = (input) => input;

const charge = defineAction({
  name: 'charge',
  input: z.looseObject({}),
  output: z.json(),
  run: (input) => {
    calls.push(input as Json);
    return answer(input as Json, calls.length);
  },
});
const echo = defineAction({ name: 'echo', input: z.looseObject({}), output: z.json(), idempotent: true, run: (input) => input as Json });

const value = (id: string, what: Json, more: object = {}): object => ({ id, type: 'transform', value: what, ...more });
const act = (id: string, action: string, more: object = {}): object => ({ id, type: 'action', action, ...more });

let ops: Operations;

beforeEach(() => {
  calls.length = 0;
  answer = (input) => input;
  ops = new Operations({ actions: [charge, echo] });
});

/** The attempt was cut off: nobody knows whether the charge happened. */
const cutOff = (): never => {
  throw new KilnError('http.interrupted', 'the connection broke');
};

describe('pause and resume', () => {
  test('H1 nothing begins while the run is paused; timers keep their time', async () => {
    await ops.publish('wf', [{ id: 'w', type: 'wait', for: '1h' }, value('end', 'done')]);
    const run = await ops.start('wf');
    expect(await ops.command(run, 'pause')).toMatchObject({ status: 'done' });
    await ops.host.advance(2 * HOUR);
    expect(ops.states(run)).toEqual({ w: 'succeeded', end: 'ready' });
    expect(ops.run(run).status).toBe('paused');
    await ops.command(run, 'resume');
    expect(ops.run(run)).toMatchObject({ status: 'completed' });
  });

  test('a thousand live steps are all held, in turns', async () => {
    const each = {
      id: 'each',
      type: 'loop',
      concurrency: 1_000,
      over: { source: 'workflowInput', path: 'n' },
      steps: [{ id: 'w', type: 'wait', for: '1h' }],
    };
    await ops.publish('wf', [each]);
    const run = await ops.start('wf', { n: Array.from({ length: 1_000 }, (_, i) => i) });
    await ops.command(run, 'pause');
    expect(ops.steps(run).filter(({ gate }) => gate === 'open')).toEqual([]);
    await ops.command(run, 'resume');
    expect(ops.steps(run).filter(({ gate }) => gate === 'paused')).toEqual([]);
    await ops.host.advance(HOUR);
    expect(ops.run(run).status).toBe('completed');
  });

  test('resuming what is not paused is refused, with the reason', async () => {
    await ops.publish('wf', [{ id: 'w', type: 'wait', for: '1h' }]);
    const run = await ops.start('wf');
    expect(await ops.command(run, 'resume')).toMatchObject({ status: 'refused', result: 'the run is going on' });
  });
});

describe('cancel', () => {
  test('R3 H7 ends waits, requests and child runs; nothing of them happens later', async () => {
    await ops.hire(member('ann', ['approver']));
    await ops.publish('child', [{ id: 'w', type: 'wait', for: '1d' }]);
    const branches = {
      event: [{ id: 'e', type: 'wait', event: { name: 'paid' } }],
      ask: [{ id: 'a', type: 'approval', title: 'Sure?', approvers: { users: ['ann'] } }],
      child: [{ id: 's', type: 'subworkflow', workflow: 'child' }],
      again: [act('t', 'charge', { idempotent: true })],
    };
    answer = () => {
      throw new KilnError('http.server_error', '503');
    };
    await ops.publish('wf', [{ id: 'fan', type: 'parallel', branches }, value('end', 'done')]);
    const run = await ops.start('wf');
    const child = [...ops.host.store.all()].find(({ data }) => data['workflowId'] === 'child' && data['status'] === 'running')?.id ?? '';
    expect(ops.run(run).pendingApprovals).toBe(1);
    await ops.command(run, 'cancel', { reason: 'wrong customer' });
    expect(ops.run(run)).toMatchObject({ status: 'cancelled', pendingApprovals: 0, error: { message: 'cancelled by op: wrong customer' } });
    expect(ops.run(child)).toMatchObject({ status: 'cancelled' });
    const before = calls.length;
    await ops.host.advance(48 * HOUR);
    expect(calls.length).toBe(before);
    expect(ops.docs('approvals').map((doc) => doc['status'])).toEqual(['cancelled']);
    expect(ops.docs('waits').map((doc) => doc['state'])).toEqual(['closed']);
    expect(Object.values(ops.states(run)).filter((state) => state !== 'cancelled')).toEqual([]);
  });

  test('a command is carried out once and says what came of it, in the command and in the history', async () => {
    await ops.publish('wf', [{ id: 'w', type: 'wait', for: '1h' }]);
    const run = await ops.start('wf');
    const id = await ops.ask(run, 'cancel', { by: 'olga', reason: 'stop it' });
    await Promise.all([
      attendCommand(ops.runtime, { accountId: ACCOUNT, runId: run }, id),
      attendCommand(ops.runtime, { accountId: ACCOUNT, runId: run }, id),
    ]);
    await ops.host.settle();
    await attendCommand(ops.runtime, { accountId: ACCOUNT, runId: run }, id);
    expect(ops.commandOf(run, id)).toMatchObject({ status: 'done', result: 'Cancelled', by: 'olga' });
    expect((await ops.history(run)).map(({ kind, by, text }) => [kind, by, text])).toEqual([
      ['run_started', 'starter', 'A run of version 1 of "wf" was started'],
      ['command_cancel', 'olga', 'Cancelled. Reason: stop it'],
      ['run_ended', 'system', 'The run was cancelled'],
    ]);
  });

  test('R3 a result that comes after the cancel is recorded and not applied', async () => {
    let finish: (value: Json) => void = () => undefined;
    const slow = defineAction({
      name: 'slow',
      input: z.looseObject({}),
      output: z.json(),
      run: () => new Promise<Json>((resolve) => (finish = resolve)),
    });
    ops = new Operations({ actions: [slow], concurrent: true });
    await ops.publish('wf', [act('x', 'slow'), value('end', 'done')]);
    const starting = ops.start('wf', {}, 'r1');
    await expect.poll(() => ops.states('r1')).toEqual({ x: 'running' });
    const id = await ops.ask('r1', 'cancel');
    await attendCommand(ops.runtime, { accountId: ACCOUNT, runId: 'r1' }, id);
    finish({ charged: 5 });
    await starting;
    expect(ops.states('r1')).toEqual({ x: 'cancelled' });
    const late = (await ops.history('r1')).find(({ kind }) => kind === 'late_result');
    expect(JSON.parse(late?.data ?? '{}')).toMatchObject({ stepKey: 'x', attempt: 1, outcome: 'succeeded', output: '{"charged":5}' });
    const counted = samplesOf(await readSeries(ops.host.store, ACCOUNT, TOTAL)).filter(
      ({ name }) => name === 'workflow_late_results_total',
    );
    expect(counted).toEqual([{ name: 'workflow_late_results_total', labels: { workflow: 'wf', outcome: 'succeeded' }, value: 1 }]);
  });

  test('a cancel that dies between two of its transactions is finished, and closed as done', async () => {
    let commits = Infinity;
    ops = new Operations({
      hooks: {
        before: ({ kind }) => (kind === 'commit' && (commits -= 1) < 0 ? Promise.reject(new Error('the process died')) : Promise.resolve()),
      },
    });
    const each = {
      id: 'each',
      type: 'loop',
      concurrency: 900,
      over: { source: 'workflowInput', path: 'n' },
      steps: [{ id: 'w', type: 'wait', for: '1h' }],
    };
    await ops.publish('wf', [each]);
    const run = await ops.start('wf', { n: Array.from({ length: 900 }, (_, i) => i) });
    const id = await ops.ask(run, 'cancel');
    commits = 1;
    await expect(attendCommand(ops.runtime, { accountId: ACCOUNT, runId: run }, id)).rejects.toThrow('died');
    commits = Infinity;
    expect(ops.run(run).status).toBe('cancelling');
    await ops.host.advance(120_000);
    await ops.reconcile();
    expect(ops.run(run).status).toBe('cancelled');
    expect(ops.commandOf(run, id)).toMatchObject({ status: 'done' });
    expect((await ops.history(run)).map(({ kind }) => kind)).toEqual(['run_started', 'command_cancel', 'run_ended']);
  });
});

describe('a step whose outcome nobody knows', () => {
  beforeEach(async () => {
    await ops.publish('wf', [
      act('pay', 'charge', { inputs: { amount: '{{workflow_input.amount}}' } }),
      value('end', { paid: '{{step.pay}}' }),
    ]);
    answer = cutOff;
  });

  test('waits for a person, who is told once', async () => {
    await ops.hire(member('op', ['operator']));
    const run = await ops.start('wf', { amount: 5 });
    expect(ops.states(run)).toEqual({ pay: 'unresolved' });
    await ops.host.settle();
    expect(ops.docs('alerts')).toMatchObject([{ kind: 'unresolved', stepKey: 'pay', state: 'open' }]);
    expect(ops.sent.map(({ to, subject }) => [to, subject])).toEqual([['op@acme.example', 'Somebody has to look: "pay" of wf']]);
  });

  test('resolve as succeeded goes on with the output that the person saw', async () => {
    const run = await ops.start('wf', { amount: 5 });
    const done = await ops.command(run, 'resolve', {
      stepKey: 'pay',
      argument: { outcome: 'succeeded', output: { id: 'ch_1' } },
      reason: 'seen at the bank',
    });
    expect(done).toMatchObject({ status: 'done', result: '"pay" was settled as succeeded' });
    expect(await ops.output(run)).toEqual({ paid: { id: 'ch_1' } });
    expect(calls.length).toBe(1);
    expect(JSON.parse(ops.step(run, 'pay').details ?? '')).toEqual({ resolved: { by: 'op', reason: 'seen at the bank' } });
  });

  test('resolve as failed takes the way of any failure', async () => {
    const run = await ops.start('wf', { amount: 5 });
    await ops.command(run, 'resolve', { stepKey: 'pay', argument: { outcome: 'failed', message: 'it never arrived' } });
    expect(ops.run(run)).toMatchObject({ status: 'failed', error: { code: 'step.failed', message: 'it never arrived', stepKey: 'pay' } });
  });

  test('retry makes another attempt, with an edited input', async () => {
    const run = await ops.start('wf', { amount: 5 });
    answer = (input) => input;
    const done = await ops.command(run, 'retry', { stepKey: 'pay', argument: { input: { inputs: { amount: 6 } } } });
    expect(done).toMatchObject({ status: 'done', result: 'Attempt 2 of "pay" is made with an edited input' });
    expect(calls).toEqual([{ amount: 5 }, { amount: 6 }]);
    expect(await ops.output(run)).toEqual({ paid: { amount: 6 } });
    expect(JSON.parse(ops.step(run, 'pay').input?.json ?? '')).toMatchObject({ inputs: { amount: 6 } });
  });

  test('a command that does not say enough is refused and changes nothing', async () => {
    const run = await ops.start('wf', { amount: 5 });
    expect(await ops.command(run, 'resolve', { stepKey: 'pay' })).toMatchObject({ status: 'refused' });
    expect(await ops.command(run, 'resolve', { argument: { outcome: 'succeeded' } })).toMatchObject({
      status: 'refused',
      result: 'choose the step',
    });
    expect(await ops.command(run, 'resolve', { stepKey: 'nope', argument: { outcome: 'succeeded' } })).toMatchObject({
      result: 'the run has no step "nope"',
    });
    expect(await ops.command(run, 'retry', { stepKey: 'pay', argument: { input: 5 } })).toMatchObject({ status: 'refused' });
    expect(ops.states(run)).toEqual({ pay: 'unresolved' });
    const [, ...refused] = await ops.history(run);
    expect(refused.map(({ kind, by }) => [kind, by])).toEqual(Array.from({ length: 4 }, () => ['command_refused', 'op']));
    expect(refused[1]?.text).toBe('"resolve" was refused: choose the step. Reason given: the test asks for it');
  });
});

describe('skip and override', () => {
  test('a waiting step is skipped with an output that later steps see; its wait is closed', async () => {
    await ops.publish('wf', [{ id: 'e', type: 'wait', event: { name: 'paid' } }, value('end', '{{step.e.event.payload.amount}}')]);
    const run = await ops.start('wf');
    await ops.command(run, 'skip', { stepKey: 'e', argument: { output: { event: { payload: { amount: 12 } } } } });
    expect(ops.states(run)).toEqual({ e: 'skipped', end: 'succeeded' });
    expect(await ops.output(run)).toBe(12);
    expect(ops.docs('waits')).toMatchObject([{ state: 'closed' }]);
  });

  test('skipping the wait for a child run cancels the child', async () => {
    await ops.publish('child', [{ id: 'w', type: 'wait', for: '1d' }]);
    await ops.publish('wf', [{ id: 's', type: 'subworkflow', workflow: 'child' }, value('end', '{{step.s}}')]);
    const run = await ops.start('wf');
    const { wait } = ops.step(run, 's');
    await ops.command(run, 'skip', { stepKey: 's', argument: { output: 'by hand' } });
    expect(await ops.output(run)).toBe('by hand');
    expect(ops.run(wait?.kind === 'run' ? wait.runId : '').status).toBe('cancelled');
  });

  test('a step between two attempts is skipped; inside an iteration only that iteration goes on', async () => {
    answer = () => {
      throw new KilnError('http.server_error', '503');
    };
    const each = {
      id: 'each',
      type: 'loop',
      concurrency: 3,
      over: { source: 'static', items: [1, 2, 3] },
      steps: [act('x', 'charge', { idempotent: true, retry: { baseMs: HOUR, capMs: HOUR } })],
    };
    await ops.publish('wf', [each]);
    const run = await ops.start('wf');
    await ops.command(run, 'skip', { stepKey: 'each[1].x', argument: { output: 'skipped' } });
    expect(ops.states(run)).toEqual({ each: 'waiting', 'each[0].x': 'waiting', 'each[1].x': 'skipped', 'each[2].x': 'waiting' });
    answer = () => 'ok';
    await ops.host.advance(2 * HOUR);
    expect(await ops.output(run)).toEqual(['ok', 'skipped', 'ok']);
  });

  test('a timer counts as over, an event as received', async () => {
    await ops.publish('wf', [
      { id: 't', type: 'wait', for: '30d' },
      { id: 'e', type: 'wait', event: { name: 'paid', key: 'inv-1' } },
      value('end', '{{step.e.event}}'),
    ]);
    const run = await ops.start('wf');
    await ops.command(run, 'override_wait', { stepKey: 't' });
    expect(ops.states(run)).toEqual({ t: 'succeeded', e: 'waiting' });
    const done = await ops.command(run, 'override_wait', { stepKey: 'e', argument: { payload: { amount: 3 } } });
    expect(done.status).toBe('done');
    expect(await ops.output(run)).toMatchObject({ name: 'paid', key: 'inv-1', payload: { amount: 3 } });
  });

  test('nobody gets past a decision by skipping it', async () => {
    await ops.hire(member('ann', ['approver']));
    await ops.publish('wf', [{ id: 'a', type: 'approval', title: 'Sure?', approvers: { users: ['ann'] } }]);
    const run = await ops.start('wf');
    for (const kind of ['skip', 'override_wait', 'resolve', 'retry'] as const) {
      const argument = kind === 'resolve' ? { outcome: 'succeeded' } : undefined;
      expect(await ops.command(run, kind, { stepKey: 'a', ...(argument === undefined ? {} : { argument }) })).toMatchObject({
        status: 'refused',
      });
    }
    expect(ops.states(run)).toEqual({ a: 'waiting' });
  });
});

describe('deadlines', () => {
  test('a run gets more time, and its later steps with it', async () => {
    await ops.publish('wf', {
      deadline: '2h',
      steps: [{ id: 'w', type: 'wait', for: '3h' }, value('end', 'done'), { id: 'v', type: 'wait', for: '1h' }, value('last', 'done')],
    });
    const run = await ops.start('wf');
    const done = await ops.command(run, 'extend_deadline', { argument: { by: '4h' } });
    expect(done.result).toBe('The run’s deadline is now 2026-03-02T15:00:00.000Z');
    await ops.host.advance(2.5 * HOUR);
    await ops.reconcile();
    expect(ops.run(run).status).toBe('running');
    await ops.host.advance(2 * HOUR);
    expect(ops.run(run).status).toBe('completed');
  });

  test('without more time the run fails at its deadline', async () => {
    await ops.publish('wf', { deadline: '2h', steps: [{ id: 'w', type: 'wait', for: '3h' }] });
    const run = await ops.start('wf');
    await ops.host.advance(2.5 * HOUR);
    await ops.reconcile();
    expect(ops.run(run)).toMatchObject({ status: 'failed', error: { code: 'run.deadline' } });
  });

  test('a request for a decision stays open longer', async () => {
    await ops.hire(member('ann', ['approver']));
    await ops.publish('wf', [
      { id: 'a', type: 'approval', title: 'Sure?', approvers: { users: ['ann'] }, deadline: '1h', onDeadline: 'reject' },
    ]);
    const run = await ops.start('wf');
    await ops.command(run, 'extend_deadline', { stepKey: 'a', argument: { by: '1h' } });
    const { wait } = ops.step(run, 'a');
    const approval = approvalRecordSchema.parse(
      ops.host.store.peek(paths.approval(ACCOUNT, wait?.kind === 'approval' ? wait.approvalId : ''))?.data,
    );
    expect(approval.deadlineAt - approval.requestedAt).toBe(2 * HOUR);
    await ops.host.advance(1.5 * HOUR);
    expect(ops.states(run)).toEqual({ a: 'waiting' });
    await ops.host.advance(HOUR);
    expect(ops.run(run).status).toBe('failed');
  });

  test('an event may come later; an earlier deadline is refused', async () => {
    await ops.publish('wf', [{ id: 'e', type: 'wait', event: { name: 'paid' }, timeout: '1h' }]);
    const run = await ops.start('wf');
    expect(await ops.command(run, 'extend_deadline', { stepKey: 'e', argument: { until: '2026-03-02T09:30:00Z' } })).toMatchObject({
      status: 'refused',
    });
    await ops.command(run, 'extend_deadline', { stepKey: 'e', argument: { by: '1h' } });
    await ops.host.advance(1.5 * HOUR);
    expect(ops.states(run)).toEqual({ e: 'waiting' });
    await ops.host.advance(HOUR);
    expect(await ops.output(run)).toEqual({ timedOut: true, event: null });
  });
});

describe('an effect with a business key', () => {
  test('settled by a person, it is not brought about again by another run', async () => {
    answer = cutOff;
    await ops.publish('wf', [act('pay', 'charge', { effectKey: 'invoice:{{workflow_input.id}}' })]);
    const run = await ops.start('wf', { id: 7 });
    await ops.command(run, 'resolve', { stepKey: 'pay', argument: { outcome: 'succeeded', output: { id: 'ch_1' } } });
    answer = (input) => input;
    const other = await ops.start('wf', { id: 7 });
    expect(await ops.output(other)).toEqual({ id: 'ch_1' });
    expect(calls.length).toBe(1);
  });
});
