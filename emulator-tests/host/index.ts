import { randomBytes } from 'node:crypto';
import { firestorePackage, type Firestore } from '../functions-packages.ts';
import { startServices, type Services } from '../services/index.ts';
import type { TaskAnswer, TaskDelivery } from '../services/cloud-tasks/dispatch.ts';
import { sendJson, startLocalServer } from '../services/local-server.ts';
import { Deliveries, type DeliveryCounters, type FunctionEvent, type RetryTimes } from './deliveries.ts';
import type { EventFaults } from './event-faults.ts';
import { readDelivery, registerTrigger, takeEvents, type RawDelivery } from './event-router.ts';
import { runInProcess, runInWorker, type FunctionsRunner } from './functions-runner.ts';
import type { DeployedFunction } from './manifest.ts';
import { findSurroundings, functionsEnvironment } from './surroundings.ts';
import { UsageCounter } from './usage.ts';

export type { DeliveryCounters, RetryTimes } from './deliveries.ts';
export type { EventFaults } from './event-faults.ts';
export type { DeployedFunction } from './manifest.ts';
export { attachCounter, UsageCounter } from './usage.ts';

export interface HostOptions {
  /** The module that exports the functions: its source, which Node runs as it is, or what was built of it. */
  readonly functions: URL;
  /** One of its own per test file, as files share the emulator. */
  readonly projectId: string;
  readonly seed?: string;
  readonly faults?: Partial<EventFaults>;
  /** True: the functions run in a process that can be killed. */
  readonly worker?: boolean;
  /** Services to use; without, the host starts its own and closes them. */
  readonly services?: Services;
  /** Seconds of production in milliseconds here. */
  readonly retry?: Partial<RetryTimes>;
  /** Event calls at once; without, any number. */
  readonly concurrency?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface UntilOptions {
  /** How far the clock moves between two looks. */
  readonly stepMs?: number;
  /** How often to look before giving up. */
  readonly rounds?: number;
  /** Whether the scheduled function runs after each step. */
  readonly reconcile?: boolean;
}

const probeTrigger = 'kiln-host-probe';
const probeCollection = 'kilnHostProbes';

/**
 * Runs exported functions against the real Firestore emulator as production would: events acknowledged at once and handled
 * at the same time, redelivered when a function fails, with seeded faults on the way; tasks from the Cloud Tasks double,
 * whose clock it moves.
 */
export class FaultHost {
  readonly projectId: string;
  readonly firestoreHost: string;
  readonly services: Services;
  /** What the functions read and wrote, per function; the test's own access is not in it. */
  readonly usage: UsageCounter;
  readonly #runner: FunctionsRunner;
  readonly #deliveries: Deliveries;
  readonly #probes = new Map<string, () => void>();
  readonly #close: () => Promise<void>;
  #rings = 0;
  #ringsLive = 0;
  #client: Firestore | undefined;

