import { asNumber, asObject, asString } from '../json-fields.ts';
import { formatDuration, parseDuration } from './retry.ts';

export interface StoredTask {
  readonly name: string;
  readonly queue: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** base64, as on the wire. */
  readonly body: string;
  readonly oidc?: { readonly serviceAccountEmail: string; readonly audience: string };
  readonly createMs: number;
  readonly deadlineMs: number;
  /** When it is due next: the caller's time first, then the time of the retry. */
  readonly scheduleMs: number;
  readonly dispatchCount: number;
  readonly responseCount: number;
  readonly firstAttemptMs?: number;
  readonly lastAttemptMs?: number;
  readonly lastStatus?: number;
}

/** An error as Google's REST APIs send it. */
export class ServiceError extends Error {
  readonly http: number;
  readonly status: string;

  constructor(http: number, status: string, message: string) {
    super(message);
    this.name = 'ServiceError';
    this.http = http;
    this.status = status;
  }
}

export const maxScheduleAheadMs = 30 * 24 * 3_600_000;
export const maxTaskBytes = 1024 * 1024;
const minDeadlineMs = 15_000;
const maxDeadlineMs = 30 * 60_000;
const methods = ['HTTP_METHOD_UNSPECIFIED', 'POST', 'GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
const methodsWithBody = new Set(['POST', 'PUT', 'PATCH']);

function invalid(message: string): ServiceError {
  return new ServiceError(400, 'INVALID_ARGUMENT', message);
}

/** The client library sends enums as numbers, other callers as names. */
function readMethod(value: unknown): string {
  const name = typeof value === 'number' ? methods[value] : (asString(value) ?? 'POST');
  if (name === undefined || !methods.includes(name)) throw invalid(`Unknown HTTP method ${String(value)}.`);
  return name === 'HTTP_METHOD_UNSPECIFIED' ? 'POST' : name;
}

function readSchedule(value: unknown, nowMs: number): number {
  if (value === undefined || value === null) return nowMs;
  const time = Date.parse(asString(value) ?? '');
  if (Number.isNaN(time)) throw invalid('Task.scheduleTime is not a timestamp.');
  if (time > nowMs + maxScheduleAheadMs) throw invalid('Task.scheduleTime must not be more than 30 days (720 hours) in the future.');
  return Math.max(time, nowMs);
}

function readHeaders(value: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [key, text] of Object.entries(asObject(value) ?? {})) {
    // The service keeps these for itself and drops a caller's values.
    if (/^(x-cloudtasks-|x-google-|x-appengine-|host$|content-length$|user-agent$)/i.test(key)) continue;
    headers[key] = String(text);
  }
  return headers;
}

function readUrl(value: unknown): string {
  const text = asString(value) ?? '';
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw invalid('HttpRequest.url is required and must start with http:// or https://.');
  return text;
}

function readName(value: unknown, queue: string, generateId: () => string): string {
  const name = asString(value);
  if (name === undefined || name === '') return `${queue}/tasks/${generateId()}`;
  const prefix = `${queue}/tasks/`;
  if (!name.startsWith(prefix)) throw invalid(`Task.name must be in the form "${prefix}TASK_ID".`);
  if (!/^[A-Za-z0-9_-]{1,500}$/.test(name.slice(prefix.length)))
    throw invalid('A task id has 1 to 500 letters, numbers, hyphens or underscores.');
  return name;
}

/** Reads and checks `CreateTaskRequest.task` as the service does. */
export function readTask(value: unknown, queue: string, nowMs: number, generateId: () => string): StoredTask {
  const task = asObject(value);
  const request = asObject(task?.['httpRequest']);
  if (task === undefined || request === undefined) throw invalid('Task.httpRequest is required: this queue takes HTTP tasks only.');
  const url = readUrl(request['url']);
  const method = readMethod(request['httpMethod']);
  const body = asString(request['body']) ?? '';
  if (body !== '' && !methodsWithBody.has(method)) throw invalid(`A body is not allowed with ${method}.`);
  const headers = readHeaders(request['headers']);
  const size = Buffer.byteLength(body, 'base64') + url.length + JSON.stringify(headers).length;
  if (size > maxTaskBytes) throw invalid(`Task size too large: ${size} bytes of at most ${maxTaskBytes}.`);
  const deadlineMs = parseDuration(task['dispatchDeadline']) ?? 10 * 60_000;
  if (deadlineMs < minDeadlineMs || deadlineMs > maxDeadlineMs) throw invalid('Task.dispatchDeadline must be between 15s and 1800s.');
  const oidc = asObject(request['oidcToken']);
  const account = asString(oidc?.['serviceAccountEmail']);
  return {
    name: readName(task['name'], queue, generateId),
    queue,
    url,
    method,
    headers,
    body,
    ...(account === undefined ? {} : { oidc: { serviceAccountEmail: account, audience: asString(oidc?.['audience']) || url } }),
    createMs: nowMs,
    deadlineMs,
    scheduleMs: readSchedule(task['scheduleTime'], nowMs),
    dispatchCount: 0,
    responseCount: 0,
  };
}

export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

function attemptView(dispatchMs: number, status: number | undefined): Record<string, unknown> {
  return {
    dispatchTime: timestamp(dispatchMs),
    ...(status === undefined
      ? {}
      : { responseTime: timestamp(dispatchMs), responseStatus: { code: status < 300 ? 0 : 2, message: `HTTP status code ${status}` } }),
  };
}

/** A task as the REST API shows it; the body and headers only in the FULL view. */
export function taskView(task: StoredTask, full: boolean): Record<string, unknown> {
  return {
    name: task.name,
    httpRequest: {
      url: task.url,
      httpMethod: task.method,
      ...(full ? { headers: task.headers, body: task.body } : {}),
      ...(task.oidc === undefined ? {} : { oidcToken: task.oidc }),
    },
    scheduleTime: timestamp(task.scheduleMs),
    createTime: timestamp(task.createMs),
    dispatchDeadline: formatDuration(task.deadlineMs),
    dispatchCount: task.dispatchCount,
    responseCount: task.responseCount,
    ...(task.firstAttemptMs === undefined ? {} : { firstAttempt: { dispatchTime: timestamp(task.firstAttemptMs) } }),
    ...(task.lastAttemptMs === undefined ? {} : { lastAttempt: attemptView(task.lastAttemptMs, task.lastStatus) }),
    view: full ? 'FULL' : 'BASIC',
  };
}

/** Reads a task back from a journal line; undefined when the line is not one. */
export function restoreTask(value: unknown): StoredTask | undefined {
  const fields = asObject(value);
  if (fields === undefined || asString(fields['name']) === undefined || asNumber(fields['scheduleMs']) === undefined) return undefined;
  return fields as unknown as StoredTask;
}
