import { onCall, onRequest } from 'firebase-functions/v2/https';
import { setGlobalOptions } from 'firebase-functions/v2/options';
import { onSchedule } from 'firebase-functions/v2/scheduler';
import { onTaskDispatched } from 'firebase-functions/v2/tasks';
import { created, load } from './triggers/deployed.ts';

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
