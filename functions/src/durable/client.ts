import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import { newRunWrites } from '../ledger/new-run.ts';
import { loadPayload } from '../ledger/payloads.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { Payload } from '../model/payload.ts';
import type { StartedBy } from '../model/run.ts';
import { startRun } from '../runner/runs.ts';
import type { StartPolicy } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { CodeWorkflow } from './define-workflow.ts';
import { runResult, watchRun } from './run-result.ts';
import type { Listen, RunHandle, RunResult, Watcher } from './run-result.ts';

export interface ClientOptions {
  readonly runtime: Runtime;
  readonly accountId: string;
  /** Who starts runs, for the record. */
  readonly by: StartedBy;
  /** Needed by `watch`: `listenWith(firestore)`. */
  readonly listen?: Listen;
}

export interface StartOptions {
  /** The same key is the same run, as far as `policy` says. */
  readonly startKey?: string;
  readonly policy?: StartPolicy;
  readonly version?: number;
}

/** A transaction of the team's own: the database client's, or anything with these two verbs. */
export interface OwnTransaction<R> {
  create(ref: R, data: object): unknown;
  set(ref: R, data: object): unknown;
}

/** Starts and follows runs from the team's own server code. Input and output types follow from the workflow. */
export class Runs {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async start<I, O, P>(
    workflow: CodeWorkflow<I, O, P>,
    input: P,
    options?: StartOptions,
  ): Promise<RunHandle<O> & { readonly reused: boolean }>;
  async start(workflow: string, input: unknown, options?: StartOptions): Promise<RunHandle & { readonly reused: boolean }>;
  async start(
    workflow: string | { readonly id: string },
    input: unknown,
    options: StartOptions = {},
  ): Promise<RunHandle<never> & { readonly reused: boolean }> {
    const { runtime, accountId, by } = this.#options;
    const started = await startRun(runtime, {
      accountId,
      workflowId: idOf(workflow),
      input: parseJson(canonicalJson(input)),
      startedBy: by,
      ...options,
    });
    return { accountId, ...started };
  }

  /**
   * Starts a run in the team's own transaction: both happen, or neither. With a start key, a second start under it fails the
   * transaction. `ref` makes a reference of a path, such as `firestore.doc`.
   */
  async startIn<R, I, O, P>(
    tx: OwnTransaction<R>,
    ref: (path: string) => R,
    workflow: CodeWorkflow<I, O, P>,
    input: P,
    options: Pick<StartOptions, 'startKey' | 'version'> = {},
  ): Promise<RunHandle<O>> {
    const { runtime, accountId, by } = this.#options;
    const latest = await runtime.definitions.latest(accountId, workflow.id);
    const { startKey, version = latest.version } = options;
    const runId = startKey === undefined ? runtime.token() : digest(`${workflow.id}/${startKey}`).slice(0, 32);
    const writes = newRunWrites({
      accountId,
      runId,
      workflowId: workflow.id,
      pinned: { ...latest, version },
      input: canonicalJson(input),
      startedBy: by,
      now: runtime.clock.now(),
    });
    for (const write of writes) {
      if (write.op === 'create') tx.create(ref(write.path), write.data);
      else if (write.op === 'set') tx.set(ref(write.path), write.data);
      else throw new KilnError('internal', 'a start only creates documents');
    }
    return { accountId, runId };
  }

  /** How a run stands now. Throws `run.not_found`. */
  async result<O>(run: RunHandle<O>): Promise<RunResult<O>> {
    const { docs } = await this.#options.runtime.store.get([paths.run(run.accountId, run.runId)]);
    if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${run.runId} does not exist`);
    return runResult<O>(docs[0].data, (payload) => this.#load(run, payload));
  }

  /** Tells of each change, the last one being the run's end. The returned function stops it. */
  watch<O>(run: RunHandle<O>, watcher: Watcher<O> | Watcher<O>['changed']): () => void {
    const { listen } = this.#options;
    if (listen === undefined) throw new KilnError('request.invalid', 'the client was made without "listen"');
    const full = typeof watcher === 'function' ? { changed: watcher } : watcher;
    return watchRun(listen, paths.run(run.accountId, run.runId), (payload) => this.#load(run, payload), full);
  }

  #load(run: RunHandle, payload: Payload): Promise<string> {
    return loadPayload(this.#options.runtime.store, run, payload);
  }
}

function idOf(workflow: string | { readonly id: string }): string {
  return typeof workflow === 'string' ? workflow : workflow.id;
}

interface ListenableDocument {
  onSnapshot(next: (snapshot: { data(): unknown }) => void, failed: (error: Error) => void): () => void;
}

/** Listens with the Admin SDK's client, or anything of its shape. */
export function listenWith(firestore: { doc(path: string): ListenableDocument }): Listen {
  return (path, changed, failed) => firestore.doc(path).onSnapshot((snapshot) => changed(snapshot.data()), failed);
}
