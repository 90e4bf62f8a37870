import { beforeEach, describe, expect, test } from 'vitest';
import { paths } from '../model/paths.ts';
import { remove } from './store.ts';
import { operationFollowers } from '../runner/followers.ts';
import { ACCOUNT, member, Operations } from '../testing/operations.testing.ts';
import { cancelJob, startBulk } from './bulk.ts';
import { startErasure } from './erasure.ts';
import { searchRuns } from './run-search.ts';

const HOUR = 3_600_000;
let ops: Operations;

const wait = { id: 'w', type: 'wait', for: '30d' };
const asks = { id: 'a', type: 'approval', title: 'Pay {{workflow_input.name}}?', approvers: { users: ['ann'] } };

beforeEach(async () => {
  ops = new Operations({ followers: operationFollowers });
  await ops.hire(member('ann', ['approver']), member('op', ['operator']));
  await ops.publish('wf', {
    businessKey: 'k-{{workflow_input.n}}',
    attributes: { customer: '{{workflow_input.customer}}' },
    steps: [wait],
  });
  await ops.publish('other', [wait]);
});

async function tick(times = 1): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    await ops.host.advance(60_000);
    await ops.reconcile();
  }
}

const job = (id: string): Readonly<Record<string, unknown>> => ops.docs('jobs').find((doc) => doc['jobId'] === id) ?? {};

describe('search', () => {
  test('by workflow, state, key, attribute and time, the newest first, page after page', async () => {
    for (let n = 0; n < 130; n += 1) {
      await ops.start('wf', { n, customer: n % 2 === 0 ? 'even' : 'odd' }, `r${n}`);
      if (n % 3 === 0) await ops.host.advance(1);
    }
    await ops.start('other', {}, 'x');
    await ops.command('r5', 'cancel');
    const { store } = ops.runtime;
    const all: string[] = [];
    let after: { createdAt: number; runId: string } | undefined;
    do {
      const page = await searchRuns(store, ACCOUNT, { workflowId: 'wf' }, after);
      all.push(...page.runs.map(({ runId }) => runId));
      after = page.next;
    } while (after !== undefined);
    expect(all.length).toBe(130);
    expect(new Set(all).size).toBe(130);
    const found = async (filter: object): Promise<string[]> => (await searchRuns(store, ACCOUNT, filter)).runs.map(({ runId }) => runId);
    expect(await found({ businessKey: 'k-7' })).toEqual(['r7']);
    expect(await found({ status: 'cancelled' })).toEqual(['r5']);
    expect(
      (await found({ attribute: { name: 'customer', value: 'odd' }, workflowId: 'wf' })).every((id) => Number(id.slice(1)) % 2 === 1),
    ).toBe(true);
    expect(await found({ workflowId: 'nothing' })).toEqual([]);
  });
});

describe('a command over many runs', () => {
  test('H3 reaches all that the filter finds, at its rate, and tells how far it is', async () => {
    for (let n = 0; n < 25; n += 1) await ops.start('wf', { n, customer: 'c' }, `r${n}`);
    await ops.start('other', {}, 'x');
    const { jobId } = await startBulk(ops.runtime, ACCOUNT, 'op', {
      filter: { workflowId: 'wf' },
      command: 'cancel',
      reason: 'wrong price list',
      rate: 10,
    });
    await ops.reconcile();
    expect(job(jobId)).toMatchObject({ state: 'running', commanded: 10 });
    await tick(4);
    expect(job(jobId)).toMatchObject({ state: 'done', commanded: 25 });
    expect(ops.docs('runs').filter((doc) => doc['status'] === 'cancelled').length).toBe(25);
    expect(ops.run('x').status).toBe('running');
    expect(ops.commandOf('r3', jobId)).toMatchObject({ by: 'op', reason: 'wrong price list', status: 'done' });
  });

  test('an empty filter is refused', async () => {
    await expect(startBulk(ops.runtime, ACCOUNT, 'op', { filter: {}, command: 'cancel', reason: 'all' })).rejects.toThrow(
      'name at least one thing',
    );
  });

  test('a cancelled job goes no further; one that was cut off goes on without commanding twice', async () => {
    for (let n = 0; n < 20; n += 1) await ops.start('wf', { n, customer: 'c' }, `r${n}`);
    const stopped = await startBulk(ops.runtime, ACCOUNT, 'op', {
      filter: { workflowId: 'wf' },
      command: 'pause',
      reason: 'stop',
      rate: 5,
    });
    await ops.reconcile();
    expect(await cancelJob(ops.runtime, ACCOUNT, stopped.jobId)).toBe(true);
    await tick(3);
    expect(job(stopped.jobId)).toMatchObject({ state: 'cancelled', commanded: 5 });
    expect(ops.docs('runs').filter((doc) => doc['status'] === 'paused').length).toBe(5);
    const again = await startBulk(ops.runtime, ACCOUNT, 'op', { filter: { status: 'running' }, command: 'cancel', reason: 'end', rate: 7 });
    // The first tick's progress gets lost.
    const before = ops.host.store.peek(paths.job(ACCOUNT, again.jobId))?.data ?? {};
    await ops.reconcile();
    await ops.host.store.commit([{ op: 'set', path: paths.job(ACCOUNT, again.jobId), data: before }]);
    await tick(6);
    expect(job(again.jobId)).toMatchObject({ state: 'done' });
    expect(ops.docs('runs').filter((doc) => doc['status'] === 'cancelled').length).toBe(15);
    expect([...ops.host.store.all()].filter(({ path }) => path.endsWith(`/commands/${again.jobId}`)).length).toBe(15);
  });
});

