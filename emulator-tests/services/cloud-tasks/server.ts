import type { ServerResponse } from 'node:http';
import { asNumber, asObject, asString, parseJson } from '../json-fields.ts';
import { sendJson, startLocalServer, type LocalRequest } from '../local-server.ts';
import { CloudTasks, type CloudTasksOptions } from './cloud-tasks.ts';
import { readTaskFaults } from './faults.ts';
import type { QueueRecord } from './journal.ts';
import { readRetryConfig, writeRetryConfig } from './retry.ts';
import { ServiceError, taskView, timestamp } from './task.ts';

export interface CloudTasksServer {
  readonly port: number;
  readonly url: string;
  /** host:port, the value of CLOUD_TASKS_EMULATOR_HOST. */
  readonly host: string;
  readonly tasks: CloudTasks;
  close(): Promise<void>;
}

type Answer = Record<string, unknown>;

function queueView(queue: QueueRecord): Answer {
  return {
    name: queue.name,
    state: queue.paused ? 'PAUSED' : 'RUNNING',
    retryConfig: writeRetryConfig(queue.retry),
    rateLimits: { maxDispatchesPerSecond: 500, maxBurstSize: 100, maxConcurrentDispatches: queue.maxConcurrent },
    ...(queue.purgeMs === undefined ? {} : { purgeTime: timestamp(queue.purgeMs) }),
  };
}

function queueChange(value: unknown, queue: QueueRecord): Partial<QueueRecord> {
  const fields = asObject(value) ?? {};
  return {
    retry: readRetryConfig(fields['retryConfig'], queue.retry),
    maxConcurrent: asNumber(asObject(fields['rateLimits'])?.['maxConcurrentDispatches']) ?? queue.maxConcurrent,
  };
}

/** The view enum arrives as a number from the client library, as a name from others. */
function wantsFull(view: unknown): boolean {
  return view === 'FULL' || view === '2' || view === 2;
}

function notFound(request: LocalRequest): ServiceError {
  return new ServiceError(404, 'NOT_FOUND', `This double of Cloud Tasks does not know ${request.method} ${request.path}.`);
}

function listTasks(tasks: CloudTasks, queue: string, query: URLSearchParams): Answer {
  const size = Math.min(1000, Math.max(1, Number(query.get('pageSize') || 1000)));
  const after = query.get('pageToken') ?? '';
  const rest = tasks.list(queue).filter((task) => task.name > after);
  const page = rest.slice(0, size);
  const lastName = page[page.length - 1]?.name;
  return {
    tasks: page.map((task) => taskView(task, wantsFull(query.get('responseView')))),
    ...(rest.length > size && lastName !== undefined ? { nextPageToken: lastName } : {}),
  };
}

function onTask(tasks: CloudTasks, request: LocalRequest, name: string, verb: string | undefined): Answer {
  if (verb === 'run' && request.method === 'POST') return taskView(tasks.run(name), false);
  if (verb !== undefined) throw notFound(request);
  if (request.method === 'GET') return taskView(tasks.get(name), wantsFull(request.query.get('responseView')));
  if (request.method === 'DELETE') {
    tasks.delete(name);
    return {};
  }
  throw notFound(request);
}

function onQueue(tasks: CloudTasks, request: LocalRequest, name: string, verb: string | undefined, body: unknown): Answer {
  if (verb === undefined && request.method === 'GET') return queueView(tasks.queue(name));
  if (verb === undefined && request.method === 'PATCH') return queueView(tasks.updateQueue(name, queueChange(body, tasks.queue(name))));
  if (request.method !== 'POST') throw notFound(request);
  switch (verb) {
    case 'pause':
      return queueView(tasks.updateQueue(name, { paused: true }));
    case 'resume':
      return queueView(tasks.updateQueue(name, { paused: false }));
    case 'purge':
      return queueView(tasks.purge(name));
    default:
      throw notFound(request);
  }
}

/** `/v2/…` as the client library writes it; without the version as firebase-admin does for emulators. */
const resourcePath =
  /^(?:\/v2(?:beta[23])?)?\/(projects\/[^/]+\/locations\/[^/]+\/queues)(?:\/([^/:]+))?(?:\/(tasks)(?:\/([^/:]+))?)?(?::([a-z]+))?$/;

function onResource(tasks: CloudTasks, request: LocalRequest): Answer {
  const match = resourcePath.exec(decodeURIComponent(request.path));
  if (match === null) throw notFound(request);
  const [, parent, queueId, collection, taskId, verb] = match;
  const body = parseJson(request.body.toString('utf8'));
  if (parent === undefined) throw notFound(request);
  if (queueId === undefined) {
    const name = asString(asObject(body)?.['name']);
    if (request.method !== 'POST' || name === undefined) throw notFound(request);
    return queueView(tasks.updateQueue(name, queueChange(body, tasks.queue(name))));
  }
  const queue = `${parent}/${queueId}`;
  if (collection === undefined) return onQueue(tasks, request, queue, verb, body);
  if (taskId !== undefined) return onTask(tasks, request, `${queue}/tasks/${taskId}`, verb);
  if (request.method === 'GET') return listTasks(tasks, queue, request.query);
  if (request.method !== 'POST') throw notFound(request);
  const fields = asObject(body);
  return taskView(tasks.create(queue, fields?.['task']), wantsFull(fields?.['responseView']));
}

async function onControl(tasks: CloudTasks, request: LocalRequest): Promise<Answer> {
  const body = asObject(parseJson(request.body.toString('utf8')));
  switch (`${request.method} ${request.path}`) {
    case 'POST /__clock':
      await tasks.advance(asNumber(body?.['advanceMs']) ?? Number.NaN);
      return { nowMs: tasks.clock.now(), now: timestamp(tasks.clock.now()), offsetMs: tasks.clock.offset };
    case 'GET /__clock':
      return { nowMs: tasks.clock.now(), now: timestamp(tasks.clock.now()), offsetMs: tasks.clock.offset };
    case 'POST /__faults':
      tasks.setFaults(readTaskFaults(body, tasks.faults));
      return { ...tasks.faults };
    case 'GET /__stats':
      return { ...tasks.stats() };
    default:
      throw notFound(request);
  }
}

async function answer(tasks: CloudTasks, request: LocalRequest, response: ServerResponse): Promise<void> {
  try {
    const value = request.path.startsWith('/__') ? await onControl(tasks, request) : onResource(tasks, request);
    sendJson(response, 200, value);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    sendJson(response, error.http, { error: { code: error.http, status: error.status, message: error.message } });
  }
}

/** A double of the Cloud Tasks API on the loopback address, for the unmodified client library. */
export async function startCloudTasks(options: CloudTasksOptions & { readonly port?: number } = {}): Promise<CloudTasksServer> {
  const tasks = new CloudTasks(options);
  try {
    const server = await startLocalServer({
      ...(options.port === undefined ? {} : { port: options.port }),
      handle: (request, response) => answer(tasks, request, response),
    });
    return {
      port: server.port,
      url: server.url,
      host: `127.0.0.1:${server.port}`,
      tasks,
      close: async () => {
        await tasks.close();
        await server.close();
      },
    };
  } catch (error) {
    await tasks.close();
    throw error;
  }
}
