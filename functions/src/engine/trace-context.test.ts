import { expect, test } from 'vitest';
import {
  attemptSpanId,
  callSpanId,
  childTraceparent,
  formatTraceparent,
  parseTraceparent,
  runSpanId,
  runTraceparent,
  stepSpanId,
} from './trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const run = { accountId: 'acme', runId: 'r1' };
const step = { ...run, key: 'pay' };

test.each([
  ['01', true],
  ['00', false],
  ['03', true],
  ['ff', true],
  ['fe', false],
])('with the flags %s, sampled is %s', (flags, sampled) => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)).toEqual({ traceId, spanId, sampled });
});

test.each([
  ['nothing', undefined],
  ['another version', `01-${traceId}-${spanId}-01`],
  ['no trace', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['no span', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['something before it', ` 00-${traceId}-${spanId}-01`],
  ['something after it', `00-${traceId}-${spanId}-011`],
  ['capital letters', `00-${traceId.toUpperCase()}-${spanId}-01`],
])('%s is no context', (_case, text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test.each([`00-${'0'.repeat(31)}1-1${'0'.repeat(15)}-00`, `00-1${'0'.repeat(31)}-${'0'.repeat(15)}1-00`])('%s is a context', (text) => {
  expect(formatTraceparent(parseTraceparent(text) ?? { traceId: '', spanId: '', sampled: true })).toBe(text);
});

test('a run without a caller has a trace of its own, the same at each asking, and hangs below nothing but itself', () => {
  const own = parseTraceparent(runTraceparent(run, undefined));
  expect(own).toEqual(parseTraceparent(runTraceparent({ ...run }, 'no context')));
  expect(own).toMatchObject({ spanId: runSpanId(run), sampled: true });
  const others = [
    { ...run, accountId: 'other' },
    { ...run, runId: 'r2' },
  ].map((other) => parseTraceparent(runTraceparent(other, undefined)));
  expect(new Set([own, ...others].map((context) => context?.traceId)).size).toBe(3);
});

test('a caller’s context is gone on with, sampled or not', () => {
  for (const flags of ['00', '01']) {
    const given = `00-${traceId}-${spanId}-${flags}`;
    expect(runTraceparent(run, given)).toBe(given);
    expect(childTraceparent(given, step)).toBe(`00-${traceId}-${stepSpanId(step)}-${flags}`);
  }
  expect(childTraceparent(undefined, step)).toBeUndefined();
});

test('runs, steps, attempts and calls have spans of their own', () => {
  const spans = [runSpanId(run), stepSpanId(step), attemptSpanId(step, 1), attemptSpanId(step, 2), callSpanId(step, 1, 1)];
  const more = [callSpanId(step, 1, 2), callSpanId(step, 2, 1), stepSpanId({ ...step, key: 'book' }), runSpanId({ ...run, runId: 'r2' })];
  const all = [...spans, ...more, stepSpanId({ ...step, runId: 'r2' }), attemptSpanId({ ...step, accountId: 'other' }, 1)];
  expect(new Set(all).size).toBe(all.length);
  for (const id of all) expect(id).toMatch(/^[0-9a-f]{16}$/);
});
