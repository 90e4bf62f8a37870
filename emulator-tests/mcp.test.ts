import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGuardedFetch } from '../functions/src/services/http/fetch.ts';
import { createGuard } from '../functions/src/services/http/guard.ts';
import { McpPool, type ToolCall } from '../functions/src/services/mcp/pool.ts';
import { startChild, type Child } from '../scripts/process/child.ts';
import { ROOT } from '../scripts/root.ts';
import { startLocalServer, type LocalServer } from './services/local-server.ts';

/** The real @playwright/mcp server, driving the machine's Chromium on a page of our own. */
const chromium = process.env['KILN_CHROMIUM'] ?? '/usr/bin/chromium';

const page = `<!doctype html><title>Refunds</title><h1>Refund desk</h1>
<form method="post" action="/refund"><label>Order <input name="order"></label><button>Refund</button></form>`;

let site: LocalServer;
let browser: { readonly child: Child; readonly origin: string };
let pool: McpPool;
const refunds: string[] = [];
/** Requests to /never that are waiting for an answer that does not come. */
let hanging = 0;

function startBrowserServer(port: number): Promise<{ child: Child; origin: string }> {
  const args = [
    join(ROOT, 'node_modules/@playwright/mcp/cli.js'),
    '--headless',
    '--no-sandbox',
    '--isolated',
    '--executable-path',
    chromium,
    '--port',
    String(port),
  ];
  const child = startChild('playwright-mcp', process.execPath, args);
  return new Promise((resolve, reject) => {
    child.onLine((line) => {
      const origin = /^Listening on (http:\/\/\S+)/.exec(line)?.[1];
      if (origin !== undefined) resolve({ child, origin });
    });
    void child.exited.then(() => reject(new Error(`@playwright/mcp ended before it listened:\n${child.tail()}`)));
  });
}

beforeAll(async () => {
  site = await startLocalServer({
    handle: (request, response) => {
      if (request.path === '/never') {
        hanging += 1;
        return;
      }
      if (request.method === 'POST') refunds.push(new URLSearchParams(request.body.toString('utf8')).get('order') ?? '');
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(request.method === 'POST' ? '<title>Done</title><p>Refunded.</p>' : page);
    },
  });
  browser = await startBrowserServer(0);
  pool = new McpPool({ fetch: createGuardedFetch(createGuard({ allowPrivateHosts: [new URL(browser.origin).host] })), now: Date.now });
});

afterAll(async () => {
  await pool.close();
  await browser.child.stop();
  await site.close();
});

function call(tool: string, args: Record<string, unknown>, part: Partial<ToolCall> = {}): ToolCall {
  return {
    accountId: 'acme',
    session: 'run-1',
    server: { id: 'browser', url: `${browser.origin}/mcp` },
    tool,
    args,
    timeoutMs: 45_000,
    ...part,
  };
}

/** The reference by which a snapshot names an element. */
function refOf(snapshot: string, element: RegExp): string {
  const line = snapshot.split('\n').find((text) => element.test(text));
  const ref = /\[ref=(\w+)\]/.exec(line ?? '')?.[1];
  if (ref === undefined) throw new Error(`no ${element} in:\n${snapshot}`);
  return ref;
}

test('the browser fills in a form and the site receives it', async () => {
  const tools = await pool.listTools(call('', {}));
  const snapshotTool = tools.find(({ name }) => name === 'browser_snapshot');
  expect(snapshotTool).toMatchObject({ readOnly: true, destructive: false });
  expect(tools.find(({ name }) => name === 'browser_click')).toMatchObject({ readOnly: false, idempotent: false });

  expect(await pool.callTool(call('browser_navigate', { url: site.url }))).toMatchObject({
    isError: false,
    text: expect.stringContaining('Refunds'),
  });
  const snapshot = (await pool.callTool(call('browser_snapshot', {}, { pinnedHash: snapshotTool?.hash ?? '' }))).text;
  expect(snapshot).toContain('Refund desk');
  await pool.callTool(call('browser_type', { element: 'order', target: refOf(snapshot, /textbox/), text: 'R-1042' }));
  const clicked = await pool.callTool(call('browser_click', { element: 'refund', target: refOf(snapshot, /button/) }));
  expect(clicked.text).toContain('Done');
  expect(refunds).toEqual(['R-1042']);
});

test('a screenshot comes back as an image', async () => {
  await pool.callTool(call('browser_navigate', { url: site.url }));
  const { images } = await pool.callTool(call('browser_take_screenshot', { type: 'png' }));
  expect(images).toHaveLength(1);
  expect(images[0]?.mimeType).toBe('image/png');
  expect(
    Buffer.from(images[0]?.data ?? '', 'base64')
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
});

test('another run has a browser of its own', async () => {
  await pool.callTool(call('browser_navigate', { url: site.url }));
  const other = await pool.callTool(call('browser_snapshot', {}, { session: 'run-2' }));
  expect(other.text).not.toContain('Refund desk');
});

test('what the tool itself reports as a failure is a result', async () => {
  const result = await pool.callTool(call('browser_navigate', { url: 'http://127.0.0.1:1/' }));
  expect(result.isError).toBe(true);
});

test('X3 a page that never loads is held to the time limit, and nobody knows what it did', async () => {
  await expect(
    pool.callTool(call('browser_navigate', { url: `${site.url}/never` }, { session: 'run-3', timeoutMs: 3_000 })),
  ).rejects.toMatchObject({ code: 'http.interrupted', class: 'unknown_outcome' });
  expect(await pool.callTool(call('browser_navigate', { url: site.url }))).toMatchObject({ isError: false });
});

test('X2 the server dies during a call: unknown outcome, then a fresh connection', async () => {
  const before = hanging;
  const navigating = pool
    .callTool(call('browser_navigate', { url: `${site.url}/never` }, { session: 'run-4' }))
    .catch((error: unknown) => error);
  await expect.poll(() => hanging, { timeout: 20_000 }).toBeGreaterThan(before);
  await browser.child.stop('SIGKILL');
  expect(await navigating).toMatchObject({ code: 'http.interrupted', class: 'unknown_outcome' });
  await expect(pool.callTool(call('browser_snapshot', {}, { session: 'run-4' }))).rejects.toMatchObject({
    code: 'http.connection',
    class: 'retryable',
  });
  browser = await startBrowserServer(Number(new URL(browser.origin).port));
  expect(await pool.callTool(call('browser_navigate', { url: site.url }, { session: 'run-4' }))).toMatchObject({ isError: false });
});
