import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { describeHolders, freePort, portHolders } from './ports.ts';

let server: Server | undefined;
afterEach(() => server?.close());

function listen(port: number): Promise<void> {
  const listening = createServer();
  server = listening;
  return new Promise((resolve) => void listening.listen(port, '127.0.0.1', resolve));
}

test('a port in use is reported with the process that holds it, a free one is not', async () => {
  const [taken, free] = [await freePort(), await freePort()];
  await listen(taken);
  const holders = await portHolders([taken, free]);
  expect(holders).toEqual([{ port: taken, pid: process.pid, command: expect.stringContaining('node') as string }]);
});

test('ports of one process share a sentence', () => {
  const text = describeHolders([
    { port: 8080, pid: 7, command: 'java -jar emulator.jar' },
    { port: 9150, pid: 7, command: 'java -jar emulator.jar' },
    { port: 5000, pid: undefined, command: undefined },
  ]);
  expect(text.split('\n')).toEqual([
    'Ports 8080, 9150 are in use by process 7 (java -jar emulator.jar).',
    'Port 5000 is in use by a process that this user may not see.',
  ]);
});
