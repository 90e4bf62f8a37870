import { gzipSync } from 'node:zlib';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { KilnError } from '../../model/errors.ts';
import { localServer, type LocalServer } from '../local-server.testing.ts';
import { createHttpClient, type HttpClient, type HttpRequest } from './client.ts';
import { createGuard } from './guard.ts';

const open: { close(): Promise<void> }[] = [];

async function serve(...args: Parameters<typeof localServer>): Promise<LocalServer> {
  const server = await localServer(...args);
  open.push(server);
  return server;
}

function clientFor(...servers: LocalServer[]): HttpClient {
  return createHttpClient(createGuard({ allowPrivateHosts: servers.map((server) => server.hostPort) }));
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

test('a request goes out with its headers, body and idempotency key, and the answer comes back parsed', async () => {
  const server = await serve((_seen, response) =>
    response.writeHead(201, { 'content-type': 'application/problem+json; charset=utf-8', 'x-twice': ['a', 'b'] }).end('{"ok":true}'),
  );
  const answer = await clientFor(server).request({
    method: 'post',
    url: `${server.origin}/pay?x=1`,
    headers: { Authorization: 'Bearer t', 'Content-Type': 'application/json' },
    body: '{"n":"é"}',
    timeoutMs: 5_000,
    idempotencyKey: 'run-1:pay',
  });
  expect(answer).toMatchObject({ status: 201, json: { ok: true }, text: '{"ok":true}', redirects: 0, origin: server.origin });
  expect(answer.headers['x-twice']).toBe('a, b');
  expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/pay?x=1', body: '{"n":"é"}' });
  expect(server.seen[0]?.headers).toMatchObject({ authorization: 'Bearer t', 'idempotency-key': 'run-1:pay', 'content-length': '10' });
});

test('every status is an answer, and JSON that is none stays text', async () => {
  const server = await serve((_seen, response) => response.writeHead(503, { 'content-type': 'application/json' }).end('<html>'));
  const answer = await clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 5_000 });
  expect(answer.status).toBe(503);
  expect(answer.text).toBe('<html>');
  expect(answer).not.toHaveProperty('json');
});

test('nothing listens: a connection error that may be repeated, even for POST', async () => {
  const server = await localServer(() => undefined);
  await server.close();
  await expect(clientFor(server).request({ method: 'POST', url: server.origin, body: 'x', timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'http.connection',
    class: 'retryable',
  });
});

test.each([
  ['POST', undefined, 'http.interrupted', 'unknown_outcome'],
  ['PATCH', undefined, 'http.interrupted', 'unknown_outcome'],
  ['POST', 'key-1', 'http.connection', 'retryable'],
  ['PUT', undefined, 'http.connection', 'retryable'],
  ['GET', undefined, 'http.connection', 'retryable'],
])('%s (key %s) that breaks after it was sent is %s', async (method, idempotencyKey, code, errorClass) => {
  const server = await serve((_seen, response) => response.socket?.destroy());
  const failure = clientFor(server).request({
    method,
    url: `${server.origin}/path?token=abc`,
    timeoutMs: 5_000,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
  await expect(failure).rejects.toMatchObject({ code, class: errorClass });
  await expect(failure).rejects.not.toThrow('token=abc');
  expect(server.seen).toHaveLength(1);
});

test('a server that closes in the middle of the body is an interrupted POST and a repeatable GET', async () => {
  const server = await serve((_seen, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('half', () => response.socket?.destroy());
  });
  await expect(clientFor(server).request({ method: 'POST', url: server.origin, body: 'x', timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'http.interrupted',
  });
  await expect(clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'http.connection',
  });
});

test('chunks that stop without their end are a broken answer, not a short one', async () => {
  const server = await serve((_seen, response) => {
    response.writeHead(200);
    response.write('part', () => response.socket?.destroy());
  });
  await expect(clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'http.connection',
  });
});

test('a server that accepts and says nothing runs into the time limit', async () => {
  const server = await serve(() => undefined);
  await expect(clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 50 })).rejects.toMatchObject({
    code: 'step.timeout',
    class: 'retryable',
  });
  await expect(clientFor(server).request({ method: 'POST', url: server.origin, timeoutMs: 1_000 })).rejects.toMatchObject({
    code: 'http.interrupted',
    class: 'unknown_outcome',
  });
});

