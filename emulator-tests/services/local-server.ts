import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface LocalRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Aborted when the caller goes away or the server closes. */
  readonly signal: AbortSignal;
}

export type LocalHandler = (request: LocalRequest, response: ServerResponse) => Promise<void> | void;

export interface LocalServer {
  readonly port: number;
  readonly url: string;
  readonly close: () => Promise<void>;
}

export interface LocalServerOptions {
  /** 0 takes a free port. */
  readonly port?: number;
  readonly host?: string;
  readonly maxBodyBytes?: number;
  readonly handle: LocalHandler;
}

export function sendJson(response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(value));
}

/** Cuts the connection without an answer: the caller cannot know what happened. */
export function cutConnection(response: ServerResponse): void {
  response.destroy();
}

async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Read on to the end so that the caller gets the answer instead of a broken pipe, but keep nothing.
    if (size <= limit) chunks.push(chunk);
  }
  return size > limit ? undefined : Buffer.concat(chunks);
}

/** A small HTTP server on the loopback address. Closing it ends open connections, hung ones too. */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const host = options.host ?? '127.0.0.1';
  const limit = options.maxBodyBytes ?? 32 * 1024 * 1024;
  const open = new Set<AbortController>();

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const controller = new AbortController();
    open.add(controller);
    response.on('close', () => {
      open.delete(controller);
      controller.abort();
    });
    const body = await readBody(request, limit);
    if (body === undefined) return sendJson(response, 413, { error: { message: `The body is over ${limit} bytes.` } });
    const url = new URL(request.url ?? '/', 'http://local');
    await options.handle(
      {
        method: request.method ?? 'GET',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body,
        signal: controller.signal,
      },
      response,
    );
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      // The caller went away while sending, or the service has a bug: answer if that is still possible.
      if (response.headersSent || response.destroyed) return void response.destroy();
      sendJson(response, 500, {
        error: { code: 500, status: 'INTERNAL', message: error instanceof Error ? error.message : String(error) },
      });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The local server has no port.');
  return {
    port: address.port,
    url: `http://${host}:${address.port}`,
    close: async () => {
      for (const controller of open) controller.abort();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
