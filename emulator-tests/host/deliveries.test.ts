import { describe, expect, test } from 'vitest';
import { Deliveries, type FunctionEvent } from './deliveries.ts';
import { drawFate, noEventFaults, type EventFaults } from './event-faults.ts';

function event(document: string, retry = true): FunctionEvent {
  return { functionName: 'fn', retry, headers: { 'ce-document': document }, body: Buffer.from('x') };
}

/** Sends `count` events under the given faults and tells which calls came, in order. */
async function play(
  faults: Partial<EventFaults>,
  count: number,
  options: { readonly seed?: string; readonly fail?: (document: string, call: number) => boolean } = {},
) {
  const calls: string[] = [];
  let kills = 0;
  const deliveries = new Deliveries({
    seed: options.seed ?? 's',
    faults,
    retry: { minBackoffMs: 1, maxBackoffMs: 2, maxAttempts: 4 },
    kill: () => {
      kills += 1;
    },
    invoke: async (sent) => {
      const document = sent.headers['ce-document'] ?? '';
      calls.push(sent.body.length === 0 ? `${document} without data` : document);
      await Promise.resolve();
      if (options.fail?.(document, calls.filter((call) => call === document).length) === true) throw new Error('failed');
    },
  });
  for (let index = 0; index < count; index += 1) deliveries.receive(event(`d${index}`));
  await deliveries.idle();
  return { calls, counters: deliveries.counters, kills };
}

describe('the fate of an event', () => {
  test('depends on the seed and the event, not on when it is drawn', () => {
    const faults: EventFaults = {
      ...noEventFaults,
      duplicate: 0.3,
      drop: 0.2,
      delay: 0.3,
      reorder: 0.2,
      lose: 0.1,
      loseAnswer: 0.1,
      withoutData: 0.1,
    };
    const fates = (seed: string): string[] =>
      Array.from({ length: 100 }, (_, index) => JSON.stringify(drawFate(seed, faults, ['fn', `d${index}`, '1'])));
    expect(fates('a')).toEqual(fates('a'));
    expect(fates('a')).not.toEqual(fates('b'));
    expect(new Set(fates('a').map((fate) => (JSON.parse(fate) as { arrival: { kind: string } }).arrival.kind))).toEqual(
      new Set(['now', 'lost', 'dropped', 'overtaken', 'delayed']),
    );
  });

  test('more than may run at once wait in line; who ends makes room', async () => {
    const running: (() => void)[] = [];
    const order: string[] = [];
    const deliveries = new Deliveries({
      seed: 's',
      concurrency: 2,
      kill: () => undefined,
      invoke: (sent) => {
        order.push(sent.headers['ce-document'] ?? '');
        return new Promise((resolve) => running.push(resolve));
      },
    });
    for (let index = 0; index < 5; index += 1) deliveries.receive(event(`d${index}`));
    for (let ended = 0; ended < 5; ended += 1) {
      await expect.poll(() => running.length).toBe(Math.min(5, ended + 2));
      running[ended]?.();
    }
    await deliveries.idle();
    expect(order).toEqual(['d0', 'd1', 'd2', 'd3', 'd4']);
    expect(deliveries.counters).toMatchObject({ succeeded: 5, maxInFlight: 2 });
  });

  test('without faults every event is delivered once, in order', async () => {
    const { calls, counters } = await play({}, 5);
    expect(calls).toEqual(['d0', 'd1', 'd2', 'd3', 'd4']);
    expect(counters).toMatchObject({ received: 5, delivered: 5, succeeded: 5, redelivered: 0 });
  });

  test('a duplicate comes twice, a lost answer comes again, and a lost event never comes', async () => {
    expect((await play({ duplicate: 1 }, 3)).calls.toSorted((a, b) => a.localeCompare(b))).toEqual(['d0', 'd0', 'd1', 'd1', 'd2', 'd2']);
    const again = await play({ loseAnswer: 1 }, 1);
    expect(again.calls).toEqual(['d0', 'd0']);
    expect(again.counters.answersLost).toBe(1);
    const lost = await play({ lose: 1 }, 3);
    expect(lost.calls).toEqual([]);
    expect(lost.counters).toMatchObject({ received: 3, lost: 3, delivered: 0 });
  });

  test('a dropped event comes later, and without its data it still comes', async () => {
    const dropped = await play({ drop: 1, redeliverMs: 5 }, 2);
    expect(dropped.calls).toEqual(['d0', 'd1']);
    expect(dropped.counters.dropped).toBe(2);
    expect((await play({ withoutData: 1 }, 1)).calls).toEqual(['d0 without data']);
  });

  test('reordered events are overtaken by later ones; the last ones arrive though nothing overtakes them', async () => {
    const { calls, counters } = await play({ reorder: 0.5, delayMs: 20 }, 40);
    expect(counters.reordered).toBeGreaterThan(5);
    const inOrder = Array.from({ length: 40 }, (_, index) => `d${index}`);
    expect(calls).not.toEqual(inOrder);
    expect(new Set(calls)).toEqual(new Set(inOrder));
    expect((await play({ reorder: 1, delayMs: 5 }, 1)).calls).toEqual(['d0']);
  });

  test('a kill is asked for while the event is in flight or just after', async () => {
    const { kills, counters } = await play({ kill: 1, killMs: 0 }, 3);
    expect(kills).toBe(3);
    expect(counters.kills).toBe(3);
  });
});

describe('redelivery', () => {
  test('goes on until the function succeeds', async () => {
    const { calls, counters } = await play({}, 1, { fail: (_, call) => call < 3 });
    expect(calls).toEqual(['d0', 'd0', 'd0']);
    expect(counters).toMatchObject({ failed: 2, redelivered: 2, succeeded: 1, abandoned: 0 });
  });

  test('ends after its attempts, and does not happen without retry', async () => {
    expect((await play({}, 1, { fail: () => true })).counters).toMatchObject({ delivered: 4, abandoned: 1 });
    const deliveries = new Deliveries({ seed: 's', kill: () => undefined, invoke: () => Promise.reject(new Error('failed')) });
    deliveries.receive(event('d', false));
    await deliveries.idle();
    expect(deliveries.counters).toMatchObject({ delivered: 1, abandoned: 1 });
  });
});

test('closing frees what is held, and nothing is delivered any more', async () => {
  const calls: string[] = [];
  const deliveries = new Deliveries({
    seed: 's',
    faults: { drop: 1, redeliverMs: 3_600_000 },
    kill: () => undefined,
    invoke: async () => void calls.push('called'),
  });
  deliveries.receive(event('d'));
  deliveries.close();
  await deliveries.idle();
  expect(calls).toEqual([]);
});
