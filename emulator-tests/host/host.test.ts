import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { attachCounter, startHost, type FaultHost } from './index.ts';

let host: FaultHost;

beforeAll(async () => {
  host = await startHost({
    functions: new URL('fixture/functions.ts', import.meta.url),
    projectId: 'demo-host',
    retry: { maxAttempts: 5 },
  });
});
afterAll(() => host.close());
beforeEach(async () => {
  await host.idle();
  await host.clear();
  host.usage.reset();
});

async function startChain(chain: string, of: number, mode?: string): Promise<void> {
  await host
    .firestore()
    .doc(`chains/${chain}/links/1`)
    .create({ n: 1, of, ...(mode === undefined ? {} : { mode }) });
}

async function isDone(chain: string): Promise<boolean> {
  return (await host.firestore().doc(`chains/${chain}`).get()).get('done') === true;
}

async function callsOf(chain: string): Promise<number[]> {
  const calls = await host.firestore().collection('calls').get();
  return calls.docs.filter((doc) => doc.id.startsWith(`${chain}-`)).map((doc) => Number(doc.get('count')));
}

test('the functions are found as they are declared for deployment', () => {
  expect(host.functions.map(({ name, kind, region }) => `${name} ${kind} ${region}`)).toEqual([
    'api callable europe-west1',
    'doorbell task europe-west1',
    'linkCreated document europe-west1',
    'onceOnly document europe-west1',
    'reconcile schedule europe-west1',
    'web http europe-west1',
  ]);
  expect(host.functions.find((fn) => fn.name === 'linkCreated')).toMatchObject({
    eventType: 'google.cloud.firestore.document.v1.created',
    document: 'chains/{chain}/links/{link}',
    retry: true,
  });
});

describe('events', () => {
  test('chains run to their end, side by side, each step called once when nothing goes wrong', async () => {
    const chains = Array.from({ length: 10 }, (_, index) => `side${index}`);
    await Promise.all(chains.map((chain) => startChain(chain, 5)));
    await host.idle();
    for (const chain of chains) {
      expect(await isDone(chain)).toBe(true);
      expect(await callsOf(chain)).toEqual([1, 1, 1, 1, 1]);
    }
    expect(host.counters.maxInFlight).toBeGreaterThan(1);
  });

  test('a function that throws is called again when it asked for that', async () => {
    await startChain('again', 1, 'throw');
    await host.idle();
    expect(await callsOf('again')).toEqual([2]);
    expect(await isDone('again')).toBe(true);
  });

  test('a function that did not ask is not', async () => {
    const abandoned = host.counters.abandoned;
    await host.firestore().doc('once/a').set({ n: 1 });
    await host.firestore().doc('once/a').update({ n: 2 });
    await host.idle();
    expect((await host.firestore().doc('calls/once-a').get()).data()).toEqual({ count: 1, after: 2 });
    expect(host.counters.abandoned).toBe(abandoned + 1);
  });

  test('a function that always throws is given up after its attempts, and the host comes to rest', async () => {
    const abandoned = host.counters.abandoned;
    await startChain('hopeless', 1, 'always');
    await host.idle();
    expect(await callsOf('hopeless')).toEqual([5]);
    expect(host.counters.abandoned).toBe(abandoned + 1);
  });
});

describe('time', () => {
  test('a doorbell rings at its time by the moved clock, and what it starts happens before time goes on', async () => {
    const { clock } = host.services.tasks.tasks;
    const before = clock.now();
    const response = await host.request('web', '/ring-later?name=first', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'bell', again: 2 }),
    });
    expect(response.status).toBe(202);
    await host.advance(30 * 60_000);
    expect((await host.firestore().doc('rings/bell').get()).exists).toBe(false);
    await host.advance(3 * 3_600_000);
    const rangAt = (await host.firestore().doc('rings/bell').get()).get('rangAt') as number[];
    expect(rangAt.map((at) => Math.round((at - before) / 3_600_000))).toEqual([1, 2, 3]);
    expect(await isDone('bell')).toBe(true);
  });

  test('the scheduled function runs when it is told to', async () => {
    await startChain('stuck', 1);
    await host.idle();
    await host.firestore().doc('chains/stuck').delete();
    await host.firestore().doc('open/stuck').set({});
    await host.reconcile();
    expect(await isDone('stuck')).toBe(true);
  });

  test('waiting for a condition that never comes true ends with what is known', async () => {
    await expect(host.until(() => Promise.resolve(false), { rounds: 2, stepMs: 1_000 })).rejects.toThrow('did not come true in 2 rounds');
  });
});

