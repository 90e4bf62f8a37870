import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';

export interface PortHolder {
  port: number;
  pid: number | undefined;
  command: string | undefined;
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}

function canBind(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Binding 127.0.0.1 succeeds on some systems while another process listens on all addresses, so ask both ways. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** The ports among `ports` that somebody else holds, with the process where the system tells. */
export async function portHolders(ports: readonly number[]): Promise<PortHolder[]> {
  const taken: PortHolder[] = [];
  for (const port of ports) {
    if ((await canBind(port)) && !(await answers(port))) continue;
    const pid = holderFromProc(port) ?? holderFromLsof(port);
    taken.push({ port, pid, command: pid === undefined ? undefined : commandLine(pid) });
  }
  return taken;
}

const LISTEN = '0A';

/** The inode of the listening socket stands in /proc/net/tcp; the process is the one that has it open. */
function holderFromProc(port: number): number | undefined {
  const inodes = new Set<string>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readIfThere(file).split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      const [, local, , state] = fields;
      const inode = fields[9];
      if (local === undefined || inode === undefined || state !== LISTEN) continue;
      if (Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16) === port) inodes.add(`socket:[${inode}]`);
    }
  }
  if (inodes.size === 0) return undefined;
  return list('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .find((pid) => list(`/proc/${pid}/fd`).some((fd) => inodes.has(linkTarget(`/proc/${pid}/fd/${fd}`))));
}

function holderFromLsof(port: number): number | undefined {
  try {
    const out = execFileSync('lsof', ['-nP', '-t', `-iTCP:${port}`, '-sTCP:LISTEN'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const pid = Number(out.split('\n')[0]);
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function commandLine(pid: number): string | undefined {
  const raw = readIfThere(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() || commandFromPs(pid);
  return raw === '' ? undefined : raw.slice(0, 120);
}

function commandFromPs(pid: number): string {
  try {
    return execFileSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // Not ours to read, or gone.
  }
}

function linkTarget(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}

/** One sentence per process for a person. */
export function describeHolders(holders: readonly PortHolder[]): string {
  const byProcess = Map.groupBy(holders, ({ pid }) => pid);
  return [...byProcess]
    .map(([pid, held]) => {
      const ports = held.map(({ port }) => port).join(', ');
      const subject = held.length === 1 ? `Port ${ports} is` : `Ports ${ports} are`;
      const holder =
        pid === undefined ? 'a process that this user may not see' : `process ${pid} (${held[0]?.command ?? 'unknown command'})`;
      return `${subject} in use by ${holder}.`;
    })
    .join('\n');
}