  constructor(parts: {
    readonly options: HostOptions;
    readonly firestoreHost: string;
    readonly services: Services;
    readonly usage: UsageCounter;
    readonly runner: FunctionsRunner;
    readonly close: () => Promise<void>;
  }) {
    const { options, services, runner } = parts;
    this.projectId = options.projectId;
    this.firestoreHost = parts.firestoreHost;
    this.services = services;
    this.usage = parts.usage;
    this.#runner = runner;
    this.#close = parts.close;
    this.#deliveries = new Deliveries({
      seed: options.seed ?? '1',
      ...(options.faults === undefined ? {} : { faults: options.faults }),
      ...(options.retry === undefined ? {} : { retry: options.retry }),
      ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
      invoke: (event) => this.#invoke(event),
      kill: () => void this.#runner.kill().catch(() => undefined),
    });
    services.tasks.tasks.attach({
      dispatch: (ring) => this.#ring(ring),
      moved: (offset) => this.#runner.setEnv({ KILN_CLOCK_OFFSET_MS: String(offset) }),
      settled: () => this.#settleEvents(),
    });
  }

  get functions(): readonly DeployedFunction[] {
    return this.#runner.manifest;
  }

  get counters(): Readonly<DeliveryCounters> {
    return this.#deliveries.counters;
  }

  /** Why the last event calls failed, newest last. */
  get failures(): readonly string[] {
    return this.#deliveries.failures;
  }

  /** The process of the functions, where they run in one of their own. */
  get pid(): number | undefined {
    return this.#runner.pid;
  }

  setFaults(faults: Partial<EventFaults>): void {
    this.#deliveries.setFaults(faults);
  }

  /** What the functions wrote to their output last; empty where they run in this process. */
  log(): string {
    return this.#runner.log();
  }

  /** A client for the test itself: what it does is not counted. */
  firestore(): Firestore {
    this.#client ??= new (firestorePackage().Firestore)({
      projectId: this.projectId,
      host: this.firestoreHost,
      ssl: false,
      customHeaders: { Authorization: 'Bearer owner' },
    });
    return this.#client;
  }

  /** The address of a function that answers HTTP; stays the same when the process is replaced. */
  url(functionName: string): string {
    const fn = this.functions.find((each) => each.name === functionName);
    if (fn === undefined)
      throw new Error(`The module exports no function "${functionName}". It has: ${this.functions.map((each) => each.name).join(', ')}.`);
    return `${this.#runner.url}/${this.projectId}/${fn.region}/${functionName}`;
  }

  /** Calls a function over HTTP once its process is there. `path` begins with a slash. */
  async request(functionName: string, path = '', init: RequestInit = {}): Promise<Response> {
    await this.#runner.ready();
    return fetch(`${this.url(functionName)}${path}`, init);
  }

  /** Calls a callable function the way the client SDK does; throws its error. */
  async call(functionName: string, data: unknown, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const response = await this.request(functionName, '', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ data }),
    });
    const answer = (await response.json()) as {
      readonly result?: unknown;
      readonly error?: { readonly status: string; readonly message: string; readonly details?: unknown };
    };
    if (answer.error !== undefined)
      throw Object.assign(new Error(answer.error.message), { status: answer.error.status, details: answer.error.details });
    return answer.result;
  }

  /** Runs the scheduled function, of which the platform would run one each minute, and waits for what it started. */
  async reconcile(functionName?: string): Promise<void> {
    const scheduled = this.functions.find((fn) => fn.kind === 'schedule' && (functionName === undefined || fn.name === functionName));
    if (scheduled === undefined)
      throw new Error(`The module exports no scheduled function${functionName === undefined ? '' : ` "${functionName}"`}.`);
    const now = new Date(this.services.tasks.tasks.clock.now()).toISOString();
    const headers = { 'x-cloudscheduler-jobname': scheduled.name, 'x-cloudscheduler-scheduletime': now };
    // A process that is killed meanwhile ends this run of the schedule; the platform would start the next in a minute.
    const response = await this.request(scheduled.name, '', { method: 'POST', headers }).catch(() => undefined);
    await response?.arrayBuffer().catch(() => undefined);
    if (response?.ok === false) throw new Error(`The scheduled function ${scheduled.name} failed with ${response.status}.\n${this.log()}`);
    await this.idle();
  }

  /** Moves time for tasks and functions; everything due on the way happens at its moment. */
  async advance(ms: number): Promise<void> {
    await this.idle();
    await this.services.tasks.tasks.advance(ms);
    await this.idle();
  }

  /**
   * Resolves when nothing is on its way: no event undelivered, held or in flight, and no ring unanswered. A document of the
   * host's own shows that the emulator has delivered everything before it. What waits for a later time does not count.
   */
  async idle(): Promise<void> {
    const { tasks } = this.services.tasks;
    for (;;) {
      const before = this.#activity();
      await this.#settleEvents();
      await tasks.idle();
      await this.#probe();
      if (this.#activity() === before && this.#ringsLive === 0) return;
    }
  }

  /** Lets time pass until the condition holds; says what is still there when it does not come true. */
  async until(condition: () => Promise<boolean>, options: UntilOptions = {}): Promise<void> {
    const { stepMs = 60_000, rounds = 60, reconcile = true } = options;
    for (let round = 0; round < rounds; round += 1) {
      await this.idle();
      if (await condition()) return;
      await this.advance(stepMs);
      if (reconcile) await this.reconcile();
    }
    if (await condition()) return;
    throw new Error(
      `The condition did not come true in ${rounds} rounds of ${stepMs} ms. Events: ${JSON.stringify(this.counters)}; tasks: ${JSON.stringify(this.services.tasks.tasks.stats())}.`,
    );
  }

  /** SIGKILL for the functions' process; resolves when its successor is there. Events and rings in flight come again. */
  kill(): Promise<void> {
    return this.#runner.kill();
  }

  /** Deletes the project's documents. */
  async clear(): Promise<void> {
    const response = await fetch(`http://${this.firestoreHost}/emulator/v1/projects/${this.projectId}/databases/(default)/documents`, {
      method: 'DELETE',
    });
    if (!response.ok) throw new Error(`The emulator did not clear ${this.projectId}: ${response.status}.`);
  }

  async close(): Promise<void> {
    this.#deliveries.close();
    await this.#client?.terminate();
    await this.#close();
  }

  /** For the router: an event of this project. */
  receive(delivery: RawDelivery): void {
    if (delivery.triggerId === probeTrigger) {
      const id = delivery.headers['ce-document']?.split('/').pop() ?? '';
      this.#probes.get(id)?.();
      return;
    }
    const fn = this.functions.find((each) => each.name === delivery.triggerId);
    if (fn?.kind !== 'document') return;
    this.#deliveries.receive({ functionName: fn.name, retry: fn.retry, headers: delivery.headers, body: delivery.body });
  }

  /** Registers what the module watches, and the host's own probe. */
  async watch(): Promise<void> {
    const created = 'google.cloud.firestore.document.v1.created';
    const probe = {
      triggerId: probeTrigger,
      eventType: created,
      database: '(default)',
      namespace: '(default)',
      document: `${probeCollection}/{id}`,
    };
    const watched = this.functions.flatMap((fn) => (fn.kind === 'document' ? [{ ...fn, triggerId: fn.name }] : []));
    for (const trigger of [...watched, probe]) await registerTrigger(this.firestoreHost, this.projectId, trigger);
  }

  #activity(): number {
    return this.#deliveries.activity + this.#rings;
  }

  /** Until the emulator has delivered what was written, and all of it was handled. */
  async #settleEvents(): Promise<void> {
    for (;;) {
      const before = this.#deliveries.activity;
      await this.#deliveries.idle();
      await this.#probe();
      if (this.#deliveries.activity === before) return;
    }
  }

  async #probe(): Promise<void> {
    const id = randomBytes(8).toString('hex');
    const arrived = new Promise<void>((resolve) => this.#probes.set(id, resolve));
    try {
      const url = `http://${this.firestoreHost}/v1/projects/${this.projectId}/databases/(default)/documents/${probeCollection}?documentId=${id}`;
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer owner' },
        body: '{"fields":{}}',
      });
      if (!response.ok) throw new Error(`The emulator refused the host's probe: ${response.status} ${await response.text()}`);
      await arrived;
    } finally {
      this.#probes.delete(id);
    }
  }

  async #invoke(event: FunctionEvent): Promise<void> {
    await this.#runner.ready();
    const headers = Object.fromEntries(Object.entries(event.headers).filter(([name]) => name.startsWith('ce-')));
    const started = performance.now();
    const response = await fetch(`${this.#runner.url}/__event/${event.functionName}`, {
      method: 'POST',
      headers,
      ...(event.body.length === 0 ? {} : { body: new Uint8Array(event.body) }),
    });
    const text = await response.text();
    this.usage.busyMs += performance.now() - started;
    if (!response.ok) throw new Error(text);
  }

  /** A ring goes to the function of the queue's name, as Firebase names a task queue function's queue. */
  async #ring(ring: TaskDelivery): Promise<TaskAnswer> {
    this.#rings += 1;
    this.#ringsLive += 1;
    try {
      await this.#runner.ready();
      const name = ring.queue.split('/').at(-1) ?? '';
      const response = await fetch(this.url(name), {
        method: ring.method,
        headers: { ...ring.headers },
        ...(ring.body.length === 0 ? {} : { body: new Uint8Array(ring.body) }),
        signal: ring.signal,
      });
      await response.arrayBuffer();
      return { status: response.status };
    } finally {
      this.#rings += 1;
      this.#ringsLive -= 1;
    }
  }
}