describe('erasing one person’s data', () => {
  const everything = (): string =>
    JSON.stringify([...ops.host.store.all()].filter(({ path }) => !path.includes('/jobs/') && !path.includes('/workflows/')));

  test('takes it out of ended runs, requests, decisions and notices; what happened stays; living runs are named', async () => {
    await ops.publish('ask', {
      attributes: { customer: '{{workflow_input.customer}}' },
      steps: [asks, { id: 'end', type: 'transform', value: 'paid {{workflow_input.name}}' }],
    });
    const ended = await ops.start('ask', { name: 'Erika Muster', customer: '4711' });
    const [approval] = ops.docs('approvals');
    const decision = {
      v: 1,
      accountId: ACCOUNT,
      approvalId: approval?.['approvalId'],
      by: 'ann',
      at: 0,
      outcome: 'approve',
      digest: approval?.['digest'],
      comment: 'Muster is fine',
      due: '0|0000000000000',
    };
    await ops.host.store.commit([{ op: 'create', path: paths.decision(ACCOUNT, String(approval?.['approvalId']), 'ann'), data: decision }]);
    await ops.host.settle();
    expect(ops.run(ended).status).toBe('completed');
    // What somebody made of a model's answer lies outside the run, and a step may have forgotten its request.
    const correction = paths.correction(ACCOUNT, String(approval?.['approvalId']));
    await ops.host.store.commit([
      { op: 'set', path: correction, data: { v: 1, answer: 'Muster' } },
      { op: 'update', path: paths.step(ACCOUNT, ended, 'a'), data: { wait: remove } },
    ]);
    const alive = await ops.start('ask', { name: 'Erika Muster', customer: '4711' });
    await ops.start('ask', { name: 'Somebody else', customer: '1' });
    const { jobId } = await startErasure(ops.runtime, ACCOUNT, 'boss', { attribute: { name: 'customer', value: '4711' } });
    await ops.reconcile();
    await tick(4);
    expect(job(jobId)).toMatchObject({ state: 'done', report: { runs: 1, live: [alive] } });
    const trees = [...ops.host.store.all()].filter(({ path }) => path.includes(`/runs/${ended}`) && !path.includes('/history/'));
    expect(JSON.stringify(trees)).not.toContain('Muster');
    expect(ops.host.store.peek(correction)).toBeUndefined();
    expect(ops.docs('approvals').find((doc) => doc['runId'] === ended)).toMatchObject({ shown: { json: '{"erased":true}' } });
    expect(ops.run(ended)).toMatchObject({ status: 'completed', input: { json: '{"erased":true}' } });
    expect(ops.states(ended)).toEqual({ a: 'succeeded', end: 'succeeded' });
    expect(everything()).toContain('Somebody else');
    expect(await ops.command(ended, 'fork', { stepKey: 'end' })).toMatchObject({
      status: 'refused',
      result: 'what the run carried has been erased',
    });
    // When the living run has ended, asking again reaches it.
    await ops.command(alive, 'cancel');
    const second = await startErasure(ops.runtime, ACCOUNT, 'boss', { attribute: { name: 'customer', value: '4711' } });
    await tick(4);
    expect(job(second.jobId)).toMatchObject({ state: 'done', report: { runs: 1, live: [] } });
    expect(everything()).toContain('Somebody else');
  });

  test('of a member: what they started and wrote, and the member itself once dismissed', async () => {
    await ops.publish('note', [{ id: 'x', type: 'transform', value: '{{workflow_input}}' }]);
    const run = await ops.start('note', 'something personal');
    await ops.hire(member('starter', ['operator'], { active: false, name: 'Erika' }));
    const { jobId } = await startErasure(ops.runtime, ACCOUNT, 'boss', { uid: 'starter' });
    await ops.reconcile();
    await tick(4);
    expect(job(jobId)).toMatchObject({ state: 'done', report: { runs: 1, member: 'erased' } });
    expect(ops.run(run).output?.json).toBe('{"erased":true}');
    expect(ops.docs('members').find((doc) => doc['uid'] === 'starter')).toMatchObject({ name: 'erased', email: '' });
  });

  test('nobody named is refused', async () => {
    await expect(startErasure(ops.runtime, ACCOUNT, 'boss', {})).rejects.toThrow('name the person');
  });
});

