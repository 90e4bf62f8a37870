import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import { findSlot, releaseSlot, takeSlot } from '../ledger/limits.ts';
import { paths } from '../model/paths.ts';
import type { HttpRequest, HttpResponse } from '../services/http/client.ts';
import { defineAction } from '../steps/action-registry.ts';
import { person } from '../testing/person.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { attend } from './attend.ts';
import { startRun } from './runs.ts';

let inFlight = 0;
let most = 0;
let failing = false;
let crowded = 0;
const work = defineAction({
  name: 'work',
  input: z.looseObject({}),
  output: z.json(),
  run: async () => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    inFlight -= 1;
    return null;
  },
});

beforeEach(() => {
  inFlight = 0;
  most = 0;
  failing = false;
});

function kitFor(definition: object, options: { limits?: Record<string, number>; concurrent?: boolean } = {}): TestKit {
  return createTestKit({
    definitions: { wf: definition },
    actions: [work],
    members: [person('boss', { roles: ['approver'] }, 'test')],
    documents: { [paths.account('test')]: { v: 1, limits: options.limits ?? {} } },
    ...(options.concurrent === undefined ? {} : { concurrent: options.concurrent }),
    hooks: {
      before: (operation) => {
        const takes = operation.kind === 'commit' && operation.writes.some(({ op, path }) => op === 'create' && path.includes('/slots/'));
        if (crowded > 0 && takes) {
          crowded -= 1;
          return Promise.reject(Object.assign(new Error('too much contention'), { code: 10 }));
        }
        return failing && operation.kind === 'get' && operation.paths.some((path) => path.includes('/limits/'))
          ? Promise.reject(new Error('the limiter is down'))
          : Promise.resolve();
      },
    },
  });
}

const loop = (items: number, more: object = {}): object => ({
  steps: [
    {
      id: 'each',
      type: 'loop',
      concurrency: items,
      over: { source: 'static', items: Array.from({ length: items }, (_, n) => n) },
      steps: [{ id: 'do', type: 'action', action: 'work', limit: 'crm', ...more }],
    },
  ],
});

describe('limits', () => {
  test('never more attempts at once than a limit has places; all complete, and the places are free again', async () => {
    const kit = kitFor(loop(40), { limits: { crm: 3 }, concurrent: true });
    const run = await kit.start('wf');
    expect(kit.steps(run).some(({ wait }) => wait?.kind === 'slot' && wait.limit === 'crm')).toBe(true);
    await kit.advance('5m');
    expect(kit.run(run).status).toBe('completed');
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(3);
    expect([...kit.host.store.all()].filter((doc) => doc.path.includes('/slots/'))).toEqual([]);
    expect(kit.steps(run).every(({ key, attempt }) => !key.endsWith('.do') || attempt === 1)).toBe(true);
  });

  test('crowding on a place is no reason to go on without one', async () => {
    const kit = kitFor(loop(3), { limits: { crm: 1 } });
    crowded = 2;
    await kit.start('wf');
    await kit.advance('1m');
    expect(crowded).toBe(0);
    expect(kit.noticed.filter(({ kind }) => kind === 'limiter_failed')).toEqual([]);
    expect(most).toBe(1);
  });

  test('a limiter that is down stops nothing', async () => {
    const kit = kitFor(loop(3), { limits: { crm: 1 } });
    failing = true;
    const run = await kit.start('wf');
    expect(kit.run(run).status).toBe('completed');
    expect(kit.noticed.filter(({ kind }) => kind === 'limiter_failed')).toHaveLength(3);
  });

  test('a limit that the account does not have is found before the first step', async () => {
    const kit = kitFor(loop(1));
    expect(kit.run(await kit.start('wf')).problems).toContain('limit.unknown');
  });

  test('a place whose holder died is free when its time is over; a run keeps its place until it has ended', async () => {
    const kit = kitFor({ steps: [{ id: 'wait', type: 'wait', for: '2h' }] });
    const use = { accountId: 'test', name: 'crm', count: 1, holdMs: 60_000 };
    expect(await takeSlot(kit.runtime, { ...use, kind: 'call', holder: 'dead' })).toBeDefined();
    expect(await takeSlot(kit.runtime, { ...use, kind: 'call', holder: 'next' })).toBeUndefined();
    await kit.advance('61s');
    const next = await takeSlot(kit.runtime, { ...use, kind: 'call', holder: 'next' });
    if (next === undefined) throw new Error('the place should be free');
    await releaseSlot(kit.runtime, next);
    const run = await kit.start('wf');
    await takeSlot(kit.runtime, { ...use, kind: 'run', holder: run.runId });
    await kit.advance('1h');
    expect(await findSlot(kit.runtime, { ...use, kind: 'run', holder: 'other' })).not.toHaveProperty('path');
    await kit.advance('1h');
    expect(await findSlot(kit.runtime, { ...use, kind: 'run', holder: 'other' })).toHaveProperty('path');
  });

  test('a place that came to somebody else is not given back', async () => {
    const kit = kitFor({ steps: [{ id: 'x', type: 'transform', value: 1 }] });
    const use = { accountId: 'test', name: 'crm', count: 1, kind: 'call', holdMs: 1_000 } as const;
    const slow = await takeSlot(kit.runtime, { ...use, holder: 'slow' });
    await kit.advance('2s');
    await takeSlot(kit.runtime, { ...use, holder: 'quick' });
    if (slow !== undefined) await releaseSlot(kit.runtime, slow);
    expect(kit.document(`${paths.slots('test', 'crm')}/0`)).toMatchObject({ holder: 'quick' });
  });
});