export async function startHost(options: HostOptions): Promise<FaultHost> {
  if ((options.faults?.kill ?? 0) > 0 && options.worker !== true) throw new Error('The fault "kill" needs worker: true.');
  const undo: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const surroundings = await findSurroundings();
    undo.push(() => surroundings.close());
    const services = options.services ?? (await startServices());
    if (options.services === undefined) undo.push(() => services.close());
    const usage = new UsageCounter();
    const run = options.worker === true ? runInWorker : runInProcess;
    const runner = await run({
      module: options.functions,
      env: { ...functionsEnvironment(options.projectId, surroundings.firestoreHost, services), ...options.env },
      onUsage: (event) => usage.add(event),
      onInvocation: (functionName) => usage.invoked(functionName),
    });
    undo.push(() => runner.close());
    const host = new FaultHost({ options, firestoreHost: surroundings.firestoreHost, services, usage, runner, close: closeAll });
    const receiver = await startLocalServer({
      handle: (request, response) => {
        const delivery = readDelivery(request);
        sendJson(response, 200, {});
        if (delivery !== undefined) host.receive(delivery);
      },
    });
    undo.push(() => receiver.close());
    undo.push(await takeEvents(surroundings.routerUrl, options.projectId, receiver.url));
    await host.watch();
    return host;
  } catch (error) {
    await closeAll();
    throw error;
  }
}
