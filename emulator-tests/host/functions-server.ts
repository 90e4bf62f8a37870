import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expressPackage, type ExpressRequest } from '../functions-packages.ts';
import { parseJson } from '../services/json-fields.ts';
import { readManifest, type DeployedFunction } from './manifest.ts';
import { watchAllClients } from './usage.ts';
import type { WireListener } from './wire.ts';

export interface FunctionsServer {
  readonly port: number;
  readonly url: string;
  readonly manifest: readonly DeployedFunction[];
  close(): Promise<void>;
}

export interface FunctionsServerOptions {
  /** The module's exports. */
  readonly exports: Readonly<Record<string, unknown>>;
  readonly port?: number;
  readonly listener: WireListener;
  readonly onInvocation: (functionName: string) => void;
}

type EventFunction = (event: object) => unknown;
type HttpFunction = (request: ExpressRequest, response: ServerResponse) => unknown;

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The event as the functions framework builds it from the same headers. */
function cloudEvent(request: IncomingMessage, body: Buffer): object {
  const event: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(request.headers)) if (name.startsWith('ce-')) event[name.slice('ce-'.length)] = value;
  // An event whose document is too large comes without it.
  if (body.length > 0) event['data'] = Buffer.from(body.toString('utf8'), 'base64');
  return event;
}

/** The body as the functions framework leaves it for a handler: parsed by its type, with the bytes beside it. */
function parseBody(request: ExpressRequest, body: Buffer): boolean {
  request.rawBody = body;
  const type = request.headers['content-type'] ?? '';
  if (body.length === 0) request.body = {};
  else if (/^application\/(?:[\w.+-]+\+)?json/i.test(type)) {
    request.body = parseJson(body.toString('utf8'));
    return request.body !== undefined;
  } else if (/^application\/x-www-form-urlencoded/i.test(type))
    request.body = Object.fromEntries(new URLSearchParams(body.toString('utf8')));
  else if (/^text\//i.test(type)) request.body = body.toString('utf8');
  else request.body = body;
  return true;
}

function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(message);
}

/**
 * Serves a module's functions over HTTP: events as `POST /__event/{name}`, the others as `/{project}/{region}/{name}`, all
 * at the same time. Everything runs through the exported function objects, as in production.
 */
export async function startFunctionsServer(options: FunctionsServerOptions): Promise<FunctionsServer> {
  const { exports } = options;
  const manifest = readManifest(exports);
  const kinds = new Map(manifest.map((fn) => [fn.name, fn.kind]));
  const running = new AsyncLocalStorage<string>();
  const stopCounting = watchAllClients(() => {
    const functionName = running.getStore();
    return functionName === undefined ? undefined : { functionName, listener: options.listener };
  });

  const app = expressPackage()();
  app.disable('x-powered-by');
  app.use('/__event/:name', async (request, response) => {
    const { name = '' } = (request as unknown as { readonly params: { readonly name?: string } }).params;
    if (kinds.get(name) !== 'document') return fail(response, 404, `No document function "${name}".`);
    const event = cloudEvent(request, await readAll(request));
    try {
      options.onInvocation(name);
      await running.run(name, async () => (exports[name] as EventFunction)(event));
      response.writeHead(200).end();
    } catch (error) {
      fail(response, 500, error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  });
  app.use('/__env', async (request, response) => {
    const values = parseJson((await readAll(request)).toString('utf8')) as Record<string, string>;
    Object.assign(process.env, values);
    response.writeHead(204).end();
  });
  app.use('/:project/:region/:name', async (request, response) => {
    const { name = '' } = (request as unknown as { readonly params: { readonly name?: string } }).params;
    const kind = kinds.get(name);
    if (kind === undefined || kind === 'document') return fail(response, 404, `No function "${name}" that answers HTTP.`);
    if (!parseBody(request, await readAll(request))) return fail(response, 400, 'The body is not JSON.');
    try {
      options.onInvocation(name);
      await running.run(name, async () => (exports[name] as HttpFunction)(request, response));
    } catch (error) {
      fail(response, 500, error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  });

  const server = createServer((request, response) => app(request, response));
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    manifest,
    close: async () => {
      stopCounting();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
