import type { StoredTask } from './task.ts';

/** One ring, as the target sees it. */
export interface TaskDelivery {
  readonly name: string;
  readonly queue: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Aborted at the dispatch deadline, and when the service closes. */
  readonly signal: AbortSignal;
}

export interface TaskAnswer {
  readonly status: number;
  readonly retryAfterMs?: number;
}

/** Delivers a ring; throwing means that no answer came. */
export type Dispatch = (delivery: TaskDelivery) => Promise<TaskAnswer>;

/** An unsigned token with the claims of the real one: the function's code reads it, IAM in front of it is not emulated. */
function bearer(oidc: { readonly serviceAccountEmail: string; readonly audience: string }, nowMs: number): string {
  const issued = Math.floor(nowMs / 1000);
  const claims = {
    aud: oidc.audience,
    azp: oidc.serviceAccountEmail,
    email: oidc.serviceAccountEmail,
    email_verified: true,
    iat: issued,
    exp: issued + 3600,
    iss: 'https://accounts.google.com',
    sub: 'emulated-service-account',
  };
  const parts = [{ alg: 'none', typ: 'JWT' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return `Bearer ${parts.join('.')}.`;
}

/** `task` as it was before this attempt; `etaMs` is the time it was due. */
export function delivery(task: StoredTask, nowMs: number, signal: AbortSignal): TaskDelivery {
  return {
    name: task.name,
    queue: task.queue,
    url: task.url,
    method: task.method,
    headers: {
      ...task.headers,
      'user-agent': 'Google-Cloud-Tasks',
      'x-cloudtasks-queuename': task.queue.split('/').at(-1) ?? '',
      'x-cloudtasks-taskname': task.name.split('/').at(-1) ?? '',
      'x-cloudtasks-taskretrycount': String(task.dispatchCount),
      'x-cloudtasks-taskexecutioncount': String(task.responseCount),
      'x-cloudtasks-tasketa': (task.scheduleMs / 1000).toFixed(3),
      ...(task.lastStatus === undefined ? {} : { 'x-cloudtasks-taskpreviousresponse': String(task.lastStatus) }),
      ...(task.oidc === undefined ? {} : { authorization: bearer(task.oidc, nowMs) }),
    },
    body: Buffer.from(task.body, 'base64'),
    signal,
  };
}

function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** Over HTTP to the task's own URL. A redirect is a failure, as with the real service. */
export const httpDispatch: Dispatch = async (ring) => {
  const response = await fetch(ring.url, {
    method: ring.method,
    headers: { ...ring.headers },
    ...(ring.body.length === 0 ? {} : { body: new Uint8Array(ring.body) }),
    redirect: 'manual',
    signal: ring.signal,
  });
  await response.arrayBuffer();
  const wait = retryAfterMs(response.headers.get('retry-after'));
  return { status: response.status, ...(wait === undefined ? {} : { retryAfterMs: wait }) };
};