describe('HTTP', () => {
  test('a request function gets path, parsed body and the bytes of it', async () => {
    const body = JSON.stringify({ hello: 'wörld' });
    const response = await host.request('web', '/a/b?c=d', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(await response.json()).toEqual({ path: '/a/b', body: { hello: 'wörld' }, raw: Buffer.byteLength(body), pid: process.pid });
    const broken = await host.request('web', '/', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' });
    expect(broken.status).toBe(400);
  });

  test('a callable function answers, or throws its error with status and details', async () => {
    expect(await host.call('api', { n: 1 })).toEqual({ echo: { n: 1 } });
    await expect(host.call('api', { fail: true })).rejects.toMatchObject({
      status: 'FAILED_PRECONDITION',
      message: 'not now',
      details: { why: 'asked to' },
    });
  });

  test('an unknown function is named with those there are', () => {
    expect(() => host.url('nothing')).toThrow('It has: api, doorbell');
  });
});

describe('counting', () => {
  test('what functions read and write is counted per function, and nothing else', async () => {
    await startChain('counted', 4);
    await host.idle();
    await callsOf('counted');
    // Per link a note of the call and the next link or the end; no read, as the event brings the document.
    expect(host.usage.byFunction()).toEqual({
      linkCreated: { invocations: 4, reads: 0, writes: 8, deletes: 0, requests: 8, refusedCommits: 0 },
    });
    expect(host.usage.writesOf('calls/counted-2')).toBe(1);
  });

  test('every kind of request of a client is counted as it is billed', async () => {
    const db = host.firestore();
    const { usage, detach } = attachCounter(db);
    const used = async (work: () => Promise<unknown>): Promise<object> => {
      usage.reset();
      await work().catch(() => undefined);
      const { reads, writes, deletes, refusedCommits } = usage.total();
      return { reads, writes, deletes, refusedCommits };
    };
    const idle = { reads: 0, writes: 0, deletes: 0, refusedCommits: 0 };
    const items = db.collection('plain');
    expect(
      await used(() => db.batch().set(items.doc('a'), { n: 1 }).set(items.doc('b'), { n: 2 }).set(items.doc('c'), { n: 3 }).commit()),
    ).toEqual({ ...idle, writes: 3 });
    expect(await used(() => items.doc('a').get())).toEqual({ ...idle, reads: 1 });
    expect(await used(() => items.doc('missing').get())).toEqual({ ...idle, reads: 1 });
    expect(await used(() => db.getAll(items.doc('a'), items.doc('b'), items.doc('missing')))).toEqual({ ...idle, reads: 3 });
    expect(await used(() => items.where('n', '>', 1).get())).toEqual({ ...idle, reads: 2 });
    expect(await used(() => items.where('n', '>', 100).get())).toEqual({ ...idle, reads: 1 });
    expect(await used(() => items.count().get())).toEqual({ ...idle, reads: 1 });
    expect(await used(() => items.doc('a').create({ n: 1 }))).toEqual({ ...idle, refusedCommits: 1 });
    expect(await used(() => items.doc('c').delete())).toEqual({ ...idle, deletes: 1 });
    const transaction = (): Promise<void> =>
      db.runTransaction(async (tx) => {
        const doc = await tx.get(items.doc('a'));
        tx.update(doc.ref, { n: 5 });
      });
    expect(await used(transaction)).toEqual({ ...idle, reads: 1, writes: 1 });
    detach();
    expect(await used(() => items.doc('a').get())).toEqual(idle);
  });

  test('the documents that are written most within a second are shown', async () => {
    const db = host.firestore();
    const { usage, detach } = attachCounter(db);
    for (let index = 0; index < 5; index += 1) await db.doc('plain/hot').set({ index });
    await db.doc('plain/cold').set({});
    expect(usage.hottest(60_000, 2)).toEqual([
      { document: 'plain/hot', writes: 5 },
      { document: 'plain/cold', writes: 1 },
    ]);
    expect(usage.hottest(0, 1)[0]?.writes).toBe(1);
    detach();
  });
});
