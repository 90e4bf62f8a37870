import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { paths } from '../functions/src/model/paths.ts';
import { ACCOUNT, Installation } from './installation.ts';

const noop = (id: string, more: object = {}): object => ({ id, type: 'action', action: 'test.noop', ...more });
const call = (id: string, more: object = {}): object => ({ id, type: 'action', action: 'test.call', ...more });
const value = (id: string, what: unknown, more: object = {}): object => ({ id, type: 'transform', value: what, ...more });

let kiln: Installation;

beforeAll(async () => {
  kiln = await Installation.start({ name: 'engine' });
});
afterAll(async () => {
  await kiln.close();
});

describe('a graph run on Firestore', () => {
  test('an approval inside an iteration inside a branch inside a condition works, for approve and reject', async () => {
    const ask = {
      id: 'ask',
      type: 'approval',
      title: 'Take {{loop_item}}?',
      approvers: { users: ['ann'] },
      onException: { rejected: [value('no', 'no {{loop_item}}')] },
    };
    const loop = {
      id: 'each',
      type: 'loop',
      concurrency: 3,
      over: { source: 'workflowInput', path: 'items' },
      steps: [ask, value('got', '{{loop_item}}: {{step.ask.outcome}}')],
    };
    await kiln.publish('deep', [
      {
        id: 'c',
        type: 'condition',
        if: 'size(workflow_input.items) > 0',
        then: [{ id: 'fan', type: 'parallel', branches: { l: [loop], r: [value('side', 'r')] } }],
      },
      value('end', '{{step.each}}'),
    ]);
    const run = await kiln.begin('deep', { items: ['a', 'b', 'c'] });
    const open = await kiln.approvalOf(run);
    expect(open.map(({ stepKey }) => stepKey).sort()).toEqual([0, 1, 2].map((i) => `c.then.fan.l.each[${i}].ask`));
    const of = (i: number) => open.find(({ stepKey }) => stepKey.includes(`[${i}]`)) ?? { approvalId: '', digest: '' };
    await kiln.decide(of(1), 'ann', 'reject');
    await kiln.host.idle();
    // An answer to one request answers no other.
    expect((await kiln.approvalOf(run)).length).toBe(2);
    await kiln.decide(of(0), 'ann', 'approve');
    await kiln.decide(of(2), 'ann', 'approve');
    expect(await kiln.ended(run)).toMatchObject({ status: 'completed', pendingApprovals: 0 });
    expect(await kiln.output(run)).toEqual(['a: approve', expect.anything(), 'c: approve']);
    expect((await kiln.states(run))['c.then.fan.l.each[1].ask.onException.no']).toBe('succeeded');
  });

  test('R5 a 429 with Retry-After is waited for by a durable timer', async () => {
    await kiln.publish('limited', [call('x')]);
    kiln.target.answer = (_call, nth) => (nth === 1 ? { status: 429, headers: { 'retry-after': '60' } } : { body: 'ok' });
    const run = await kiln.begin('limited');
    const step = (await kiln.steps(run)).get('x');
    expect(step).toMatchObject({ state: 'waiting', attempt: 1, wait: { kind: 'retry' } });
    expect((step?.wakeAt ?? 0) - (step?.attempts[0]?.endedAt ?? 0)).toBeGreaterThanOrEqual(60_000);
    await kiln.host.advance(59_000);
    expect((await kiln.steps(run)).get('x')?.state).toBe('waiting');
    expect(await kiln.ended(run)).toMatchObject({ status: 'completed' });
    expect((await kiln.steps(run)).get('x')?.attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'succeeded']);
  });

  test('each class of error has its own fate', async () => {
    await kiln.publish('classes', [call('x', { retry: { maxAttempts: 3, baseMs: 100, jitter: 'none' } })]);
    kiln.target.answer = () => ({ status: 503 });
    const retried = await kiln.ended(await kiln.begin('classes'));
    expect(retried).toMatchObject({ status: 'failed', error: { code: 'http.server_error', stepKey: 'x' } });
    expect((await kiln.steps(retried.runId)).get('x')?.attempt).toBe(3);
    kiln.target.answer = () => ({ status: 422 });
    const refused = await kiln.ended(await kiln.begin('classes'));
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'http.client_error' } });
    expect((await kiln.steps(refused.runId)).get('x')?.attempt).toBe(1);
  });

  test('a step that takes longer than its timeout is stopped and tried again', async () => {
    await kiln.publish('slow', [call('x', { timeout: 300, retry: { maxAttempts: 2, baseMs: 10, jitter: 'none' } })]);
    kiln.target.answer = (_call, nth) => (nth === 1 ? { hang: true } : { body: 'second' });
    const run = await kiln.ended(await kiln.begin('slow'));
    expect(run.status).toBe('completed');
    expect((await kiln.steps(run.runId)).get('x')?.attempts[0]?.error?.code).toBe('step.timeout');
  });

  test('V1 V2 V3 V5 unusual values end well or with a clear error, never stuck', async () => {
    await kiln.publish('values', [{ id: 'x', type: 'action', action: 'test.returns', inputs: { what: '{{workflow_input.what}}' } }]);
    const result = async (what: string): Promise<unknown> => {
      const run = await kiln.ended(await kiln.begin('values', { what }));
      return run.status === 'completed' ? await kiln.output(run.runId) : run.error?.code;
    };
    expect(await result('undefined')).toBeNull();
    expect(await result('undefined property')).toEqual({ a: 1 });
    expect(await result('nested lists')).toEqual([[1, 2], [[3]]]);
    expect(await result('keys')).toEqual({ 'a.b': 1, __x__: 2, '': 3, '🙂': 4, 'a/b[0]': 5 });
    expect(await result('300 KB')).toBe('x'.repeat(300 * 1_024));
    expect(await result('3 MB of umlauts')).toBe('ü'.repeat(1.5 * 1_024 * 1_024));
    for (const what of ['undefined in a list', 'NaN', 'BigInt', 'Date', 'Map', 'cycle'])
      expect(await result(what)).toBe('payload.unsupported');
    expect(await result('7.5 MB')).toHaveLength(7.5 * 1_024 * 1_024);
    expect(await result('9 MB')).toBe('payload.too_large');
  });

  test('a sleep of 90 days wakes in time, through hops of a week', async () => {
    await kiln.publish('sleep', [{ id: 'w', type: 'wait', for: '90d' }, value('end', 'awake')]);
    const run = await kiln.begin('sleep');
    await kiln.host.advance(89.9 * 86_400_000);
    expect((await kiln.run(run)).status).toBe('running');
    await kiln.host.advance(0.2 * 86_400_000);
    expect(await kiln.run(run)).toMatchObject({ status: 'completed' });
  });

  test('an answer that takes its time shows on its step meanwhile, where that is asked for, and the result comes through', async () => {
    const slow = { id: 'ask', type: 'recipe', prompt: 'Tell me about the returned shoes. [[fault:slow]]' };
    const writesOf = async (id: string, more: object): Promise<number> => {
      await kiln.publish(id, [{ ...slow, ...more }]);
      const run = await kiln.begin(id);
      const step = (await kiln.steps(run)).get('ask');
      expect(step).toMatchObject({ state: 'succeeded', attempt: 1 });
      expect(step?.progress).toBeUndefined();
      return kiln.host.usage.writesOf(paths.step(ACCOUNT, run, 'ask'));
    };
    const atOnce = await writesOf('ask-at-once', {});
    expect(atOnce).toBeGreaterThan(0);
    expect(await writesOf('ask-shown', { stream: true })).toBeGreaterThan(atOnce);
  });

  test('a run that fails pre-flight is rejected with every problem, and costs no step', async () => {
    await kiln.publish('strict', { input: { type: 'object', required: ['a', 'b'] }, steps: [value('x', '{{workflow_input.a}}')] });
    const run = await kiln.ended(await kiln.begin('strict', {}));
    expect(run.status).toBe('rejected');
    expect((JSON.parse(run.problems ?? '[]') as unknown[]).length).toBeGreaterThanOrEqual(2);
    expect(await kiln.states(run.runId)).toEqual({});
  });

  test('the kill switch stops all advancing; the reconciler takes it up again', async () => {
    await kiln.publish('halted', [value('x', 1)]);
    await kiln.store.commit([{ op: 'set', path: 'system/control', data: { halted: true } }]);
    await kiln.host.advance(31_000);
    const run = await kiln.begin('halted');
    expect((await kiln.run(run)).status).toBe('pending');
    await kiln.store.commit([{ op: 'set', path: 'system/control', data: { halted: false } }]);
    expect((await kiln.ended(run)).status).toBe('completed');
  });
});

