/** Serves the built app as Firebase Hosting does: the headers and rewrites of firebase.json, and `/__/firebase/init.json`. */
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { createGzip } from 'node:zlib';
import { ROOT } from '../../scripts/root.ts';

export interface Emulators {
  /** `host:port` each. */
  readonly firestore: string;
  readonly auth: string;
  readonly functions: string;
}

export interface Hosting {
  readonly url: string;
  close(): Promise<void>;
}

interface HeaderRule {
  readonly source: string;
  readonly headers: readonly { readonly key: string; readonly value: string }[];
}

const DIST = join(ROOT, 'web', 'dist');
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};

function headerRules(): readonly HeaderRule[] {
  const config = JSON.parse(readFileSync(join(ROOT, 'firebase.json'), 'utf8')) as { hosting: { headers: HeaderRule[] } };
  return config.hosting.headers;
}

/** The policy of firebase.json names the pinned emulator ports; tests use free ones. */
function withPorts(policy: string, emulators: Emulators): string {
  const origins = Object.values(emulators).flatMap((host) => [`http://${host}`, `ws://${host}`]);
  return policy.replace("connect-src 'self'", `connect-src 'self' ${origins.join(' ')}`);
}

function headersFor(path: string, emulators: Emulators): Record<string, string> {
  const matching = headerRules().filter(({ source }) => source === '**' || path.startsWith(source.replace('**', '')));
  const headers = matching.flatMap((rule) => rule.headers.map(({ key, value }) => [key, value] as const));
  return Object.fromEntries(headers.map(([key, value]) => [key, key === 'Content-Security-Policy' ? withPorts(value, emulators) : value]));
}

function fileFor(path: string): string {
  const file = join(DIST, normalize(path));
  return file.startsWith(DIST) && existsSync(file) && statSync(file).isFile() ? file : join(DIST, 'index.html');
}

export interface HostingOptions {
  readonly projectId: string;
  readonly emulators: Emulators;
}

export async function startHosting({ projectId, emulators }: HostingOptions, port = 0): Promise<Hosting> {
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://x').pathname);
    if (path === '/__/firebase/init.json') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ projectId, apiKey: 'demo', emulators }));
      return;
    }
    const file = fileFor(path);
    response.writeHead(200, {
      ...headersFor(path, emulators),
      'content-type': types[extname(file)] ?? 'application/octet-stream',
      'content-encoding': 'gzip',
    });
    createReadStream(file).pipe(createGzip()).pipe(response);
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
