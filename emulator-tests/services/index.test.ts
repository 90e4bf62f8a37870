import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startLocalServer } from './local-server.ts';
import { pinnedPorts, startServices } from './index.ts';

test('all three start on free ports and say how functions reach them', async () => {
  const services = await startServices();
  expect(services.env['CLOUD_TASKS_EMULATOR_HOST']).toBe(`127.0.0.1:${services.tasks.port}`);
  expect((await fetch(`${services.env['OPENAI_BASE_URL']}/models`)).headers.get('x-kiln-dev-model')).toBe('true');
  expect((await fetch(`${services.env['KILN_MAIL_BASE_URL']}/mails`)).status).toBe(200);
  await services.close();
  await expect(fetch(`${services.mail.url}/mails`)).rejects.toThrow('fetch failed');
});

test('when one port is taken, the start fails and leaves nothing behind', async () => {
  const squatter = await startLocalServer({ handle: (_, response) => void response.end() });
  const free = await startLocalServer({ handle: (_, response) => void response.end() });
  const port = free.port;
  await free.close();
  await expect(startServices({ ports: { tasks: port, model: squatter.port } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const again = await startLocalServer({ port, handle: (_, response) => void response.end() });
  expect(again.port).toBe(port);
  await again.close();
  await squatter.close();
});

test('as a process: ready on its ports, a task survives SIGKILL, SIGTERM ends it cleanly', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kiln-services-'));
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const launch = async () => {
    const child = spawn(process.execPath, [main, join(folder, 'tasks.jsonl')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, KILN_TASKS_PORT: '0', KILN_MODEL_PORT: '0', KILN_MAIL_PORT: '0' },
    });
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (line === 'ready') break;
    }
    return { child, tasksUrl: /http\S+/.exec(lines[0] ?? '')?.[0] ?? '' };
  };
  const queue = '/v2/projects/p/locations/l/queues/q';
  try {
    const first = await launch();
    const task = {
      name: `${queue.slice(4)}/tasks/kept`,
      scheduleTime: new Date(Date.now() + 3_600_000).toISOString(),
      httpRequest: { url: first.tasksUrl },
    };
    expect((await fetch(`${first.tasksUrl}${queue}/tasks`, { method: 'POST', body: JSON.stringify({ task }) })).status).toBe(200);
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    const second = await launch();
    expect((await fetch(`${second.tasksUrl}${queue}/tasks/kept`)).status).toBe(200);
    second.child.kill('SIGTERM');
    expect(await once(second.child, 'exit')).toEqual([0, null]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the pinned ports are the documented ones', () => {
  expect(pinnedPorts).toEqual({ tasks: 9499, model: 9498, mail: 9497 });
});
