import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { startChild } from './child.ts';

/** A shell that starts a grandchild and prints its pid; both ignore SIGTERM when told so. */
const FAMILY = 'sleep 600 & echo $!; wait';
const STUBBORN = `trap "" TERM; ${FAMILY}`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch {
    return false;
  }
}

/** In a container without an init process the dead stay in the table. */
function isZombie(pid: number): boolean {
  return process.platform === 'linux' && /\) Z /.test(readStat(pid));
}

function readStat(pid: number): string {
  try {
    return process.getBuiltinModule('node:fs').readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}

function firstLine(child: { onLine(listener: (line: string) => void): void }): Promise<string> {
  return new Promise((resolve) => child.onLine(resolve));
}

async function untilDead(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid), { timeout: 8000, interval: 20 }).toBe(false);
}

test('stopping a child ends what it started, too', async () => {
  const child = startChild('family', 'sh', ['-c', FAMILY]);
  const grandchild = Number(await firstLine(child));
  expect(isAlive(grandchild)).toBe(true);
  await child.stop();
  await untilDead(grandchild);
  await untilDead(child.pid);
});

test('a child that ignores SIGTERM is ended all the same', async () => {
  const child = startChild('stubborn', 'sh', ['-c', STUBBORN], { graceMs: 100 });
  const grandchild = Number(await firstLine(child));
  expect(isAlive(grandchild)).toBe(true);
  await child.stop();
  await untilDead(grandchild);
  await untilDead(child.pid);
});

test('the exit code and the last lines are kept', async () => {
  const child = startChild('loser', 'sh', ['-c', 'echo one; echo two >&2; exit 3']);
  expect(await child.exited).toEqual({ code: 3, signal: null });
  await expect.poll(() => child.tail().split('\n').toSorted()).toEqual(['one', 'two']);
});

test('children do not outlive a parent that is killed with SIGKILL', async () => {
  const module = new URL('./child.ts', import.meta.url).href;
  const script = `import { startChild } from '${module}'; startChild('family', 'sh', ['-c', '${FAMILY}']).onLine((line) => console.log(line)); setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const grandchild = Number(await new Promise((resolve) => parent.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))));
  expect(isAlive(grandchild)).toBe(true);
  parent.kill('SIGKILL');
  await untilDead(grandchild);
}, 15_000);
