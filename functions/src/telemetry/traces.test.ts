import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { formatTraceparent, parseTraceparent, runSpanId, runTraceparent } from '../engine/trace-context.ts';
import { KilnError } from '../model/errors.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, Operations } from '../testing/operations.testing.ts';
import { otlpSink } from './otlp.ts';
import { ownerOf, stepSpans } from './spans.ts';
import type { SpanData } from './spans.ts';
import { TracedStore } from './traced-store.ts';

interface Received {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly status: { readonly code?: number; readonly message?: string };
  /** The request that brought it: one for each invocation that had something to send. */
  readonly request: number;
}

/** A collector: takes OTLP/HTTP in JSON as real ones do. */
const received: Received[] = [];
let requests = 0;
const collector = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    requests += 1;
    // A collector that is asked otherwise takes nothing, and the test finds no spans.
    if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json') {
      response.writeHead(400).end();
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      resourceSpans: { scopeSpans: { spans: Omit<Received, 'request'>[] }[] }[];
    };
    for (const { scopeSpans } of body.resourceSpans)
      for (const { spans } of scopeSpans) received.push(...spans.map((span) => ({ ...span, request: requests })));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});
let endpoint = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
});
afterAll(() => void collector.close());
beforeEach(() => {
  received.length = 0;
  requests = 0;
});

let failures = 0;
const act = defineAction({
  name: 'act',
  input: z.looseObject({}),
  output: z.json(),
  idempotent: true,
  run: () => {
    if (failures-- > 0) throw new KilnError('http.server_error', 'the target answered 503');
    return 'ok';
  },
});

/** An account whose every delivery is an invocation of its own: what it ends is sent before it returns. */
function tracedOperations(): { ops: Operations; invocations: () => number } {
  let traced: TracedStore | undefined;
  let invocations = 0;
  const ops: Operations = new Operations({
    actions: [act],
    store: (store) => (traced = new TracedStore(store, otlpSink({ endpoint, serviceName: 'kiln' }))),
    around: (route) => async (runtime, snapshot) => {
      invocations += 1;
      await route(runtime, snapshot);
      await traced?.flush();
    },
    afterRing: async () => {
      invocations += 1;
      await traced?.flush();
    },
  });
  return { ops, invocations: () => invocations };
}

const step = (id: string, more: object = {}): object => ({ id, type: 'action', action: 'act', ...more });

