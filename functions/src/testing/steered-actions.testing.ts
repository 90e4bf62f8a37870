import { z } from 'zod';
import { KilnError } from '../model/errors.ts';
import { defineAction } from '../steps/action-registry.ts';
import type { Action } from '../steps/action-registry.ts';

const anything = z.looseObject({});

/** Posts to the test's target with the idempotency key; what the target answers decides what happens. */
async function post(input: Record<string, unknown>, key: string, signal: AbortSignal): Promise<unknown> {
  const url = process.env['KILN_TEST_TARGET'];
  if (url === undefined) throw new Error('the test names no target');
  const response = await fetch(url, { method: 'POST', headers: { 'idempotency-key': key }, body: JSON.stringify(input), signal });
  const body: unknown = await response.json();
  if (response.status === 429) {
    const seconds = Number(response.headers.get('retry-after') ?? 0);
    throw new KilnError('http.rate_limited', 'the target answered 429', { retryAfterMs: seconds * 1_000 });
  }
  if (response.status >= 500) throw new KilnError('http.server_error', `the target answered ${response.status}`);
  if (response.status >= 400) throw new KilnError('http.client_error', `the target answered ${response.status}`);
  return body;
}

/** Actions that tests steer from outside the functions’ process. */
export const steeredActions: readonly Action[] = [
  defineAction({ name: 'test.noop', input: anything, output: z.json(), idempotent: true, run: () => null }),
  defineAction({
    name: 'test.call',
    input: anything,
    output: z.json(),
    idempotent: true,
    run: async (input, { idempotencyKey, signal }) => (await post(input, idempotencyKey, signal)) as null,
  }),
  defineAction({
    name: 'test.charge',
    input: anything,
    output: z.json(),
    run: async (input, { idempotencyKey, signal }) => (await post(input, idempotencyKey, signal)) as null,
  }),
  defineAction({
    name: 'test.returns',
    input: z.looseObject({ what: z.string() }),
    output: z.unknown(),
    idempotent: true,
    run: ({ what }) => unusual(what),
  }),
];

/** Values that JSON does not know, and large ones. */
function unusual(what: string): unknown {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const values: Readonly<Record<string, unknown>> = {
    undefined: undefined,
    'undefined in a list': [undefined],
    'undefined property': { a: 1, b: undefined },
    NaN: { x: Number.NaN },
    BigInt: { x: 2n ** 62n },
    Date: { at: new Date(0) },
    Map: new Map([['a', 1]]),
    cycle,
    'nested lists': [[1, 2], [[3]]],
    keys: { 'a.b': 1, __x__: 2, '': 3, '🙂': 4, 'a/b[0]': 5 },
    '300 KB': 'x'.repeat(300 * 1_024),
    '3 MB of umlauts': 'ü'.repeat(1.5 * 1_024 * 1_024),
    '7.5 MB': 'x'.repeat(7.5 * 1_024 * 1_024),
    '9 MB': 'x'.repeat(9 * 1_024 * 1_024),
  };
  return values[what];
}
