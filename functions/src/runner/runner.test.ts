import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import { parseJson } from '../engine/json.ts';
import { attendEvent, eventRecord } from '../ledger/events.ts';
import { storePayload } from '../ledger/payloads.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import { defineAction } from '../steps/action-registry.ts';
import { MemoryHost } from '../testing/memory-host.ts';
import { reconcile } from '../timers/reconciler.ts';
import { attend } from './attend.ts';
import { attendCompletion, attendRun, startRun } from './runs.ts';
import { givenDefinitions, memoryRuntime } from '../testing/memory-runtime.ts';

const account = 'acme';
const calls: string[] = [];
let failures = 0;

const echo = defineAction({
  name: 'echo',
  input: z.looseObject({}),
  output: z.json(),
  idempotent: true,
  run: (input) => {
    calls.push(JSON.stringify(input));
    return input as Json;
  },
});
const flaky = defineAction({
  name: 'flaky',
  input: z.looseObject({}),
  output: z.json(),
  idempotent: true,
  run: () => {
    if (failures-- > 0) throw new KilnError('http.server_error', 'the target answered 503');
    return 'ok';
  },
});

/** Calls under way; a test lets each go. */
const heldCalls: ((output: Json) => void)[] = [];
const heldBack = defineAction({
  name: 'held',
  input: z.looseObject({}),
  output: z.json(),
  idempotent: true,
  run: () => new Promise<Json>((resolve) => void heldCalls.push(resolve)),
});

function host(definitions: Record<string, unknown>): MemoryHost {
  calls.length = 0;
  heldCalls.length = 0;
  return new MemoryHost({
    now: 1_800_000_000_000,
    ring: (runtime, ref, hop) => attend(runtime, ref, { kind: 'doorbell', hop }),
    routes: {
      steps: (runtime, { data }) => attend(runtime, stepRecordSchema.parse(data), { kind: 'trigger' }),
      runs: (runtime, { data }) => attendRun(runtime, runRecordSchema.parse(data)),
      completions: (runtime, { data }) => attendCompletion(runtime, { accountId: String(data['accountId']), runId: String(data['runId']) }),
      events: (runtime, { data }) => attendEvent(runtime, String(data['accountId']), String(data['eventId'])),
    },
    runtime: (base) => memoryRuntime(base, { definitions: givenDefinitions(definitions), actions: [echo, flaky, heldBack] }),
  });
}

async function run(h: MemoryHost, workflowId: string, input: Json = {}): Promise<string> {
  const { runId } = await startRun(h.runtime, { accountId: account, workflowId, input, startedBy: { kind: 'user', id: 'u' } });
  await h.settle();
  return runId;
}

function runOf(h: MemoryHost, runId: string) {
  const found = runRecordSchema.parse(h.store.peek(paths.run(account, runId))?.data);
  return { ...found, value: found.output?.json === undefined ? undefined : parseJson(found.output.json) };
}

function stepsOf(h: MemoryHost, runId: string): Record<string, string> {
  const prefix = `${paths.steps(account, runId)}/`;
  return Object.fromEntries(
    [...h.store.all()]
      .filter((doc) => doc.path.startsWith(prefix))
      .map((doc) => [doc.path.slice(prefix.length), String(doc.data['state'])]),
  );
}

const t = (id: string, value: Json, more: object = {}) => ({ id, type: 'transform', value, ...more });