describe('one trace', () => {
  test('holds the whole run, across invocations, a retry by doorbell, a long wait and a child run', async () => {
    failures = 1;
    const { ops, invocations } = tracedOperations();
    await ops.publish('child', [step('inner')]);
    await ops.publish('wf', [
      step('first', { retry: { baseMs: 20_000, jitter: 'none' } }),
      { id: 'each', type: 'loop', concurrency: 2, over: { source: 'static', items: [1, 2, 3] }, steps: [step('x'), step('y')] },
      { id: 'w', type: 'wait', for: '1h' },
      { id: 's', type: 'subworkflow', workflow: 'child' },
      step('last'),
    ]);
    const run = await ops.start('wf');
    await ops.host.advance(2 * 3_600_000);
    expect(ops.run(run).status).toBe('completed');
    expect(invocations()).toBeGreaterThanOrEqual(10);
    expect(new Set(received.map(({ request }) => request)).size).toBeGreaterThanOrEqual(10);

    expect(new Set(received.map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(received.map(({ spanId }) => spanId)).size).toBe(received.length);
    const names = received.map(({ name }) => name);
    for (const expected of [
      'workflow wf',
      'workflow child',
      'step first',
      'attempt 1 of first',
      'attempt 2 of first',
      'step each',
      'step each[2].y',
      'step w',
      'step s',
      'step inner',
      'step last',
    ])
      expect(names).toContain(expected);

    // Every span but the root hangs below one that was received, too.
    const ids = new Map(received.map((span) => [span.spanId, span]));
    const roots = received.filter(({ parentSpanId }) => parentSpanId === undefined || parentSpanId === '');
    expect(roots.map(({ name }) => name)).toEqual(['workflow wf']);
    for (const span of received) if (!roots.includes(span)) expect(ids.has(span.parentSpanId ?? ''), span.name).toBe(true);
    const parentOf = (name: string): string | undefined => ids.get(received.find((span) => span.name === name)?.parentSpanId ?? '')?.name;
    expect(parentOf('attempt 2 of first')).toBe('step first');
    expect(parentOf('step each[2].y')).toBe('step each');
    expect(parentOf('workflow child')).toBe('step s');

    const failed = received.find(({ name }) => name === 'attempt 1 of first');
    expect(failed?.status).toMatchObject({ code: 2, message: 'the target answered 503' });
    const wait = received.find(({ name }) => name === 'step w');
    const waited = (BigInt(wait?.endTimeUnixNano ?? 0) - BigInt(wait?.startTimeUnixNano ?? 0)) / 1_000_000n;
    expect(Number(waited)).toBe(3_600_000);
  });

  test('a caller’s context is gone on with', async () => {
    const { ops } = tracedOperations();
    await ops.publish('wf', [step('a')]);
    const given = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    expect(parseTraceparent(runTraceparent({ accountId: ACCOUNT, runId: 'r' }, given))).toMatchObject({ spanId: 'b7ad6b7169203331' });
    await ops.start('wf', {}, 'r', given);
    const root = received.find(({ name }) => name === 'workflow wf');
    expect(root).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
      spanId: runSpanId({ accountId: ACCOUNT, runId: 'r' }),
    });
  });

  test('a caller that does not sample is not traced; what is no traceparent is passed over', async () => {
    const { ops } = tracedOperations();
    await ops.publish('wf', [step('a')]);
    await ops.start('wf', {}, 'quiet', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00');
    expect(received).toEqual([]);
    await ops.start('wf', {}, 'loud', 'nonsense');
    expect(received.length).toBeGreaterThan(0);
  });

  test('a collector that is down disturbs nothing', async () => {
    const before = endpoint;
    endpoint = 'http://127.0.0.1:1';
    const { ops } = tracedOperations();
    endpoint = before;
    await ops.publish('wf', [step('a')]);
    const run = await ops.start('wf');
    expect(ops.run(run).status).toBe('completed');
  });
});

describe('spans', () => {
  test('calls follow the conventions for GenAI and HTTP', async () => {
    const { ops } = tracedOperations();
    await ops.publish('wf', [step('a')]);
    const run = await ops.start('wf');
    const record = ops.step(run, 'a');
    const at = record.attempts[0]?.startedAt ?? 0;
    const call = {
      model: 'gpt-5-mini',
      responseModel: 'gpt-5-mini-2026',
      at,
      latencyMs: 0,
      usage: { inputTokens: 10, outputTokens: 5 },
      finishReason: 'stop',
    };
    const llm = spanNamed(
      stepSpans({ ...record, details: JSON.stringify({ calls: [call, { ...call, reused: true }] }) }),
      'chat gpt-5-mini',
    );
    expect(llm).toHaveLength(1);
    expect(llm[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-5-mini',
      'gen_ai.response.model': 'gpt-5-mini-2026',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.response.finish_reasons': ['stop'],
    });
    const [http] = spanNamed(
      stepSpans({ ...record, details: JSON.stringify({ method: 'POST', origin: 'https://api.example:8443', status: 201 }) }),
      'POST',
    );
    expect(http).toMatchObject({
      kind: 'client',
      attributes: { 'http.request.method': 'POST', 'server.address': 'api.example', 'server.port': 8443, 'http.response.status_code': 201 },
    });
  });

  test('a step hangs below the one that contains it', () => {
    const owners = {
      a: undefined,
      'each[3].a': 'each',
      'check.then.a': 'check',
      'fan.left.each[1].a': 'fan.left.each',
      'pay.onException.note': 'pay',
      'pay.$undo': 'pay',
      'each.$join': 'each',
    };
    for (const [key, owner] of Object.entries(owners)) expect(ownerOf(key), key).toBe(owner);
  });

  test('a context comes back from text as it was', () => {
    const text = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const context = parseTraceparent(text);
    expect(context === undefined ? undefined : formatTraceparent(context)).toBe(text);
    for (const bad of [undefined, '', 'x', '00-00000000000000000000000000000000-b7ad6b7169203331-01', `${text}0`])
      expect(parseTraceparent(bad)).toBeUndefined();
  });
});

function spanNamed(spans: readonly SpanData[], name: string): readonly SpanData[] {
  return spans.filter((span) => span.name === name);
}
