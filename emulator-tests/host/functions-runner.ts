import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { AbandonedTransactions } from './abandoned-transactions.ts';
import { startFunctionsServer } from './functions-server.ts';
import type { DeployedFunction } from './manifest.ts';
import type { TransactionEvent, UsageEvent } from './wire.ts';

/** Where the functions run: in this process, or in one that can be killed. The address stays the same over restarts. */
export interface FunctionsRunner {
  readonly url: string;
  readonly manifest: readonly DeployedFunction[];
  /** Resolves when the functions can be called: at once, unless the process is being replaced. */
  ready(): Promise<void>;
  /** SIGKILL, then a new process. */
  kill(): Promise<void>;
  /** Sets environment variables of the functions, in later processes too. */
  setEnv(values: Readonly<Record<string, string>>): Promise<void>;
  /** The process that can be killed; undefined where the functions run in this one. */
  readonly pid: number | undefined;
  /** The last lines that the functions wrote; empty where they run in this process. */
  log(): string;
  close(): Promise<void>;
}

export interface RunnerOptions {
  readonly module: URL;
  readonly env: Readonly<Record<string, string>>;
  readonly onUsage: (event: UsageEvent) => void;
  readonly onInvocation: (functionName: string) => void;
}

/** The admin SDK's default app belongs to one project for the life of a process. */
let projectOfProcess: string | undefined;

export async function runInProcess(options: RunnerOptions): Promise<FunctionsRunner> {
  const projectId = options.env['GCLOUD_PROJECT'];
  if (projectOfProcess !== undefined && projectOfProcess !== projectId) {
    throw new Error(
      `Functions ran in this process for ${projectOfProcess} already; another project needs worker: true or a test file of its own.`,
    );
  }
  projectOfProcess = projectId;
  const earlier = new Map<string, string | undefined>();
  const setEnv = (values: Readonly<Record<string, string>>): void => {
    for (const [name, value] of Object.entries(values)) {
      if (!earlier.has(name)) earlier.set(name, process.env[name]);
      process.env[name] = value;
    }
  };
  setEnv(options.env);
  const exports = (await import(options.module.href)) as Record<string, unknown>;
  const server = await startFunctionsServer({ exports, listener: { usage: options.onUsage }, onInvocation: options.onInvocation });
  return {
    url: server.url,
    manifest: server.manifest,
    pid: undefined,
    ready: () => Promise.resolve(),
    kill: () => Promise.reject(new Error('Functions in this process cannot be killed: start the host with worker: true.')),
    setEnv: (values) => Promise.resolve(setEnv(values)),
    log: () => '',
    close: async () => {
      await server.close();
      for (const [name, value] of earlier) {
        if (value === undefined) Reflect.deleteProperty(process.env, name);
        else process.env[name] = value;
      }
    },
  };
}

type Message =
  | { readonly type: 'ready'; readonly port: number; readonly manifest: readonly DeployedFunction[] }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'usage'; readonly usage: UsageEvent }
  | { readonly type: 'transaction'; readonly transaction: TransactionEvent }
  | { readonly type: 'invocation'; readonly functionName: string };

const keptLines = 200;

class WorkerRunner implements FunctionsRunner {
  readonly #options: RunnerOptions;
  readonly #env: Record<string, string>;
  readonly #lines: string[] = [];
  readonly #transactions: AbandonedTransactions;
  #child: ChildProcess | undefined;
  #port = 0;
  #killing: Promise<void> | undefined;
  #starting: Promise<void>;
  #closed = false;
  manifest: readonly DeployedFunction[] = [];

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#env = { ...options.env };
    this.#transactions = new AbandonedTransactions(options.env['FIRESTORE_EMULATOR_HOST'] ?? '', options.env['GCLOUD_PROJECT'] ?? '');
    this.#starting = this.#start();
    // Whoever waits for `ready` gets the error; a start that nobody waits for must not end the test process.
    this.#starting.catch(() => undefined);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  ready(): Promise<void> {
    return this.#starting;
  }

  /** Several faults at one moment are one death. */
  kill(): Promise<void> {
    this.#killing ??= this.#killOnce().finally(() => {
      this.#killing = undefined;
    });
    return this.#killing;
  }

  async #killOnce(): Promise<void> {
    await this.#starting;
    const child = this.#child;
    if (child === undefined || this.#closed) return;
    // From now on callers wait for the successor, which the listener for `exit` starts: it was added first and so comes first.
    const replaced = once(child, 'exit').then(() => this.#starting);
    this.#starting = replaced;
    child.kill('SIGKILL');
    await replaced;
  }

  async setEnv(values: Readonly<Record<string, string>>): Promise<void> {
    Object.assign(this.#env, values);
    await this.#starting;
    // A process that dies meanwhile gets them with its successor's start.
    await fetch(`${this.url}/__env`, { method: 'POST', body: JSON.stringify(values) }).catch(() => undefined);
  }

  log(): string {
    return this.#lines.join('\n');
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#starting.catch(() => undefined);
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** A process that is killed before it is ready is replaced like any other; one that ends by itself is a broken module. */
  async #start(): Promise<void> {
    while (!this.#closed) {
      const child = this.#spawn();
      this.#child = child;
      if (await this.#untilReady(child)) {
        child.once('exit', () => {
          if (this.#closed) return;
          this.#starting = this.#transactions.rollBack().then(() => this.#start());
          this.#starting.catch(() => undefined);
        });
        return;
      }
    }
  }

  #spawn(): ChildProcess {
    const program = fileURLToPath(new URL('worker.ts', import.meta.url));
    const child = spawn(process.execPath, [program, this.#options.module.href, String(this.#port)], {
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const keep = (chunk: Buffer): void => {
      this.#lines.push(...chunk.toString('utf8').trimEnd().split('\n'));
      this.#lines.splice(0, Math.max(0, this.#lines.length - keptLines));
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    return child;
  }

  /** False when the process was killed on the way. */
  #untilReady(child: ChildProcess): Promise<boolean> {
    return new Promise((resolve, reject) => {
      child.on('message', (message: Message) => {
        switch (message.type) {
          case 'usage':
            return this.#options.onUsage(message.usage);
          case 'transaction':
            return this.#transactions.saw(message.transaction);
          case 'invocation':
            return this.#options.onInvocation(message.functionName);
          case 'failed':
            return reject(new Error(`The functions module did not load: ${message.message}`));
          case 'ready':
            this.#port = message.port;
            this.manifest = message.manifest;
            return resolve(true);
        }
      });
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        if (signal === 'SIGKILL') resolve(false);
        else reject(new Error(`The functions process ended before it was ready (${signal ?? code}).\n${this.log()}`));
      });
    });
  }
}

export async function runInWorker(options: RunnerOptions): Promise<FunctionsRunner> {
  const runner = new WorkerRunner(options);
  try {
    await runner.ready();
    return runner;
  } catch (error) {
    await runner.close();
    throw error;
  }
}