describe('a graph run', () => {
  test('goes through its steps and ends with the last output', async () => {
    const h = host({
      wf: [t('a', { n: '{{workflow_input.n}}' }), { id: 'b', type: 'action', action: 'echo', inputs: { n: '{{step.a.n}}' } }],
    });
    const id = await run(h, 'wf', { n: 7 });
    expect(runOf(h, id)).toMatchObject({ status: 'completed', value: { n: 7 } });
    expect(stepsOf(h, id)).toEqual({ a: 'succeeded', b: 'succeeded' });
  });

  test('retries with backoff through doorbells', async () => {
    const h = host({ wf: [{ id: 'x', type: 'action', action: 'flaky' }] });
    failures = 2;
    const id = await run(h, 'wf');
    expect(stepsOf(h, id)).toEqual({ x: 'waiting' });
    await h.advance(60_000);
    expect(runOf(h, id)).toMatchObject({ status: 'completed', value: 'ok' });
    failures = 3;
    const failed = await run(h, 'wf');
    await h.advance(60_000);
    expect(runOf(h, failed)).toMatchObject({ status: 'failed', error: { code: 'http.server_error', stepKey: 'x' } });
  });

  test('takes a branch, and goes on after the condition', async () => {
    const h = host({
      wf: [
        { id: 'c', type: 'condition', if: 'workflow_input.n > 3', then: [t('big', 'big')], else: [t('small', 'small')] },
        t('after', { which: '{{step.big | default: "none"}}' }),
      ],
    });
    const big = await run(h, 'wf', { n: 5 });
    expect(runOf(h, big).value).toEqual({ which: 'big' });
    expect(stepsOf(h, big)).toEqual({ c: 'succeeded', 'c.then.big': 'succeeded', after: 'succeeded' });
    const small = await run(h, 'wf', { n: 1 });
    expect(runOf(h, small).value).toEqual({ which: 'none' });
  });

  test('loops in order, and in lanes', async () => {
    for (const concurrency of [1, 3, 50]) {
      const h = host({
        wf: [
          {
            id: 'each',
            type: 'loop',
            concurrency,
            over: { source: 'workflowInput', path: 'items' },
            steps: [t('x', '{{loop_item.v}}'), t('y', ['{{step.x}}', '{{loop_index}}'])],
          },
        ],
      });
      const items = Array.from({ length: 40 }, (_, v) => ({ v: v * 10 }));
      const id = await run(h, 'wf', { items });
      expect(runOf(h, id).value).toEqual(items.map(({ v }, i) => [v, i]));
    }
  });

  test('F1 an empty list completes at once; what is no list fails with the path', async () => {
    const h = host({ wf: [{ id: 'each', type: 'loop', over: { source: 'workflowInput', path: 'items' }, steps: [t('x', 1)] }] });
    expect(runOf(h, await run(h, 'wf', { items: [] })).value).toEqual([]);
    for (const items of [null, { a: 1 }, 'abc', 5]) {
      expect(runOf(h, await run(h, 'wf', { items }))).toMatchObject({ status: 'failed', error: { code: 'loop.not_a_list' } });
    }
  });

  test('runs branches side by side and settles them all', async () => {
    const h = host({
      wf: [
        { id: 'fan', type: 'parallel', branches: { l: [t('a', 1)], r: [{ id: 'f', type: 'fail', code: 'nope' }] } },
        t('end', '{{step.fan}}'),
      ],
    });
    const id = await run(h, 'wf');
    expect(runOf(h, id).value).toEqual({
      l: { status: 'fulfilled', value: 1 },
      r: { status: 'rejected', reason: { code: 'nope', message: 'nope' } },
    });
  });

  test('fail-fast cancels the other branches, once', async () => {
    const h = host({
      wf: [
        {
          id: 'fan',
          type: 'parallel',
          policy: 'all',
          branches: { slow: [{ id: 'w', type: 'wait', for: '1h' }, t('late', 1)], bad: [{ id: 'f', type: 'fail', code: 'nope' }] },
        },
      ],
    });
    const id = await run(h, 'wf');
    expect(runOf(h, id)).toMatchObject({ status: 'failed', error: { code: 'nope', class: 'business' } });
    expect(stepsOf(h, id)).toMatchObject({ 'fan.slow.w': 'cancelled', fan: 'failed', 'fan.$join': 'succeeded' });
    await h.advance(7_200_000);
    expect(stepsOf(h, id)['fan.slow.late']).toBeUndefined();
  });

  test('any takes the first success', async () => {
    const h = host({
      wf: [
        {
          id: 'fan',
          type: 'parallel',
          policy: 'any',
          branches: { slow: [{ id: 'w', type: 'wait', for: '1h' }], bad: [{ id: 'f', type: 'fail', code: 'nope' }], ok: [t('a', 'yes')] },
        },
      ],
    });
    expect(runOf(h, await run(h, 'wf')).value).toEqual({ branch: 'ok', value: 'yes' });
  });

  test('a thousand branches join once through a tree of nodes', async () => {
    const h = host({
      wf: [
        { id: 'each', type: 'loop', concurrency: 1000, over: { source: 'workflowInput', path: 'items' }, steps: [t('x', '{{loop_item}}')] },
      ],
    });
    const items = Array.from({ length: 1000 }, (_, i) => i);
    expect(runOf(h, await run(h, 'wf', { items })).value).toEqual(items);
  });

  test('a business exception takes its own path', async () => {
    const h = host({
      wf: [
        { id: 'f', type: 'fail', code: 'no_budget', onException: { no_budget: [t('plan', 'B')] } },
        t('end', { got: '{{step.plan}}', err: '{{step.f.error.code}}' }),
      ],
    });
    expect(runOf(h, await run(h, 'wf')).value).toEqual({ got: 'B', err: 'no_budget' });
  });

  test('waits for 90 days, then goes on', async () => {
    const h = host({ wf: [{ id: 'w', type: 'wait', for: '90d' }, t('end', 'done')] });
    const id = await run(h, 'wf');
    await h.advance(89 * 86_400_000);
    expect(stepsOf(h, id)).toEqual({ w: 'waiting' });
    await h.advance(2 * 86_400_000);
    expect(runOf(h, id).value).toBe('done');
  });

  test('D1 an event that came before its wait is not lost', async () => {
    const h = host({
      wf: [
        { id: 'w', type: 'wait', for: '1m' },
        { id: 'e', type: 'wait', event: { name: 'paid', key: '{{workflow_input.order}}' }, timeout: '1d' },
      ],
    });
    const id = await run(h, 'wf', { order: 'o1' });
    const ref = { accountId: account, runId: 'e1' };
    const event = { eventId: 'e1', name: 'paid', key: 'o1', payload: { amount: 5 }, source: 'test' };
    await h.runtime.store.commit([
      {
        op: 'create',
        path: paths.event(account, 'e1'),
        data: eventRecord(account, event, storePayload(ref, 'p', '{"amount":5}').payload, h.now),
      },
    ]);
    await h.settle();
    await h.advance(60_000);
    expect(runOf(h, id)).toMatchObject({ status: 'completed', value: { timedOut: false, event: { id: 'e1', payload: { amount: 5 } } } });
  });

  test('an expression over the event and vars chooses among events of one name', async () => {
    const event = { name: 'paid', match: 'event.payload.order == vars.order', vars: { order: '{{workflow_input.order}}' } };
    const h = host({ wf: [{ id: 'e', type: 'wait', event, timeout: '1d' }] });
    const id = await run(h, 'wf', { order: 'o2' });
    for (const [eventId, order] of [
      ['e1', 'o1'],
      ['e2', 'o2'],
    ] as const) {
      const payload = { order };
      const stored = storePayload({ accountId: account, runId: eventId }, 'p', JSON.stringify(payload)).payload;
      const record = eventRecord(account, { eventId, name: 'paid', payload, source: 'test' }, stored, h.now);
      await h.runtime.store.commit([{ op: 'create', path: paths.event(account, eventId), data: record }]);
      await h.settle();
    }
    expect(runOf(h, id)).toMatchObject({ status: 'completed', value: { event: { id: 'e2' } } });
  });

  test('a child run returns its output to its parent', async () => {
    const h = host({
      child: [t('x', { twice: '{{workflow_input.n}}' })],
      wf: [{ id: 's', type: 'subworkflow', workflow: 'child', inputs: { n: 4 } }, t('end', '{{step.s.twice}}')],
    });
    expect(runOf(h, await run(h, 'wf')).value).toBe(4);
  });

  test('a run that hits the limit of steps fails with that reason', async () => {
    const h = host({ wf: { steps: [t('a', 1), t('b', 2), t('c', 3)], limits: { maxSteps: 2 } } });
    expect(runOf(h, await run(h, 'wf'))).toMatchObject({ status: 'failed', error: { code: 'run.too_many_steps' } });
  });

  test('runs that start runs end at depth 8', async () => {
    const h = host({ wf: [{ id: 's', type: 'subworkflow', workflow: 'wf' }] });
    expect(runOf(h, await run(h, 'wf'))).toMatchObject({ status: 'failed', error: { code: 'step.child_failed' } });
  });
});

