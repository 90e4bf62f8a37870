import { asString, asObject, parseJson } from '../services/json-fields.ts';
import { sendJson, startLocalServer, type LocalRequest } from '../services/local-server.ts';

/** One delivery of the Firestore emulator: CloudEvent attributes in `ce-*` headers, the protobuf as base64 text. */
export interface RawDelivery {
  readonly projectId: string;
  readonly triggerId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface EventRouter {
  /** `host:port`, the emulator's `--functions_emulator`. */
  readonly host: string;
  readonly url: string;
  close(): Promise<void>;
}

const triggerPath = /^\/functions\/projects\/([^/]+)\/triggers\/([^/]+)$/;

export function readDelivery(request: LocalRequest): RawDelivery | undefined {
  const match = triggerPath.exec(decodeURIComponent(request.path));
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) if (typeof value === 'string') headers[name] = value;
  return { projectId: match[1], triggerId: match[2], headers, body: request.body };
}

/**
 * One Firestore emulator knows one address for its triggers. The router stands there and passes each project's events on
 * to the host that asked for them, so that test files with projects of their own share an emulator. It acknowledges at
 * once and keeps each project's order: disorder is the host's business.
 */
export async function startEventRouter(options: { readonly port?: number } = {}): Promise<EventRouter> {
  const routes = new Map<string, string>();
  const queues = new Map<string, Promise<void>>();

  const forward = async (delivery: RawDelivery): Promise<void> => {
    const url = routes.get(delivery.projectId);
    if (url === undefined) return;
    const headers = Object.fromEntries(
      Object.entries(delivery.headers).filter(([name]) => name.startsWith('ce-') || name === 'content-type'),
    );
    const path = `/functions/projects/${encodeURIComponent(delivery.projectId)}/triggers/${encodeURIComponent(delivery.triggerId)}`;
    try {
      await fetch(`${url}${path}`, { method: 'POST', headers, body: new Uint8Array(delivery.body) });
    } catch {
      // The host went away without saying so: its events have no listener any more.
      if (routes.get(delivery.projectId) === url) routes.delete(delivery.projectId);
    }
  };

  const onRoute = (request: LocalRequest): object => {
    const projectId = decodeURIComponent(request.path.slice('/__route/'.length));
    const url = asString(asObject(parseJson(request.body.toString('utf8')))?.['url']);
    if (request.method === 'PUT' && url !== undefined) routes.set(projectId, url);
    // A host takes back only its own route: another may have taken over the project since.
    if (request.method === 'DELETE' && (url === undefined || routes.get(projectId) === url)) routes.delete(projectId);
    return { projectId, url: routes.get(projectId) ?? null };
  };

  const server = await startLocalServer({
    ...(options.port === undefined ? {} : { port: options.port }),
    handle: (request, response) => {
      if (request.path.startsWith('/__route/')) return sendJson(response, 200, onRoute(request));
      const delivery = readDelivery(request);
      if (delivery === undefined)
        return sendJson(response, 404, { error: `The event router does not know ${request.method} ${request.path}.` });
      sendJson(response, 200, {});
      const before = queues.get(delivery.projectId) ?? Promise.resolve();
      queues.set(
        delivery.projectId,
        before.then(() => forward(delivery)),
      );
    },
  });
  return { host: `127.0.0.1:${server.port}`, url: server.url, close: () => server.close() };
}

/** Sends a project's events to `url` from now on. Returns how to take that back. */
export async function takeEvents(routerUrl: string, projectId: string, url: string): Promise<() => Promise<void>> {
  const route = async (method: 'PUT' | 'DELETE'): Promise<void> => {
    await fetch(`${routerUrl}/__route/${encodeURIComponent(projectId)}`, { method, body: JSON.stringify({ url }) });
  };
  await route('PUT');
  return () => route('DELETE').catch(() => undefined);
}

export interface TriggerRegistration {
  readonly triggerId: string;
  readonly eventType: string;
  readonly database: string;
  readonly namespace: string;
  readonly document: string;
}

/** Tells the emulator which documents of a project are watched. Registering again replaces the trigger of that id. */
export async function registerTrigger(firestoreHost: string, projectId: string, trigger: TriggerRegistration): Promise<void> {
  const url = `http://${firestoreHost}/emulator/v1/projects/${projectId}/eventarcTrigger?eventarcTriggerId=${encodeURIComponent(trigger.triggerId)}`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      eventType: trigger.eventType,
      database: trigger.database,
      namespace: trigger.namespace,
      document: { value: trigger.document, matchType: 'PATH_PATTERN' },
    }),
  });
  if (!response.ok)
    throw new Error(`The Firestore emulator refused the trigger ${trigger.triggerId}: ${response.status} ${await response.text()}`);
}