test('a server that drips its body runs into the same limit', async () => {
  const server = await serve((_seen, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write('.'), 5);
    response.on('close', () => clearInterval(drip));
  });
  await expect(clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 80 })).rejects.toMatchObject({
    code: 'step.timeout',
  });
});

test('a cancelled call ends with the reason it was given', async () => {
  const stop = new AbortController();
  const server = await serve(() => stop.abort(new KilnError('run.cancelled', 'The run was cancelled.')));
  await expect(
    clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 5_000, signal: stop.signal }),
  ).rejects.toMatchObject({ code: 'run.cancelled', message: 'The run was cancelled.' });
});

test('a huge answer is cut off at the cap, also when it comes compressed', async () => {
  let written = 0;
  const server = await serve((seen, response) => {
    if (seen.path === '/bomb') {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000_000)));
      return;
    }
    response.writeHead(200);
    const more = (): void => {
      while (response.writable && response.write(Buffer.alloc(65_536))) written += 65_536;
    };
    response.on('drain', more);
    more();
  });
  await expect(clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 5_000, maxBytes: 100_000 })).rejects.toMatchObject(
    { code: 'http.too_large', class: 'not_retryable' },
  );
  await expect(
    clientFor(server).request({ method: 'GET', url: `${server.origin}/bomb`, timeoutMs: 5_000, maxBytes: 100_000 }),
  ).rejects.toMatchObject({ code: 'http.too_large' });
  expect(written).toBeLessThan(50_000_000);
});

test('a compressed answer is read as what it says', async () => {
  const server = await serve((_seen, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(gzipSync('{"n":1}')),
  );
  expect((await clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 5_000 })).json).toEqual({ n: 1 });
});

test.each([
  ['HEAD', 200, {}],
  ['GET', 204, {}],
  ['GET', 304, {}],
  ['GET', 200, { 'content-length': '0' }],
])('%s answered with %i and an encoding, but without a body, is read as empty', async (method, status, headers) => {
  const server = await serve((_seen, response) => response.writeHead(status, { 'content-encoding': 'gzip', ...headers }).end());
  expect(await clientFor(server).request({ method, url: server.origin, timeoutMs: 5_000 })).toMatchObject({ status, text: '' });
});

test('an encoding that is a lie is a broken answer', async () => {
  const server = await serve((_seen, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('plain text'));
  await expect(clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'http.connection',
  });
});

test('X6 a redirect to a metadata address is refused at that hop', async () => {
  const server = await serve((_seen, response) =>
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/iam' }).end('secret body'),
  );
  const failure = clientFor(server).request({ method: 'GET', url: server.origin, timeoutMs: 5_000 });
  await expect(failure).rejects.toMatchObject({ code: 'http.blocked_address' });
  await expect(failure).rejects.not.toThrow('secret body');
});

test('X6 the connection goes to the address that was checked; the name is not asked a second time', async () => {
  const server = await serve((_seen, response) => response.end('checked'));
  const name = `rebind.example:${server.port}`;
  const asked: string[] = [];
  // The name exists in no DNS: only the checked address can lead to the server.
  const lookup = async (hostname: string): Promise<{ address: string; family: 4 }[]> => [
    { address: asked.push(hostname) === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 },
  ];
  const answer = await createHttpClient(createGuard({ allowPrivateHosts: [name], lookup })).request({
    method: 'GET',
    url: `http://${name}/`,
    timeoutMs: 5_000,
  });
  expect(answer.text).toBe('checked');
  expect(server.seen[0]?.headers.host).toBe(name);
  expect(asked).toEqual(['rebind.example']);
});