describe('how long runs are kept', () => {
  const keep = (more: object): Promise<unknown> =>
    ops.host.store.commit([
      {
        op: 'set',
        path: paths.setting(ACCOUNT, 'retention'),
        data: { v: 1, payloadDays: 10, runDays: 20, auditDays: 30, exportFirst: false, ...more },
      },
    ]);
  const left = (run: string): string[] => [
    ...new Set(
      [...ops.host.store.all()].filter(({ path }) => path.includes(`/runs/${run}`)).map(({ path }) => path.split('/')[4] ?? 'run'),
    ),
  ];
  const days = async (n: number): Promise<void> => {
    await ops.host.advance(n * 24 * HOUR);
    for (let i = 0; i < 3; i += 1) await ops.reconcile();
  };

  beforeEach(async () => {
    await ops.publish('quick', [{ id: 'a', type: 'transform', value: '{{workflow_input.text}}' }]);
  });

  test('first what they carried goes, then their steps, at last the record of what people did', async () => {
    await keep({});
    const run = await ops.start('quick', { text: 'x'.repeat(400_000) });
    await ops.command(run, 'fork', {});
    await days(9);
    expect(ops.run(run).erasedAt).toBeUndefined();
    await days(2);
    expect(ops.run(run).erasedAt).toBeDefined();
    expect(left(run).sort()).toEqual(['commands', 'history', 'marks', 'run', 'steps']);
    await days(10);
    expect(left(run).sort()).toEqual(['commands', 'history', 'run']);
    await days(10);
    expect(left(run)).toEqual([]);
    expect(ops.docs('expiries').filter((doc) => doc['runId'] === run)).toEqual([]);
  });

  test('C4 a run that has not ended is never touched, however old', async () => {
    await keep({ payloadDays: 5, runDays: 5, auditDays: 5 });
    await ops.publish('slow', [
      { id: 'w', type: 'wait', for: '60d' },
      { id: 'end', type: 'transform', value: '{{workflow_input.text}}' },
    ]);
    const run = await ops.start('slow', { text: 'still here' });
    for (let i = 0; i < 6; i += 1) await days(10);
    await days(1);
    expect(ops.run(run)).toMatchObject({ status: 'completed' });
    expect(await ops.output(run)).toBe('still here');
    await days(5);
    expect(left(run)).toEqual([]);
  });

  test('nothing goes before it is exported, where the account asks for that', async () => {
    await keep({ exportFirst: true });
    const run = await ops.start('quick', { text: 'keep me' });
    await days(12);
    expect(ops.run(run).erasedAt).toBeUndefined();
    await ops.host.store.commit([{ op: 'set', path: paths.mark(ACCOUNT, run, 'exported'), data: { v: 1, digest: 'd', at: 0 } }]);
    await days(2);
    expect(ops.run(run).erasedAt).toBeDefined();
  });

  test('what a living fork goes on from is kept', async () => {
    await keep({});
    await ops.publish('forked', [
      { id: 'a', type: 'transform', value: '{{workflow_input.text}}' },
      { id: 'w', type: 'wait', for: '15d' },
    ]);
    const run = await ops.start('forked', { text: 'x' });
    await days(16);
    await ops.command(run, 'fork', { stepKey: 'w' });
    await days(11);
    expect(ops.run(run).erasedAt).toBeUndefined();
    await days(6);
    expect(ops.run(run).erasedAt).toBeDefined();
  });
});