test('D4 no two functions watch one document, and nothing is told apart by an event’s id', async () => {
  const watched = kiln.host.functions.flatMap((fn) => (fn.kind === 'document' ? [fn.document] : []));
  expect(watched.length).toBeGreaterThanOrEqual(8);
  expect(new Set(watched).size).toBe(watched.length);
  await kiln.publish('twice', [value('x', 1)]);
  const run = await kiln.ended(await kiln.begin('twice'));
  const stored = JSON.stringify(
    (await kiln.host.firestore().collection(`accounts/acme/runs/${run.runId}/steps`).get()).docs.map((doc) => doc.data()),
  );
  expect(stored).not.toContain('eventId');
});

describe('what a step costs, counted at the wire', () => {
  const counted = async (definition: readonly object[]): Promise<{ writes: number; reads: number; invocations: number }> => {
    const id = `cost${String(definition.length)}${(definition[0] as { type: string }).type}`;
    await kiln.publish(id, definition);
    await kiln.ended(await kiln.begin(id));
    kiln.host.usage.reset();
    await kiln.ended(await kiln.begin(id));
    const { writes, reads, invocations } = kiln.host.usage.total();
    return { writes, reads, invocations };
  };
  const perStep = async (make: (id: string) => object): Promise<{ writes: number; reads: number; invocations: number }> => {
    const list = (n: number): object[] => Array.from({ length: n }, (_, i) => make(`s${i}`));
    const short = await counted(list(5));
    const long = await counted(list(25));
    return {
      writes: (long.writes - short.writes) / 20,
      reads: (long.reads - short.reads) / 20,
      invocations: (long.invocations - short.invocations) / 20,
    };
  };

  test('an effectful step: 3 writes, at most 1 read, 1 invocation', async () => {
    const cost = await perStep((id) => noop(id));
    expect(cost.writes).toBe(3);
    expect(cost.reads).toBeLessThanOrEqual(1);
    expect(cost.invocations).toBe(1);
  });

  test('a step without an effect: 2 writes, at most 1 read, 1 invocation', async () => {
    const cost = await perStep((id) => value(id, 1));
    expect(cost.writes).toBe(2);
    expect(cost.reads).toBeLessThanOrEqual(1);
    expect(cost.invocations).toBe(1);
  });
});
