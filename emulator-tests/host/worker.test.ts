import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { noEventFaults } from './event-faults.ts';
import { startHost, type FaultHost } from './index.ts';

const functions = new URL('fixture/functions.ts', import.meta.url);
let host: FaultHost;

beforeAll(async () => {
  host = await startHost({ functions, projectId: 'demo-host-worker', seed: 'worker', worker: true });
});
afterAll(() => host.close());
beforeEach(async () => {
  host.setFaults(noEventFaults);
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

async function calls(chain: string, n: number): Promise<number> {
  return Number((await host.firestore().doc(`calls/${chain}-${n}`).get()).get('count') ?? 0);
}

describe('functions in a process of their own', () => {
  test('run, answer and are counted as in this process', async () => {
    await startChain('plain', 3);
    await host.idle();
    expect(await isDone('plain')).toBe(true);
    expect(((await (await host.request('web', '/')).json()) as { pid: number }).pid).toBe(host.pid);
    expect(host.pid).not.toBe(process.pid);
    // The counts come over a channel of their own, a moment after the answer.
    await vi.waitFor(() => expect(host.usage.byFunction()['linkCreated']?.writes).toBe(6), { timeout: 10_000 });
  });

  test('a kill in the middle of a call: the event comes again to a new process at the same address', async () => {
    const url = host.url('web');
    const pid = host.pid;
    await startChain('killed', 2, 'slow');
    await vi.waitFor(async () => expect(await calls('killed', 1)).toBe(1), { timeout: 10_000 });
    const failed = host.counters.failed;
    await host.kill();
    await host.idle();
    expect(host.counters.failed).toBeGreaterThan(failed);
    expect(await calls('killed', 1)).toBe(2);
    expect(await isDone('killed')).toBe(true);
    expect(host.pid).not.toBe(pid);
    expect(host.url('web')).toBe(url);
  });

  test('a process that something else ends is replaced too, and keeps its moved clock', async () => {
    await host.advance(3_600_000);
    const { pid } = host;
    if (pid === undefined) throw new Error('the functions run in a process of their own here');
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(() => expect(host.pid).not.toBe(pid), { timeout: 10_000 });
    await host.request('web', '/ring?name=after', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'after' }),
    });
    await host.advance(0);
    const rangAt = (await host.firestore().doc('rings/after').get()).get('rangAt') as number[];
    expect(rangAt[0]).toBeGreaterThan(Date.now() + 3_500_000);
  });

  test('a process that is killed again while it starts is replaced all the same', async () => {
    const first = host.pid;
    const replaced = host.kill();
    await vi.waitFor(() => expect(host.pid).not.toBe(first), { timeout: 10_000 });
    if (host.pid !== undefined) process.kill(host.pid, 'SIGKILL');
    await replaced;
    await startChain('restarted', 2);
    await host.idle();
    expect(await isDone('restarted')).toBe(true);
  });

  test('a kill inside a transaction leaves no locks behind', async () => {
    await host.firestore().doc('locks/held').set({ n: 0 });
    await startChain('held', 1, 'lock');
    await vi.waitFor(async () => expect((await host.firestore().doc('locks/held-held').get()).get('by')).toBe('first'), {
      timeout: 10_000,
    });
    await host.kill();
    // Would wait for about a minute if the dead process still held its lock.
    await host.firestore().doc('locks/held').update({ m: 1 });
    await host.idle();
    expect((await host.firestore().doc('locks/held').get()).data()).toEqual({ n: 1, m: 1 });
    expect(await isDone('held')).toBe(true);
  }, 25_000);

  test('random kills while chains run lose nothing', async () => {
    host.setFaults({ kill: 0.12, killMs: 30, duplicate: 0.1 });
    const chains = Array.from({ length: 4 }, (_, index) => `k${index}`);
    await Promise.all(chains.map((chain) => startChain(chain, 4)));
    await host.idle();
    expect(host.counters.kills).toBeGreaterThan(0);
    for (const chain of chains) expect(await isDone(chain)).toBe(true);
  });
});

test('a module that does not load is reported with its own error, and leaves nothing running', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kiln-host-'));
  const broken = join(folder, 'broken.mjs');
  writeFileSync(broken, "throw new Error('this module is broken');");
  const children = process.getActiveResourcesInfo().filter((resource) => resource === 'ProcessWrap').length;
  await expect(startHost({ functions: pathToFileURL(broken), projectId: 'demo-host-broken', worker: true })).rejects.toThrow(
    'this module is broken',
  );
  await vi.waitFor(() => expect(process.getActiveResourcesInfo().filter((resource) => resource === 'ProcessWrap')).toHaveLength(children), {
    timeout: 10_000,
  });
  rmSync(folder, { recursive: true, force: true });
});

test('two projects run side by side on one emulator without seeing each other', async () => {
  const other = await startHost({ functions, projectId: 'demo-host-worker-2', worker: true });
  const received = host.counters.received;
  await other.firestore().doc('chains/mine/links/1').create({ n: 1, of: 2 });
  await other.idle();
  await host.idle();
  expect((await other.firestore().doc('chains/mine').get()).get('done')).toBe(true);
  expect(other.counters.received).toBe(2);
  expect(host.counters.received).toBe(received);
  await other.close();
});

test('a kill rate without a process to kill is refused', async () => {
  await expect(startHost({ functions, projectId: 'demo-host-no-worker', faults: { kill: 0.1 } })).rejects.toThrow('needs worker: true');
});
