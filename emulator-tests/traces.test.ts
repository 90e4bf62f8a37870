import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Installation } from './installation.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
}

/** A collector as OTLP/HTTP in JSON wants it. */
const batches: Span[][] = [];
const collector = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
    batches.push(body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});

let kiln: Installation;

beforeAll(async () => {
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  kiln = await Installation.start({ name: 'traces', env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } });
});
afterAll(async () => {
  await kiln.close();
  collector.close();
});

test('one trace holds a whole run of the deployed functions, across ten invocations and a retry rung by Cloud Tasks', async () => {
  const noops = Array.from({ length: 9 }, (_, i) => ({ id: `n${i}`, type: 'action', action: 'test.noop' }));
  await kiln.publish('traced', [{ id: 'call', type: 'action', action: 'test.call', retry: { baseMs: 5_000, jitter: 'none' } }, ...noops]);
  kiln.target.answer = (_call, nth) => (nth === 1 ? { status: 503 } : { body: 'ok' });
  const run = await kiln.begin('traced');
  expect((await kiln.steps(run)).get('call')).toMatchObject({ state: 'waiting', wait: { kind: 'retry' } });
  expect((await kiln.ended(run)).status).toBe('completed');
  await kiln.host.idle();

  const spans = batches.flat();
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  // Each invocation that ended something sent it before it returned.
  expect(batches.length).toBeGreaterThanOrEqual(10);
  const names = spans.map(({ name }) => name).sort();
  const steps = ['call', ...noops.map(({ id }) => id)];
  expect(names).toEqual(
    ['workflow traced', ...steps.map((key) => `step ${key}`), ...steps.map((key) => `attempt 1 of ${key}`), 'attempt 2 of call'].sort(),
  );
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const root = spans.find(({ name }) => name === 'workflow traced');
  for (const { name, parentSpanId } of spans) {
    if (name.startsWith('step ')) expect(parentSpanId, name).toBe(root?.spanId);
    if (name.startsWith('attempt ')) expect(byId.get(parentSpanId ?? '')?.name, name).toBe(`step ${name.split(' of ')[1] ?? ''}`);
  }
});