describe('a run that has read outside content', () => {
  const calls: string[] = [];
  const secretive = { secrets: { get: () => 'a-long-secret' } };
  const http = {
    check: (url: string | URL) => new URL(url),
    request: ({ url, body }: HttpRequest): Promise<HttpResponse> => {
      calls.push(`${url} ${String(body ?? '')}`);
      return Promise.resolve({ status: 200, headers: {}, bytes: new Uint8Array(), text: '', origin: new URL(url).origin, redirects: 0 });
    },
  };
  const send = {
    id: 'send',
    type: 'http',
    method: 'POST',
    url: 'https://crm.example/{{workflow_input.id}}',
    headers: { Key: '{{secret.CRM}}' },
    body: { amount: 5 },
  };
  const onRejected = { onException: { rejected: [{ id: 'no', type: 'transform', value: 'refused' }] } };

  function webKit(step: object, more: object = {}): TestKit {
    calls.length = 0;
    return createTestKit({
      definitions: { wf: { steps: [step], ...more } },
      services: { http, ...secretive },
      members: [person('boss', { roles: ['approver'] }, 'test'), person('clerk', { roles: ['operator'] }, 'test')],
    });
  }

  /** As a webhook starts it. */
  async function tainted(kit: TestKit, input: Json = { id: 'A1' }) {
    const { runId } = await startRun(kit.runtime, {
      accountId: 'test',
      workflowId: 'wf',
      input,
      startedBy: { kind: 'webhook', id: 'h' },
      tainted: true,
    });
    await kit.host.settle();
    return { runId, workflow: { id: 'wf' } };
  }

  test('asks before it acts on the outside: exact arguments, no secret, and it goes on once it is allowed', async () => {
    const kit = webKit(send);
    const run = await tainted(kit);
    expect(kit.step(run, 'send')).toMatchObject({ state: 'waiting', wait: { kind: 'approval' }, attempt: 0 });
    expect(calls).toEqual([]);
    const [approval] = await kit.approvals(run);
    expect(approval).toMatchObject({
      title: 'Allow send: POST https://crm.example/A1',
      purpose: 'permission',
      onReject: 'exception',
      eligible: ['boss'],
    });
    expect(approval?.shown.json).toContain('{{secret.CRM}}');
    expect(approval?.shown.json).toContain('"amount":5');
    await kit.approve(run, 'boss');
    await kit.advance('1s');
    expect(calls).toEqual(['https://crm.example/A1 {"amount":5}']);
    expect(kit.run(run)).toMatchObject({ status: 'completed', pendingApprovals: 0 });
    expect(kit.step(run, 'send').permission?.approvalId).toBe(approval?.approvalId);
    expect(JSON.stringify([...kit.host.store.all()])).not.toContain('a-long-secret');
  });

  test('a refusal is the business exception "rejected", and nothing leaves', async () => {
    const kit = webKit({ ...send, ...onRejected });
    const run = await tainted(kit);
    await kit.reject(run, 'boss');
    await kit.advance('1m');
    expect(await kit.result(run)).toBe('refused');
    expect(calls).toEqual([]);
  });

  test('the permission is for what was shown: with other arguments it asks anew', async () => {
    const kit = webKit(send);
    const run = await tainted(kit);
    const path = paths.step('test', run.runId, 'send');
    await kit.host.store.commit([
      {
        op: 'update',
        path,
        data: { permission: { digest: 'of something else', approvalId: 'x' }, wait: { kind: 'retry' }, wakeAt: kit.now },
      },
    ]);
    await attend(kit.runtime, { accountId: 'test', runId: run.runId, key: 'send' }, { kind: 'reconciler' });
    expect(calls).toEqual([]);
    expect(await kit.approvals(run)).toHaveLength(2);
    expect(kit.step(run, 'send')).toMatchObject({ state: 'waiting', wait: { kind: 'approval' } });
  });

  test.each([
    ['read-only by its method', { ...send, method: 'GET', body: undefined }],
    ['declared read-only', { ...send, readOnly: true }],
  ])('a call that is %s asks nobody', async (_what, step) => {
    const { body, ...rest } = step;
    const kit = webKit(body === undefined ? rest : step);
    await kit.result(await tainted(kit));
    expect(calls).toHaveLength(1);
  });

  test('a workflow can do without, and an untainted run asks nobody', async () => {
    const open = webKit(send, { guardTainted: false });
    await open.result(await tainted(open));
    expect(calls).toHaveLength(1);
    const clean = webKit(send);
    await clean.result(await clean.start('wf', { id: 'A1' }));
    expect(calls).toHaveLength(1);
  });

  test('the taint goes to child runs', async () => {
    const kit = createTestKit({
      definitions: { parent: [{ id: 'call', type: 'subworkflow', workflow: 'wf' }], wf: [send] },
      services: { http, ...secretive },
      members: [person('boss', { roles: ['approver'] }, 'test')],
    });
    calls.length = 0;
    await startRun(kit.runtime, {
      accountId: 'test',
      workflowId: 'parent',
      input: null,
      startedBy: { kind: 'webhook', id: 'h' },
      tainted: true,
    });
    await kit.host.settle();
    const child = [...kit.host.store.all()].find((doc) => doc.data['workflowId'] === 'wf' && doc.path.split('/').length === 4);
    expect(child?.data['tainted']).toBe(true);
    expect(calls).toEqual([]);
  });
});

