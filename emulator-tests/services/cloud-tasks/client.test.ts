import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { googleAuthPackage, tasksPackage } from '../../functions-packages.ts';
import { startLocalServer, type LocalRequest, type LocalServer } from '../local-server.ts';
import { startCloudTasks, type CloudTasksServer } from './server.ts';

/** The unmodified client library against the double, over HTTP. */
const queueId = 'doorbell';
const parent = `projects/demo-tasks/locations/us-central1/queues/${queueId}`;

let double: CloudTasksServer;
let target: LocalServer;
let rings: LocalRequest[];
let statuses: number[];

function connect(port: number): InstanceType<ReturnType<typeof tasksPackage>['CloudTasksClient']> {
  const { CloudTasksClient } = tasksPackage();
  const { PassThroughClient } = googleAuthPackage();
  return new CloudTasksClient({
    fallback: true,
    protocol: 'http',
    apiEndpoint: '127.0.0.1',
    port,
    projectId: 'demo-tasks',
    // The two packages bring their own copies of the auth library's types.
    authClient: new PassThroughClient() as never,
  });
}

beforeEach(async () => {
  rings = [];
  statuses = [];
  target = await startLocalServer({
    handle: (request, response) => {
      rings.push(request);
      response.writeHead(statuses.shift() ?? 204).end();
    },
  });
  double = await startCloudTasks();
});

afterEach(async () => {
  await double.close();
  await target.close();
});

function ringTask(name: string, scheduleMs: number): object {
  return {
    name: `${parent}/tasks/${name}`,
    scheduleTime: { seconds: Math.floor(scheduleMs / 1000), nanos: (scheduleMs % 1000) * 1e6 },
    httpRequest: {
      url: `${target.url}/demo-tasks/us-central1/${queueId}`,
      httpMethod: 'POST' as const,
      headers: { 'Content-Type': 'application/json' },
      body: Buffer.from(JSON.stringify({ data: { step: 'a' } })),
      oidcToken: { serviceAccountEmail: 'run@demo-tasks.iam.gserviceaccount.com' },
    },
  };
}

