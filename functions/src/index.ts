import { onDocumentCreated } from 'firebase-functions/v2/firestore';
import type { DocumentOptions, FirestoreEvent, QueryDocumentSnapshot } from 'firebase-functions/v2/firestore';
import { onCall, onRequest } from 'firebase-functions/v2/https';
import { setGlobalOptions } from 'firebase-functions/v2/options';
import { onSchedule } from 'firebase-functions/v2/scheduler';
import { onTaskDispatched } from 'firebase-functions/v2/tasks';
import type * as Handlers from './triggers/handlers.ts';
import type { Runtime } from './runner/runtime.ts';

// Deploy-time values: `.env.<project>` is loaded before this module is discovered.
const region = process.env['KILN_REGION'] ?? 'us-central1';
const secrets = (process.env['KILN_SECRETS'] ?? '').split(',').filter((name) => name !== '');

setGlobalOptions({ region, maxInstances: 100, memory: '512MiB', concurrency: 40, secrets });

const account = 'accounts/{accountId}';

export const stepCreated = created(`${account}/runs/{runId}/steps/{key}`, { timeoutSeconds: 540 }, (h, runtime, event) =>
  h.stepCreated(runtime, event.params, event.data),
);
export const runCreated = created(`${account}/runs/{runId}`, {}, (h, runtime, event) => h.runCreated(runtime, event.params));
export const runEnded = created(`${account}/completions/{runId}`, {}, (h, runtime, event) => h.runEnded(runtime, event.params));
export const decisionCreated = created(`${account}/approvals/{approvalId}/decisions/{uid}`, {}, (h, runtime, event) =>
  h.decisionCreated(runtime, event.params),
);
export const commandCreated = created(`${account}/runs/{runId}/commands/{commandId}`, { timeoutSeconds: 540 }, (h, runtime, event) =>
  h.commandCreated(runtime, event.params),
);
export const eventCreated = created(`${account}/events/{eventId}`, {}, (h, runtime, event) => h.eventCreated(runtime, event.params));
export const outboxCreated = created(`${account}/outbox/{id}`, {}, (h, runtime, event) => h.outboxCreated(runtime, event.params));
export const requestCreated = created(`${account}/requests/{id}`, {}, (h, runtime, event) => h.requestCreated(runtime, event.params));

export const doorbell = onTaskDispatched(
  {
    timeoutSeconds: 540,
    retryConfig: { maxAttempts: 8, minBackoffSeconds: 2, maxBackoffSeconds: 300 },
    rateLimits: { maxConcurrentDispatches: 500 },
  },
  async (request) => {
    const { handlers, runtime, finished } = await load();
    await handlers.doorbell(runtime, request.data);
    await finished();
  },
);

export const reconcile = onSchedule({ schedule: 'every 1 minutes', timeoutSeconds: 300, maxInstances: 1 }, async () => {
  const { runtime, flush } = await load();
  const { reconcile: run } = await import('./timers/reconciler.ts');
  await run(runtime);
  await flush();
});

export const api = onCall(async (request) => {
  const { runtime, flush } = await load();
  const { handleCall } = await import('./triggers/api.ts');
  const answer = await handleCall(runtime, request);
  await flush();
  return answer;
});

export const http = onRequest({ invoker: 'public' }, async (request, response) => {
  const { runtime } = await load();
  const { handleRequest } = await import('./triggers/http.ts');
  // It only creates documents: what ends is ended, and traced, by their triggers.
  await handleRequest(runtime, request, response);
});

type CreatedEvent = FirestoreEvent<QueryDocumentSnapshot | undefined>;

/** A trigger on a document's creation, redelivered when it throws. Handlers are imported when called: discovery stays quick. */
function created(
  document: string,
  options: Partial<DocumentOptions>,
  handle: (handlers: typeof Handlers, runtime: Runtime, event: CreatedEvent) => Promise<void>,
) {
  return onDocumentCreated({ document, retry: true, ...options }, async (event) => {
    const { handlers, runtime, finished } = await load();
    await handle(handlers, runtime, event);
    await finished();
  });
}

interface Loaded {
  readonly handlers: typeof Handlers;
  readonly runtime: Runtime;
  /** Sends what is to be sent before the instance may be put to sleep. */
  readonly flush: () => Promise<void>;
  /** The same, and says what was used. */
  readonly finished: () => Promise<void>;
}

async function load(): Promise<Loaded> {
  const [handlers, production] = await Promise.all([import('./triggers/handlers.ts'), import('./triggers/production.ts')]);
  return { handlers, runtime: production.productionRuntime(), flush: production.flushTraces, finished: production.finishInvocation };
}