describe('limits of a workflow', () => {
  const waiting = { steps: [{ id: 'wait', type: 'wait', for: '10m' }] };
  const statuses = (kit: TestKit, runs: readonly { runId: string; workflow: { id: string } }[]): string[] =>
    runs.map((run) => kit.run(run).status);

  test('concurrency: as many runs at once as it says, for each key; the next begins when one has ended', async () => {
    const kit = createTestKit({ definitions: { wf: { ...waiting, concurrency: { key: '{{workflow_input.customer}}', limit: 1 } } } });
    const a1 = await kit.start('wf', { customer: 'a' });
    const a2 = await kit.start('wf', { customer: 'a' });
    const b1 = await kit.start('wf', { customer: 'b' });
    expect(statuses(kit, [a1, a2, b1])).toEqual(['running', 'pending', 'running']);
    expect(kit.run(a2).queuedFor).toBe('concurrency');
    await kit.advance('10m');
    await kit.advance('15s');
    expect(statuses(kit, [a1, a2, b1])).toEqual(['completed', 'running', 'completed']);
    expect(kit.run(a2).queuedFor).toBeUndefined();
    await kit.command(a2, 'cancel');
    await kit.advance('1m');
    expect([...kit.host.store.all()].filter((doc) => doc.path.includes('/slots/'))).toEqual([]);
  });

  test('a run whose end nobody noticed does not keep its place for ever', async () => {
    const kit = createTestKit({ definitions: { wf: { ...waiting, concurrency: { limit: 1 } } } });
    const first = await kit.start('wf');
    const path = paths.run('test', first.runId);
    await kit.host.store.commit([{ op: 'update', path, data: { status: 'failed' } }]);
    const second = await kit.start('wf');
    expect(statuses(kit, [second])).toEqual(['pending']);
    await kit.advance('11m');
    expect(statuses(kit, [second])).toEqual(['running']);
  });

  test('a rate limit lets so many begin in each span of time', async () => {
    const kit = createTestKit({
      definitions: { wf: { steps: [{ id: 'x', type: 'transform', value: 1 }], rateLimit: { limit: 2, per: '1m' } } },
    });
    const runs = [await kit.start('wf'), await kit.start('wf'), await kit.start('wf'), await kit.start('wf'), await kit.start('wf')];
    expect(statuses(kit, runs)).toEqual(['completed', 'completed', 'pending', 'pending', 'pending']);
    await kit.advance('62s');
    expect(statuses(kit, runs).filter((status) => status === 'completed')).toHaveLength(4);
    await kit.advance('62s');
    expect(statuses(kit, runs)).toEqual(Array.from({ length: 5 }, () => 'completed'));
  });

  test('a key that the input does not have rejects the run', async () => {
    const kit = createTestKit({ definitions: { wf: { ...waiting, concurrency: { key: '{{workflow_input.customer}}', limit: 1 } } } });
    const run = kit.run(await kit.start('wf', {}));
    expect(run).toMatchObject({ status: 'rejected', problems: expect.stringContaining('concurrency.key') as string });
  });
});

test('a step that uses none of it costs three writes and no read', async () => {
  const counts = { reads: 0, writes: 0 };
  const kit = createTestKit({
    definitions: { wf: { steps: Array.from({ length: 11 }, (_, n) => ({ id: `s${n}`, type: 'action', action: 'work' })) } },
    actions: [work],
    hooks: {
      before: (operation) => {
        if (operation.kind === 'commit') counts.writes += operation.writes.length;
        else counts.reads += operation.kind === 'get' ? operation.paths.length : 1;
        return Promise.resolve();
      },
    },
  });
  const short = { ...counts };
  const run = await kit.start('wf');
  expect(kit.run(run).status).toBe('completed');
  // 33 for the steps; the run itself is created, begun with its first step, ended with its completion, which is attended. Its history
  // begins with its creation, and its end is written into it.
  expect(counts.writes - short.writes).toBeLessThanOrEqual(33 + 8);
  expect(counts.reads - short.reads).toBeLessThanOrEqual(7);
});
