import { randomBytes } from 'node:crypto';
import type { CloudTasksClient } from '@google-cloud/tasks';
import { getApps, initializeApp } from 'firebase-admin/app';
import { getFirestore } from 'firebase-admin/firestore';
import { logger } from 'firebase-functions';
import { DatabaseClock, observed } from '../ledger/clock.ts';
import { StoredDefinitions } from '../ledger/definitions.ts';
import { deliverDestinations } from '../ledger/destinations.ts';
import { FirestoreStore } from '../ledger/firestore-store.ts';
import { KilnError } from '../model/errors.ts';
import { codePlanner, codeWorkflows } from '../durable/index.ts';
import { StoredControl } from '../runner/control.ts';
import { operationFollowers } from '../runner/followers.ts';
import type { Doorbells, Runtime, TimeLimit } from '../runner/runtime.ts';
import { createStepRegistry } from '../steps/index.ts';
import type { Action } from '../steps/action-registry.ts';
import { CloudTasksDoorbells } from '../timers/doorbells.ts';
import { TickingDoorbells } from '../timers/ticker.ts';
import { reconcile } from '../timers/reconciler.ts';
import { logRunnerEvent } from '../telemetry/log.ts';
import { otlpSink } from '../telemetry/otlp.ts';
import { TracedStore } from '../telemetry/traced-store.ts';
import { metered, usage } from '../telemetry/usage.ts';
import { actions } from '../workflows/actions.ts';
import { readConfig } from './config.ts';
import type { Config } from './config.ts';
import { deliveriesOf } from './deliveries.ts';
import { createServices } from './services.ts';

let runtime: Runtime | undefined;
let traces: TracedStore | undefined;
let ownActions: readonly Action[] = actions;

/** A host that brings actions of its own, such as a test's, says so before the first event arrives. */
export function useActions(more: readonly Action[]): void {
  ownActions = [...actions, ...more];
  runtime = undefined;
}

/** The instance's runtime, made when the first event arrives: discovery at deploy time opens no client. */
export function productionRuntime(): Runtime {
  runtime ??= createRuntime(readConfig(process.env));
  return runtime;
}

/** What is left to do when a handler is done, while the instance still has the processor: send traces, say what was used. */
export async function finishInvocation(): Promise<void> {
  await flushTraces();
  countInvocation();
}

export async function flushTraces(): Promise<void> {
  await traces?.flush();
}

/** Logs what this process has used so far, where the deployment asks for it. */
function countInvocation(): void {
  if (process.env['KILN_COUNT_USAGE'] !== 'true') return;
  usage.invocations += 1;
  logger.info(`kiln usage ${JSON.stringify({ pid: process.pid, ...usage })}`);
}

/** The emulators' clock can be moved: by as much as the local task queue was told. */
function movedClock(): number {
  return Number(process.env['KILN_CLOCK_OFFSET_MS'] ?? 0);
}

/** For test hosts: the same runtime with another clock or services. */
export function createRuntime(config: Config, replace: Partial<Runtime> & { readonly offset?: () => number } = {}): Runtime {
  const app = getApps()[0] ?? initializeApp({ projectId: config.project });
  const { offset, ...overrides } = replace;
  const clock = new DatabaseClock(() => Date.now(), offset ?? (config.emulated ? movedClock : undefined));
  const firestore = new FirestoreStore(getFirestore(app));
  const counted = config.countUsage ? metered(firestore) : firestore;
  traces =
    config.otlpEndpoint === undefined
      ? undefined
      : new TracedStore(counted, otlpSink({ endpoint: config.otlpEndpoint, serviceName: 'kiln' }));
  const store = observed(traces ?? counted, clock);
  const made: Runtime = {
    store,
    clock,
    random: Math.random,
    token: () => randomBytes(15).toString('base64url').replaceAll('-', 'a').replaceAll('_', 'b'),
    doorbells: { arm: () => Promise.reject(new KilnError('internal', 'no doorbells are configured')) },
    limitTime,
    definitions: new StoredDefinitions(store, codeWorkflows()),
    stepTypes: createStepRegistry(),
    services: createServices(config, store, getFirestore(app), ownActions),
    code: codePlanner,
    control: new StoredControl(store, () => clock.now()),
    followers: [deliverDestinations, ...operationFollowers],
    deliveries: deliveriesOf(config),
    observe: logRunnerEvent,
    ...overrides,
  };
  if (overrides.doorbells !== undefined) return made;
  const ready: Runtime = { ...made, doorbells: doorbellsOf(config, clock, () => reconcile(ready)) };
  return ready;
}

function doorbellsOf(config: Config, clock: DatabaseClock, tick: () => Promise<unknown>): Doorbells {
  if (config.emulated && config.tasksEmulator === undefined) {
    logger.info('kiln: no Cloud Tasks here; timers are rung by the reconciler, about a second late');
    return new TickingDoorbells(tick);
  }
  const { project, region, tasksEmulator } = config;
  const url =
    tasksEmulator === undefined
      ? `https://${region}-${project}.cloudfunctions.net/doorbell`
      : `http://${config.functionsEmulator}/${project}/${region}/doorbell`;
  const account = tasksEmulator === undefined ? { serviceAccount: config.serviceAccount } : {};
  return new CloudTasksDoorbells(tasksClient(tasksEmulator, project), { project, region, queue: 'doorbell', url, ...account }, () =>
    clock.now(),
  );
}

/** One client an instance, made when the first doorbell is armed. REST: it loads faster than gRPC and is what the local double speaks. */
function tasksClient(emulator: string | undefined, project: string): () => Promise<CloudTasksClient> {
  let client: Promise<CloudTasksClient> | undefined;
  return () => (client ??= connect());

  async function connect(): Promise<CloudTasksClient> {
    const { CloudTasksClient: Client } = await import('@google-cloud/tasks');
    if (emulator === undefined) return new Client({ fallback: true });
    const { PassThroughClient } = await import('google-auth-library');
    const [host = '127.0.0.1', port = '9499'] = emulator.split(':');
    // The client's types know another copy of the auth library; the object is the same at run time.
    const authClient = new PassThroughClient() as never;
    return new Client({ fallback: true, protocol: 'http', apiEndpoint: host, port: Number(port), projectId: project, authClient });
  }
}

const WANTED_EVERY_MS = 5_000;

/** Runs work under a limit. The signal reaches the SDK calls; work that ignores it is left behind. */
export const limitTime: TimeLimit = async (ms, work, wanted) => {
  const controller = new AbortController();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (error: KilnError): void => {
    controller.abort(error);
    reject(error);
  };
  const timer = setTimeout(() => stop(new KilnError('step.timeout', `the attempt took longer than ${ms} ms`)), ms);
  const check = async (): Promise<void> => {
    // A failed look says nothing; the next one may.
    const still = await wanted().catch(() => true);
    if (!still) stop(new KilnError('run.cancelled', 'the step is no longer wanted'));
  };
  const watch = setInterval(() => void check(), WANTED_EVERY_MS);
  try {
    return await Promise.race([work(controller.signal), stopped]);
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
  }
};
