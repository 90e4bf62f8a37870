import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { MovableClock } from './clock.ts';
import { CloudTasks, type CloudTasksOptions } from './cloud-tasks.ts';
import type { TaskAnswer, TaskDelivery } from './dispatch.ts';
import { ServiceError } from './task.ts';
import { backoffMs, defaultRetryConfig, isExhausted } from './retry.ts';

const queue = 'projects/p/locations/l/queues/q';
const start = Date.parse('2026-11-29T12:00:00Z');
const open: CloudTasks[] = [];
const folders: string[] = [];

/** A double whose time stands still until it is moved, and whose rings are recorded instead of sent. */
function frozen(
  options: CloudTasksOptions = {},
  answer: (ring: TaskDelivery, count: number) => TaskAnswer | Promise<TaskAnswer> = () => ({ status: 200 }),
) {
  const rings: { readonly id: string; readonly atMs: number }[] = [];
  const clock = new MovableClock({ frozenAt: start });
  const tasks = new CloudTasks({
    clock,
    dispatch: async (ring) => {
      rings.push({ id: ring.name.split('/').pop() ?? '', atMs: clock.now() - start });
      return answer(ring, rings.length);
    },
    ...options,
  });
  open.push(tasks);
  const create = (id: string, afterMs: number): void => {
    tasks.create(queue, {
      name: `${queue}/tasks/${id}`,
      scheduleTime: new Date(clock.now() + afterMs).toISOString(),
      httpRequest: { url: 'http://target.invalid/', body: '' },
    });
  };
  return { tasks, clock, rings, create };
}

function journalPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kiln-tasks-'));
  folders.push(folder);
  return join(folder, 'tasks.jsonl');
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((tasks) => tasks.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('time', () => {
  test('moving the clock rings every task at its own moment, in order', async () => {
    const { tasks, rings, create } = frozen();
    create('later', 5_000);
    create('sooner', 1_000);
    await tasks.advance(10_000);
    expect(rings).toEqual([
      { id: 'sooner', atMs: 1_000 },
      { id: 'later', atMs: 5_000 },
    ]);
  });

  test('a task that a ring creates within the same move rings in it too', async () => {
    const { tasks, rings, create } = frozen({}, (ring) => {
      if (ring.name.endsWith('first')) create('second', 2_000);
      return { status: 200 };
    });
    create('first', 1_000);
    await tasks.advance(10_000);
    expect(rings).toEqual([
      { id: 'first', atMs: 1_000 },
      { id: 'second', atMs: 3_000 },
    ]);
  });

  test('a target that hangs does not stop the clock for ever', async () => {
    const { tasks, clock, create } = frozen(
      { settleMs: 5 },
      (ring) => new Promise((_, reject) => ring.signal.addEventListener('abort', () => reject(new Error('aborted')))),
    );
    create('hung', 0);
    await tasks.advance(60_000);
    expect(clock.now()).toBe(start + 60_000);
    expect(tasks.stats().inFlight).toBe(1);
  });
});

describe('retries', () => {
  test('the backoff doubles, then grows by a constant, up to the cap', () => {
    const config = { ...defaultRetryConfig, minBackoffMs: 10_000, maxBackoffMs: 300_000, maxDoublings: 3 };
    expect([1, 2, 3, 4, 5, 6, 7, 8].map((retry) => backoffMs(config, retry) / 1000)).toEqual([10, 20, 40, 80, 160, 240, 300, 300]);
  });

  test('with a time limit and a count, both must be reached', () => {
    const config = { ...defaultRetryConfig, maxAttempts: 3, maxRetryDurationMs: 60_000 };
    expect(isExhausted(config, 5, 0, 30_000)).toBe(false);
    expect(isExhausted(config, 2, 0, 90_000)).toBe(false);
    expect(isExhausted(config, 3, 0, 60_000)).toBe(true);
    expect(isExhausted({ ...config, maxRetryDurationMs: 0 }, 3, 0, 0)).toBe(true);
    expect(isExhausted({ ...config, maxAttempts: -1 }, 99, 0, 59_999)).toBe(false);
  });

  test('a task that keeps failing is given up after its attempts', async () => {
    const { tasks, rings, create } = frozen({ retry: { maxAttempts: 3, minBackoffMs: 1_000 } }, () => ({ status: 500 }));
    create('hopeless', 0);
    await tasks.advance(60_000);
    expect(rings.map((ring) => ring.atMs)).toEqual([0, 1_000, 3_000]);
    expect(tasks.stats()).toMatchObject({ failed: 3, exhausted: 1, pending: 0 });
  });

  test('Retry-After of the target is a lower bound for the wait', async () => {
    const { tasks, rings, create } = frozen({ retry: { minBackoffMs: 100 } }, (_, count) =>
      count === 1 ? { status: 429, retryAfterMs: 7_000 } : { status: 200 },
    );
    create('told-to-wait', 0);
    await tasks.advance(60_000);
    expect(rings.map((ring) => ring.atMs)).toEqual([0, 7_000]);
  });

  test('a queue keeps to its number of concurrent rings', async () => {
    let live = 0;
    let most = 0;
    const { tasks, create } = frozen({}, async () => {
      live += 1;
      most = Math.max(most, live);
      await Promise.resolve();
      live -= 1;
      return { status: 200 };
    });
    tasks.updateQueue(queue, { maxConcurrent: 2 });
    for (let index = 0; index < 10; index += 1) create(`t${index}`, 1_000);
    await tasks.advance(1_000);
    expect(most).toBe(2);
    expect(tasks.stats().succeeded).toBe(10);
  });
});

describe('the journal', () => {
  test('tasks, names, a paused queue and the moved clock survive a restart; what ended does not come back', async () => {
    const path = journalPath();
    const first = frozen({ journalPath: path });
    first.create('done', 1_000);
    first.create('waiting', 3_600_000);
    await first.tasks.advance(2_000);
    first.tasks.updateQueue(queue, { paused: true });
    await first.tasks.close();

    const second = frozen({ journalPath: path });
    expect(second.clock.now()).toBe(start + 2_000);
    expect(second.tasks.list(queue).map((task) => task.name.split('/').pop())).toEqual(['waiting']);
    expect(() => second.create('done', 0)).toThrow(expect.objectContaining({ status: 'ALREADY_EXISTS' }));
    await second.tasks.advance(7_200_000);
    expect(second.rings).toEqual([]);
    second.tasks.updateQueue(queue, { paused: false });
    await second.tasks.idle();
    expect(second.rings.map((ring) => ring.id)).toEqual(['waiting']);
  });

  test('a ring under way when the service dies is rung again, with its count kept', async () => {
    const path = journalPath();
    const first = frozen(
      { journalPath: path },
      (ring) => new Promise((_, reject) => ring.signal.addEventListener('abort', () => reject(new Error('died')))),
    );
    first.create('in-flight', 0);
    await vi.waitFor(() => expect(first.rings).toHaveLength(1), { timeout: 10_000 });
    await first.tasks.close();

    const counts: string[] = [];
    const second = frozen({ journalPath: path }, (ring) => {
      counts.push(ring.headers['x-cloudtasks-taskretrycount'] ?? '');
      return { status: 200 };
    });
    await second.tasks.idle();
    expect(counts).toEqual(['1']);
  });

  test('a line torn by a crash does not spoil the rest', async () => {
    const path = journalPath();
    const first = frozen({ journalPath: path });
    first.create('whole', 1_000);
    await first.tasks.close();
    appendFileSync(path, '{"op":"task","task":{"name":"proj');
    const second = frozen({ journalPath: path });
    await second.tasks.advance(1_000);
    expect(second.rings.map((ring) => ring.id)).toEqual(['whole']);
  });
});

/** Which task rang when, under a seed. */
const play = async (seed: string, ids: readonly string[]): Promise<string[]> => {
  const { tasks, rings, create } = frozen({ faults: { seed, early: 0.3, drop: 0.3, duplicate: 0.3 } });
  for (const id of ids) create(id, 2_000);
  await tasks.advance(5_000);
  return rings.map((ring) => `${ring.id}@${ring.atMs}`).sort();
};

describe('seeded faults', () => {
  const many = Array.from({ length: 200 }, (_, index) => `t${index}`);

  test('early, late, dropped and doubled rings happen at about their rates, and each is counted', async () => {
    const { tasks, rings, create } = frozen({
      faults: { seed: 's1', early: 0.2, earlyMs: 500, late: 0.2, lateMs: 500, drop: 0.1, duplicate: 0.2 },
    });
    for (const id of many) create(id, 1_000);
    await tasks.advance(5_000);
    const stats = tasks.stats();
    for (const count of [stats.early, stats.late, stats.dropped, stats.duplicated]) {
      expect(count).toBeGreaterThan(5);
      expect(count).toBeLessThan(80);
    }
    expect(rings.filter((ring) => ring.atMs < 1_000).length).toBeGreaterThanOrEqual(stats.early);
    expect(rings.filter((ring) => ring.atMs > 1_000).length).toBeGreaterThanOrEqual(stats.late);
    expect(new Set(rings.map((ring) => ring.id)).size).toBe(many.length - stats.dropped);
    expect(rings.length).toBe(many.length - stats.dropped + stats.duplicated);
    expect(stats.pending).toBe(0);
  });

  test('the same seed does the same, whatever the order of creation; another seed does not', async () => {
    const once = await play('s2', many);
    expect(await play('s2', [...many].reverse())).toEqual(once);
    expect(await play('s3', many)).not.toEqual(once);
  });

  test('a refused creation stores nothing and may succeed when tried again; a lost reply stores the task', () => {
    const refusing = frozen({ faults: { seed: 's4', refuseCreate: 0.5 } });
    const refusals: unknown[] = [];
    for (const id of many) {
      for (let created = false; !created;) {
        try {
          refusing.create(id, 60_000);
          created = true;
        } catch (error) {
          refusals.push(error);
        }
      }
    }
    expect(refusals.length).toBeGreaterThan(many.length / 2);
    expect(refusals.every((error) => error instanceof ServiceError && error.status === 'UNAVAILABLE')).toBe(true);
    expect(refusing.tasks.stats().refused).toBe(refusals.length);
    expect(refusing.tasks.stats()).toMatchObject({ created: many.length, pending: many.length });

    const losing = frozen({ faults: { seed: 's5', loseCreateReply: 1 } });
    expect(() => losing.create('stored', 60_000)).toThrow(expect.objectContaining({ status: 'UNAVAILABLE' }));
    expect(losing.tasks.stats()).toMatchObject({ pending: 1, createRepliesLost: 1 });
  });
});
