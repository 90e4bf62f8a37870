import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a test server saw of one request. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface LocalServer {
  readonly origin: string;
  /** As KILN_ALLOW_PRIVATE_HOSTS lists it. */
  readonly hostPort: string;
  readonly port: number;
  readonly seen: Seen[];
  close(): Promise<void>;
}

/** A real HTTP server on a free port; `answer` gets each request with its body already read. */
export async function localServer(answer: (seen: Seen, response: Parameters<RequestListener>[1]) => void): Promise<LocalServer> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const entry: Seen = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      seen.push(entry);
      answer(entry, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, hostPort: `127.0.0.1:${port}`, port, seen, close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