describe('deliveries that are doubled, late, early or lost', () => {
  const dump = (h: MemoryHost): string => JSON.stringify([...h.store.all()].map(({ path, data }) => [path, data]));

  test('D3 D5 every trigger again, later and out of order, changes nothing', async () => {
    const h = host({
      wf: [
        { id: 'fan', type: 'parallel', branches: { a: [{ id: 'x', type: 'action', action: 'echo', inputs: { n: 1 } }], b: [t('y', 2)] } },
        { id: 'z', type: 'action', action: 'echo', inputs: { n: 2 } },
      ],
    });
    const id = await run(h, 'wf');
    expect(runOf(h, id).status).toBe('completed');
    const before = dump(h);
    const called = calls.length;
    // What a late copy of the event carries: the step as it was when it was created.
    const copies = Object.keys(stepsOf(h, id)).map((key) => {
      const now = stepRecordSchema.parse(h.store.peek(paths.step(account, id, key))?.data);
      const { endedAt: _e, startedAt: _s, output: _o, ...rest } = now;
      return { record: { ...rest, state: 'ready' as const, attempt: 0, attempts: [] }, updateTime: '1' };
    });
    for (const held of copies.reverse()) await attend(h.runtime, held.record, { kind: 'trigger', held });
    await attendRun(h.runtime, { accountId: account, runId: id });
    await h.settle();
    expect(dump(h)).toBe(before);
    expect(calls.length).toBe(called);
  });

  test('D8 a wake for nothing does not start a step that is under way', async () => {
    const h = host({ wf: [{ id: 'slow', type: 'action', action: 'held' }] });
    const { runId } = await startRun(h.runtime, { accountId: account, workflowId: 'wf', input: {}, startedBy: { kind: 'user', id: 'u' } });
    const settled = h.settle();
    await vi.waitFor(() => expect(stepsOf(h, runId)).toEqual({ slow: 'running' }), { timeout: 20_000 });
    const ref = { accountId: account, runId, key: 'slow' };
    await attend(h.runtime, ref, { kind: 'trigger' });
    await attend(h.runtime, ref, { kind: 'reconciler' });
    expect(heldCalls).toHaveLength(1);
    heldCalls[0]?.('done');
    await settled;
    expect(runOf(h, runId)).toMatchObject({ status: 'completed', value: 'done' });
    expect(stepRecordSchema.parse(h.store.peek(paths.step(account, runId, 'slow'))?.data).attempt).toBe(1);
  });

  test('D10 a step whose attempts never come back is counted, and fails with that reason', async () => {
    const h = host({ wf: [{ id: 'killed', type: 'action', action: 'held', retry: { maxAttempts: 2 } }] });
    const { runId } = await startRun(h.runtime, { accountId: account, workflowId: 'wf', input: {}, startedBy: { kind: 'user', id: 'u' } });
    void h.settle();
    const ref = { accountId: account, runId, key: 'killed' };
    for (const attempts of [1, 2]) {
      await vi.waitFor(() => expect(heldCalls).toHaveLength(attempts), { timeout: 20_000 });
      h.leap(10 * 60_000);
      await attend(h.runtime, ref, { kind: 'reconciler' });
      h.leap(60_000);
      // The next attempt begins, and never comes back either; nobody waits for it.
      void attend(h.runtime, ref, { kind: 'reconciler' });
    }
    await vi.waitFor(() => expect(runOf(h, runId)).toMatchObject({ status: 'failed', error: { code: 'step.exceeds_limit' } }), {
      timeout: 20_000,
    });
  });

  test('R6 a wait whose doorbell was lost is woken by the reconciler', async () => {
    const h = host({ wf: [{ id: 'w', type: 'wait', for: '1h' }, t('end', 'awake')] });
    const id = await run(h, 'wf');
    h.loseRings();
    h.leap(61 * 60_000);
    await reconcile(h.runtime);
    await h.settle();
    expect(runOf(h, id).value).toBe('awake');
  });

  test('T5 a ring that comes early is armed again under a fresh name, and the run wakes in time', async () => {
    const h = host({ wf: [{ id: 'w', type: 'wait', for: '1h' }] });
    const id = await run(h, 'wf');
    await attend(h.runtime, { accountId: account, runId: id, key: 'w' }, { kind: 'doorbell', hop: 0 });
    expect(stepsOf(h, id)).toEqual({ w: 'waiting' });
    await h.advance(59 * 60_000);
    expect(stepsOf(h, id)).toEqual({ w: 'waiting' });
    await h.advance(60_000);
    expect(stepsOf(h, id)).toEqual({ w: 'succeeded' });
  });

  test('F2 a loop over 10,000 items runs them all, or is refused before it begins with the limit named', async () => {
    const loop = {
      id: 'each',
      type: 'loop',
      concurrency: 50,
      over: { source: 'workflowInput', path: 'items' },
      collect: 'none',
      steps: [t('x', '{{loop_index}}')],
    };
    const items = Array.from({ length: 10_000 }, (_, i) => i);
    const refused = host({ wf: [loop] });
    const small = await run(refused, 'wf', { items });
    expect(runOf(refused, small)).toMatchObject({ status: 'failed', error: { code: 'run.too_many_steps' } });
    expect(Object.keys(stepsOf(refused, small))).toEqual(['each']);
    const h = host({ wf: { steps: [loop], limits: { maxSteps: 50_000 } } });
    const id = await run(h, 'wf', { items });
    expect(runOf(h, id)).toMatchObject({ status: 'completed', value: { count: 10_000 } });
    expect(Object.values(stepsOf(h, id)).filter((state) => state === 'succeeded')).toHaveLength(10_002);
  });
});