test('a redirect within the origin keeps the headers; one to another origin drops every credential', async () => {
  const other = await serve((_seen, response) => response.end('there'));
  const server = await serve((seen, response) =>
    response.writeHead(seen.path === '/a' ? 307 : 302, { location: seen.path === '/a' ? '/b' : `${other.origin}/c` }).end(),
  );
  const answer = await clientFor(server, other).request({
    method: 'GET',
    url: `${server.origin}/a`,
    headers: { authorization: 'Bearer t', cookie: 'c', 'x-api-key': 'k', accept: 'text/plain' },
    timeoutMs: 5_000,
  });
  expect(answer).toMatchObject({ text: 'there', redirects: 2, origin: other.origin });
  expect(server.seen[1]?.headers).toMatchObject({ authorization: 'Bearer t', 'x-api-key': 'k' });
  expect(other.seen[0]?.headers).toMatchObject({ accept: 'text/plain' });
  for (const name of ['authorization', 'cookie', 'x-api-key']) expect(other.seen[0]?.headers).not.toHaveProperty(name);
});

test.each([[301], [302], [303]])('a POST that is redirected with %i goes on as GET without its body', async (status) => {
  const server = await serve((seen, response) =>
    seen.path === '/a' ? response.writeHead(status, { location: '/b' }).end() : response.end('done'),
  );
  await clientFor(server).request({
    method: 'POST',
    url: `${server.origin}/a`,
    headers: { 'content-type': 'text/plain' },
    body: 'payload',
    timeoutMs: 5_000,
  });
  expect(server.seen[1]).toMatchObject({ method: 'GET', path: '/b', body: '' });
  expect(server.seen[1]?.headers).not.toHaveProperty('content-type');
});

test('a body is passed on within the origin (308), never to another one', async () => {
  const other = await serve((_seen, response) => response.end());
  const server = await serve((seen, response) =>
    seen.path === '/done' ? response.end('ok') : response.writeHead(308, { location: seen.path === '/in' ? '/done' : other.origin }).end(),
  );
  const client = clientFor(server, other);
  expect((await client.request({ method: 'POST', url: `${server.origin}/in`, body: 'payload', timeoutMs: 5_000 })).text).toBe('ok');
  expect(server.seen.at(-1)).toMatchObject({ method: 'POST', body: 'payload' });
  await expect(client.request({ method: 'POST', url: `${server.origin}/out`, body: 'payload', timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'http.redirect',
  });
  expect(other.seen).toHaveLength(0);
});

test('the fourth redirect is not followed', async () => {
  const server = await serve((seen, response) => response.writeHead(302, { location: `/${Number(seen.path.slice(1)) + 1}` }).end());
  await expect(clientFor(server).request({ method: 'GET', url: `${server.origin}/0`, timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'http.redirect',
  });
  expect(server.seen.map(({ path }) => path)).toEqual(['/0', '/1', '/2', '/3']);
});

test.each([
  [{ method: 'CONNECT' }],
  [{ method: 'GET /' }],
  [{ headers: { Host: 'inner' } }],
  [{ headers: { 'Transfer-Encoding': 'chunked' } }],
  [{ headers: { 'proxy-authorization': 'x' } }],
  [{ headers: { 'x-a': 'a\r\nx-b: c' } }],
  [{ headers: { 'bad name': 'x' } }],
  [{ method: 'GET', body: 'x' }],
])('a request that would break the protocol is refused before it leaves: %j', async (part: Partial<HttpRequest>) => {
  const server = await serve((_seen, response) => response.end());
  await expect(clientFor(server).request({ method: 'POST', url: server.origin, timeoutMs: 5_000, ...part })).rejects.toMatchObject({
    code: 'request.invalid',
    class: 'not_retryable',
  });
  expect(server.seen).toHaveLength(0);
});

test('something that does not speak HTTP is a broken connection', async () => {
  const tcp = createTcpServer((socket) =>
    socket
      .on('error', () => undefined)
      .resume()
      .end('SSH-2.0-server\r\n'),
  );
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  open.push({ close: () => new Promise((resolve) => tcp.close(() => resolve())) });
  const hostPort = `127.0.0.1:${(tcp.address() as AddressInfo).port}`;
  const client = createHttpClient(createGuard({ allowPrivateHosts: [hostPort] }));
  await expect(client.request({ method: 'GET', url: `http://${hostPort}`, timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'http.connection',
  });
});
