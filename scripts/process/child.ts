/**
 * Child processes that cannot outlive us. Each runs in a process group of its own, so that one signal reaches everything it
 * started and a terminal's Ctrl-C reaches it only through us. A shell watcher (the leash) holds the read end of a pipe whose
 * write end is ours: when we die for any reason, even by SIGKILL, the pipe closes and the watcher ends the group.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { descendants } from './tree.ts';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** The last lines of its output, for error messages. */
  tail(): string;
  onLine(listener: (line: string) => void): void;
  /** True once somebody asked it to end, so that its end is no accident. */
  isStopping(): boolean;
  /** Asks with `signal`, insists with SIGKILL after a while; resolves when the child and all that it started are gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface ChildOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Where its whole output goes. */
  logFile?: string;
  /** How `stop` asks, and for how long it waits; SIGTERM and 5 s by default. */
  stopSignal?: NodeJS.Signals;
  graceMs?: number;
}

const TAIL_LINES = 30;
const SAME_SIGNAL_MS = 800;
const ORPHAN_CHECK_MS = 500;

/**
 * `$$` stays the pid of the program, because `exec` replaces the shell; the watcher is its child and shares its group. The pipe
 * moves to descriptor 3 first: a shell points the standard input of its background commands to /dev/null.
 */
const LEASH = ['exec 3<&0', '(read -r _ <&3; kill -TERM $$; sleep 5; kill -KILL -$$) >/dev/null 2>&1 &', 'exec "$@" 3<&- </dev/null'].join(
  '\n',
);

const living = new Set<Child>();

function lineSplitter(emit: (line: string) => void): (chunk: Buffer) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) emit(line);
  };
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already: that is what was wanted.
  }
}

function killOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone already.
  }
}

function wire(processHandle: ChildProcess, options: ChildOptions): { tail: string[]; listeners: ((line: string) => void)[] } {
  const tail: string[] = [];
  const listeners: ((line: string) => void)[] = [];
  if (options.logFile !== undefined) mkdirSync(dirname(options.logFile), { recursive: true });
  const log = options.logFile === undefined ? undefined : createWriteStream(options.logFile);
  const onLine = (line: string): void => {
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
    log?.write(`${line}\n`);
    for (const listener of listeners) listener(line);
  };
  processHandle.stdout?.on('data', lineSplitter(onLine));
  processHandle.stderr?.on('data', lineSplitter(onLine));
  processHandle.once('close', () => log?.end());
  return { tail, listeners };
}

export function startChild(name: string, command: string, args: readonly string[], options: ChildOptions = {}): Child {
  const handle = spawn('/bin/sh', ['-c', LEASH, 'leash', command, ...args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const pid = handle.pid;
  if (pid === undefined) throw new Error(`${name} could not be started: /bin/sh is missing.`);
  handle.stdin?.on('error', () => undefined);
  const { tail, listeners } = wire(handle, options);
  const exited = new Promise<Exit>((resolve) => {
    handle.once('exit', (code, signal) => resolve({ code, signal }));
  });
  let stopping: Promise<void> | undefined;
  const child: Child = {
    name,
    pid,
    exited,
    tail: () => tail.join('\n'),
    onLine: (listener) => void listeners.push(listener),
    isStopping: () => stopping !== undefined,
    stop: (signal = options.stopSignal ?? 'SIGTERM') => (stopping ??= stopTree(pid, exited, signal, options.graceMs ?? 5000)),
  };
  living.add(child);
  void exited.then(() => {
    // The program is gone, the watcher in its group is not.
    killGroup(pid, 'SIGKILL');
    living.delete(child);
  });
  return child;
}

function killTree(pid: number): void {
  for (const one of descendants(pid)) killOne(one, 'SIGKILL');
  killGroup(pid, 'SIGKILL');
}

async function stopTree(pid: number, exited: Promise<Exit>, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  // Some programs start children in new groups (firebase-tools does so with Java): remember them while the tree still stands.
  const offspring = descendants(pid);
  killOne(pid, signal);
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), graceMs);
  });
  const outcome = await Promise.race([exited, patience]);
  clearTimeout(timer);
  for (const one of outcome === 'late' ? [...offspring, ...descendants(pid)] : offspring) killOne(one, 'SIGKILL');
  killGroup(pid, 'SIGKILL');
  await exited;
}

export async function stopAllChildren(): Promise<void> {
  await Promise.all([...living].map((child) => child.stop()));
}

/** Ends every child and then ourselves on Ctrl-C, SIGTERM, a closed terminal or the end of the bootstrap; a later signal insists. */
export function stopChildrenOnSignal(before: (signal: NodeJS.Signals) => Promise<void> | void = () => undefined): void {
  let askedAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (askedAt !== undefined) {
      // The terminal, npm and the bootstrap each hand on the same Ctrl-C: only a later one is a second one.
      if (performance.now() - askedAt > SAME_SIGNAL_MS) for (const child of living) killTree(child.pid);
      return;
    }
    askedAt = performance.now();
    void Promise.resolve(before(signal))
      .catch(() => undefined)
      .then(stopAllChildren)
      .finally(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  if (process.env['KILN_PARENT_PID'] === String(process.ppid)) whenOrphaned(() => onSignal('SIGTERM'));
}

function whenOrphaned(stop: () => void): void {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    stop();
  }, ORPHAN_CHECK_MS);
  watch.unref();
}
