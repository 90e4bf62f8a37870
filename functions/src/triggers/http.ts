import type { onRequest, Request } from 'firebase-functions/v2/https';
import { readConfig } from './config.ts';
import { receiveHook } from './hooks.ts';
import type { Runtime } from '../runner/runtime.ts';

/** Express’s response, which firebase-functions hands over without exporting its type. */
type Response = Parameters<Parameters<typeof onRequest>[0]>[1];

/** The one HTTP function: webhooks in, health, metrics. Anything else is not found. */
export async function handleRequest(runtime: Runtime, request: Request, response: Response): Promise<void> {
  const path = request.path.replace(/^\/http(?=\/)/, '');
  const hook = /^\/hooks\/([^/]+)\/([^/]+)$/.exec(path);
  if (hook !== null) {
    if (request.method !== 'POST') {
      response
        .status(405)
        .set('Allow', 'POST')
        .json({ error: { code: 'request.invalid', message: 'send a POST' } });
      return;
    }
    const [, accountId = '', hookId = ''] = hook;
    const answer = await receiveHook(runtime, { accountId, hookId, headers: request.headers, rawBody: request.rawBody });
    response
      .status(answer.status)
      .set(answer.headers ?? {})
      .json(answer.body);
    return;
  }
  if (path === '/health') {
    response.status(200).json({ ok: true });
    return;
  }
  if (path === '/metrics' && request.method === 'GET') {
    const { answerMetrics } = await import('./metrics.ts');
    const answer = await answerMetrics(runtime, request.headers.authorization, readConfig(process.env).metricsToken);
    response.status(answer.status).set('Content-Type', answer.contentType).send(answer.text);
    return;
  }
  response.status(404).json({ error: { code: 'request.invalid', message: 'nothing is here' } });
}