describe('the real client against the Cloud Tasks double', () => {
  test('a task rings at its time with the body, the headers and the token of a task queue function', async () => {
    const client = connect(double.port);
    const due = double.tasks.clock.now() + 60_000;
    const [created] = await client.createTask({ parent, task: ringTask('t1', due) });
    expect(created.name).toBe(`${parent}/tasks/t1`);
    await double.tasks.advance(59_000);
    expect(rings).toHaveLength(0);
    await double.tasks.advance(1_500);
    expect(rings).toHaveLength(1);
    const ring = rings[0];
    expect(ring?.method).toBe('POST');
    expect(ring?.path).toBe('/demo-tasks/us-central1/doorbell');
    expect(JSON.parse(ring?.body.toString() ?? '')).toEqual({ data: { step: 'a' } });
    expect(ring?.headers['x-cloudtasks-queuename']).toBe('doorbell');
    expect(ring?.headers['x-cloudtasks-taskname']).toBe('t1');
    expect(ring?.headers['x-cloudtasks-taskretrycount']).toBe('0');
    expect(Number(ring?.headers['x-cloudtasks-tasketa'])).toBeCloseTo(due / 1000, 2);
    const claims = JSON.parse(Buffer.from(ring?.headers.authorization?.split('.')[1] ?? '', 'base64url').toString()) as {
      email: string;
      aud: string;
    };
    expect(claims.email).toBe('run@demo-tasks.iam.gserviceaccount.com');
    expect(claims.aud).toBe(`${target.url}/demo-tasks/us-central1/doorbell`);
    await client.close();
  });

  test('a name in use, and a name used a short time ago, is ALREADY_EXISTS; later it is free again', async () => {
    const client = connect(double.port);
    const later = (): number => double.tasks.clock.now() + 1_000;
    await client.createTask({ parent, task: ringTask('once', later()) });
    await expect(client.createTask({ parent, task: ringTask('once', later()) })).rejects.toMatchObject({ code: 6 });
    await double.tasks.advance(2_000);
    expect(rings).toHaveLength(1);
    await expect(client.createTask({ parent, task: ringTask('once', later()) })).rejects.toMatchObject({ code: 6 });
    await double.tasks.advance(3_600_000);
    await expect(client.createTask({ parent, task: ringTask('once', later()) })).resolves.toBeDefined();
    await client.close();
  });

  test('get, list in pages, and delete', async () => {
    const client = connect(double.port);
    const due = double.tasks.clock.now() + 3_600_000;
    for (const name of ['a', 'b', 'c']) await client.createTask({ parent, task: ringTask(name, due) });
    const [task] = await client.getTask({ name: `${parent}/tasks/b`, responseView: 'FULL' });
    expect(String(Buffer.from(task.httpRequest?.body ?? ''))).toContain('"step"');
    expect(Number(task.scheduleTime?.seconds)).toBe(Math.floor(due / 1000));
    const listed: (string | undefined)[] = [];
    for await (const each of client.listTasksAsync({ parent, pageSize: 2 })) listed.push(each.name?.split('/').pop());
    expect(listed).toEqual(['a', 'b', 'c']);
    await client.deleteTask({ name: `${parent}/tasks/b` });
    await expect(client.getTask({ name: `${parent}/tasks/b` })).rejects.toMatchObject({ code: 5 });
    await expect(client.deleteTask({ name: `${parent}/tasks/b` })).rejects.toMatchObject({ code: 5 });
    await double.tasks.advance(3_700_000);
    expect(rings.map((ring) => ring.headers['x-cloudtasks-taskname'])).toEqual(expect.arrayContaining(['a', 'c']));
    expect(rings).toHaveLength(2);
    await client.close();
  });

  test('a paused queue keeps its tasks until it is resumed; purge empties it', async () => {
    const client = connect(double.port);
    const [paused] = await client.pauseQueue({ name: parent });
    expect(paused.state).toBe('PAUSED');
    await client.createTask({ parent, task: ringTask('kept', double.tasks.clock.now() + 1_000) });
    await double.tasks.advance(10_000);
    expect(rings).toHaveLength(0);
    const [resumed] = await client.resumeQueue({ name: parent });
    expect(resumed.state).toBe('RUNNING');
    await vi.waitFor(() => expect(rings).toHaveLength(1), { timeout: 10_000 });
    await client.createTask({ parent, task: ringTask('gone', double.tasks.clock.now() + 1_000) });
    const [purged] = await client.purgeQueue({ name: parent });
    expect(Number(purged.purgeTime?.seconds)).toBeGreaterThan(0);
    await double.tasks.advance(10_000);
    expect(rings).toHaveLength(1);
    expect(double.tasks.stats()).toMatchObject({ purged: 1, pending: 0 });
    const [queue] = await client.getQueue({ name: parent });
    expect(queue.retryConfig?.maxAttempts).toBe(100);
    await client.close();
  });

  test('more than 30 days ahead, a body over 1 MiB, and a name of another queue are INVALID_ARGUMENT', async () => {
    const client = connect(double.port);
    const now = double.tasks.clock.now();
    await expect(client.createTask({ parent, task: ringTask('far', now + 31 * 86_400_000) })).rejects.toMatchObject({ code: 3 });
    await expect(client.createTask({ parent, task: ringTask('near', now + 29 * 86_400_000) })).resolves.toBeDefined();
    const large = {
      ...ringTask('large', now),
      httpRequest: { url: target.url, httpMethod: 'POST' as const, body: Buffer.alloc(1_100_000, 'x') },
    };
    await expect(client.createTask({ parent, task: large })).rejects.toMatchObject({ code: 3 });
    const foreign = { ...ringTask('x', now), name: 'projects/p/locations/l/queues/q/tasks/x' };
    await expect(client.createTask({ parent, task: foreign })).rejects.toMatchObject({ code: 3 });
    const nameless = { httpRequest: { url: target.url, httpMethod: 'POST' as const } };
    const [generated] = await client.createTask({ parent, task: nameless });
    expect(generated.name).toMatch(/\/tasks\/\d+$/);
    await client.close();
  });

  test('a failing ring is repeated with backoff, and says which retry it is', async () => {
    const client = connect(double.port);
    statuses = [503, 500];
    await client.createTask({ parent, task: ringTask('retry', double.tasks.clock.now()) });
    await vi.waitFor(() => expect(rings).toHaveLength(1), { timeout: 10_000 });
    await double.tasks.advance(1_000);
    expect(rings.map((ring) => ring.headers['x-cloudtasks-taskretrycount'])).toEqual(['0', '1', '2']);
    expect(rings[2]?.headers['x-cloudtasks-taskpreviousresponse']).toBe('500');
    expect(double.tasks.stats()).toMatchObject({ failed: 2, succeeded: 1, pending: 0 });
    await client.close();
  });

  test('the clock can be read and moved over HTTP, and refuses to go back', async () => {
    const client = connect(double.port);
    await client.createTask({ parent, task: ringTask('clock', double.tasks.clock.now() + 86_400_000) });
    const move = (advanceMs: unknown): Promise<Response> =>
      fetch(`${double.url}/__clock`, { method: 'POST', body: JSON.stringify({ advanceMs }) });
    expect((await move(86_400_000)).status).toBe(200);
    expect(rings).toHaveLength(1);
    const read = (await (await fetch(`${double.url}/__clock`)).json()) as { offsetMs: number };
    expect(read.offsetMs).toBeGreaterThanOrEqual(86_000_000);
    expect((await move(-1)).status).toBe(400);
    expect((await move('soon')).status).toBe(400);
    const stats = (await (await fetch(`${double.url}/__stats`)).json()) as { dispatched: number };
    expect(stats.dispatched).toBe(1);
    await client.close();
  });
});
