import { afterEach, expect, test } from 'vitest';
import { localServer, type LocalServer } from '../local-server.testing.ts';
import { createGuardedFetch } from './fetch.ts';
import { createGuard } from './guard.ts';

let server: LocalServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(
  ...args: Parameters<typeof localServer>
): Promise<{ server: LocalServer; fetch: ReturnType<typeof createGuardedFetch> }> {
  server = await localServer(...args);
  return { server, fetch: createGuardedFetch(createGuard({ allowPrivateHosts: [server.hostPort] }), 1_000) };
}

test('streams an answer as it arrives', async () => {
  let release: () => void = () => undefined;
  const { server, fetch } = await serve((_seen, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    release = () => response.end('data: 2\n\n');
  });
  let sent = false;
  const answer = await fetch(
    server.origin,
    { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } },
    { onSent: () => (sent = true) },
  );
  expect(sent).toBe(true);
  const reader = (answer.body ?? new ReadableStream()).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: 1\n\n');
  release();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: 2\n\n');
  expect(server.seen[0]).toMatchObject({ method: 'POST', body: '{}' });
});

test('hands redirects back instead of following them', async () => {
  const { server, fetch } = await serve((_seen, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end());
  const answer = await fetch(server.origin);
  expect([answer.status, answer.headers.get('location'), server.seen.length]).toEqual([302, 'http://169.254.169.254/', 1]);
});

test('an answer without content has no body', async () => {
  const { server, fetch } = await serve((_seen, response) => response.writeHead(204, { 'content-encoding': 'gzip' }).end());
  expect((await fetch(server.origin)).body).toBeNull();
});

test('refuses inner addresses, caps bytes, and fails when the stream is cut', async () => {
  const { server, fetch } = await serve((seen, response) => {
    response.writeHead(200);
    if (seen.path === '/cut') response.write('x', () => response.socket?.destroy());
    else response.end('x'.repeat(1_001));
  });
  await expect(fetch('http://169.254.169.254/')).rejects.toMatchObject({ code: 'http.blocked_address' });
  await expect(fetch(server.origin).then((answer) => answer.text())).rejects.toMatchObject({ code: 'http.too_large' });
  await expect(fetch(`${server.origin}/cut`).then((answer) => answer.text())).rejects.toThrow('aborted');
});

test('an abort ends the request and the stream', async () => {
  const { server, fetch } = await serve((seen, response) => {
    if (seen.path === '/stream') response.writeHead(200).write('x');
  });
  const first = new AbortController();
  const waiting = fetch(server.origin, { signal: first.signal });
  first.abort(new Error('stop'));
  await expect(waiting).rejects.toThrow('stop');
  const second = new AbortController();
  const answer = await fetch(`${server.origin}/stream`, { signal: second.signal });
  second.abort(new Error('stop'));
  await expect(answer.text()).rejects.toThrow('aborted');
});
