import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { noEventFaults } from './event-faults.ts';
import { startHost, type FaultHost } from './index.ts';

let host: FaultHost;

beforeAll(async () => {
  host = await startHost({ functions: new URL('fixture/functions.ts', import.meta.url), projectId: 'demo-host-faults', seed: 'faults' });
});
afterAll(() => host.close());
beforeEach(async () => {
  host.setFaults(noEventFaults);
  await host.idle();
  await host.clear();
});
afterEach(() => host.setFaults(noEventFaults));

async function runChains(count: number, of: number): Promise<string[]> {
  const chains = Array.from({ length: count }, (_, index) => `chain${index}`);
  const batch = host.firestore().batch();
  for (const chain of chains) {
    batch.create(host.firestore().doc(`open/${chain}`), {});
    batch.create(host.firestore().doc(`chains/${chain}/links/1`), { n: 1, of });
  }
  await batch.commit();
  await host.idle();
  return chains;
}

/** The links of each chain and whether it is done: the state that must come out the same with and without faults. */
async function outcome(chains: readonly string[]): Promise<object> {
  const db = host.firestore();
  const entries = chains.map(async (chain) => {
    const links = await db.collection(`chains/${chain}/links`).orderBy('n').get();
    const done = (await db.doc(`chains/${chain}`).get()).get('done') as boolean | undefined;
    return [chain, { links: links.docs.map((doc) => doc.get('n') as number), done: done ?? false }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

describe('faults on the way of events', () => {
  test('duplicates, drops, delays, disorder, lost answers and missing data together change no outcome', async () => {
    const expected = await outcome(await runChains(8, 6));
    expect(expected).toHaveProperty('chain3', { links: [1, 2, 3, 4, 5, 6], done: true });
    await host.clear();
    const before = { ...host.counters };
    host.setFaults({
      duplicate: 0.2,
      drop: 0.1,
      delay: 0.2,
      reorder: 0.2,
      loseAnswer: 0.1,
      withoutData: 0.1,
      delayMs: 40,
      redeliverMs: 60,
    });
    expect(await outcome(await runChains(8, 6))).toEqual(expected);
    // A fault that never happened proves nothing.
    for (const fault of ['duplicated', 'dropped', 'delayed', 'reordered', 'answersLost', 'withoutData'] as const) {
      expect(host.counters[fault]).toBeGreaterThan(before[fault]);
    }
  });

  test('lost events are found by the reconciler only', async () => {
    const before = host.counters.lost;
    host.setFaults({ lose: 0.3 });
    const chains = await runChains(6, 4);
    expect(host.counters.lost).toBeGreaterThan(before);
    const allDone = async (): Promise<boolean> => Object.values(await outcome(chains)).every((chain) => (chain as { done: boolean }).done);
    expect(await allDone()).toBe(false);
    await host.until(allDone);
    expect(await outcome(chains)).toHaveProperty('chain0', { links: [1, 2, 3, 4], done: true });
  });

  test('a late ring and a doubled ring reach the function; a dropped one does not', async () => {
    const { tasks } = host.services.tasks;
    const ring = async (id: string): Promise<number> => {
      await host.request('web', `/ring-later?name=${id}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ id }),
      });
      await host.advance(2 * 3_600_000);
      return ((await host.firestore().doc(`rings/${id}`).get()).get('rangAt') as number[] | undefined)?.length ?? 0;
    };
    tasks.setFaults({ duplicate: 1 });
    expect(await ring('doubled')).toBe(2);
    tasks.setFaults({ duplicate: 0, drop: 1 });
    expect(await ring('dropped')).toBe(0);
    tasks.setFaults({ drop: 0, late: 1, lateMs: 3_600_000 });
    expect(await ring('late')).toBe(1);
    tasks.setFaults({ late: 0 });
  });
});

test('a second project cannot run in the same process', async () => {
  await expect(startHost({ functions: new URL('fixture/functions.ts', import.meta.url), projectId: 'demo-host-other' })).rejects.toThrow(
    'another project needs worker: true',
  );
});
