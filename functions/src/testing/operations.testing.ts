import { parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { publishWorkflow, StoredDefinitions } from '../ledger/definitions.ts';
import { readHistory } from '../ledger/history.ts';
import type { MemoryStoreHooks } from '../ledger/memory-store.ts';
import { loadPayload } from '../ledger/payloads.ts';
import type { Store } from '../ledger/store.ts';
import { commandDocument } from '../model/client-documents.ts';
import { commandRecordSchema } from '../model/command.ts';
import type { CommandKind, CommandRecord } from '../model/command.ts';
import { historyEntrySchema } from '../model/history.ts';
import type { HistoryEntry } from '../model/history.ts';
import type { MemberRecord } from '../model/member.ts';
import type { OutboxRecord } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { attend } from '../runner/attend.ts';
import { startRun } from '../runner/runs.ts';
import type { RunFollower, Runtime } from '../runner/runtime.ts';
import type { Action } from '../steps/action-registry.ts';
import type { StepRegistry } from '../steps/registry.ts';
import { MAX_HOP_MS } from '../timers/doorbells.ts';
import { reconcile } from '../timers/reconciler.ts';
import { MemoryHost } from './memory-host.ts';
import type { Route } from './memory-host.ts';
import { memoryRuntime } from './memory-runtime.ts';
import { triggerRoutes } from './trigger-routes.ts';
import type { Deliver } from '../ledger/outbox.ts';

export const ACCOUNT = 'acme';
export const START = Date.parse('2026-03-02T09:00:00Z');

export interface OperationsOptions {
  readonly actions?: readonly Action[];
  readonly members?: readonly MemberRecord[];
  readonly followers?: readonly RunFollower[];
  readonly hooks?: Pick<MemoryStoreHooks, 'before' | 'after'>;
  readonly redelivers?: (error: unknown) => boolean;
  readonly concurrent?: boolean;
  /** Around each delivery of a creation: to make some twice. */
  readonly around?: (route: Route) => Route;
  /** What stands between the runtime and its store. */
  readonly store?: (store: Store) => Store;
  readonly afterRing?: () => Promise<void>;
  /** The step types of this deployment. */
  readonly stepTypes?: StepRegistry;
}

export interface CommandOptions {
  readonly stepKey?: string;
  readonly argument?: unknown;
  readonly by?: string;
  readonly reason?: string;
  readonly id?: string;
}

/** An account with published versions, operators and members, in memory: for what happens to runs from outside. */
export class Operations {
  readonly host: MemoryHost;
  readonly sent: OutboxRecord[] = [];
  #commands = 0;

  constructor(options: OperationsOptions = {}) {
    const around = options.around ?? ((route: Route) => route);
    this.host = new MemoryHost({
      now: START,
      routes: Object.fromEntries(Object.entries(triggerRoutes).map(([name, route]) => [name, around(route)])),
      ring: async (runtime, ref, hop) => {
        await attend(runtime, ref, { kind: 'doorbell', hop });
        await options.afterRing?.();
      },
      maxHopMs: MAX_HOP_MS,
      runtime: (base) => this.#runtimeOf(base, options),
      ...(options.hooks === undefined ? {} : { hooks: options.hooks }),
      ...(options.redelivers === undefined ? {} : { redelivers: options.redelivers }),
      ...(options.concurrent === undefined ? {} : { concurrent: options.concurrent }),
    });
  }

  get runtime(): Runtime {
    return this.host.runtime;
  }

  async hire(...members: readonly MemberRecord[]): Promise<void> {
    await this.host.store.commit(members.map((member) => ({ op: 'set', path: paths.member(member.accountId, member.uid), data: member })));
  }

  /** Publishes the next version of a workflow. */
  async publish(id: string, definition: object): Promise<number> {
    const whole = Array.isArray(definition) ? { id, steps: definition as object[] } : { id, ...definition };
    const { runtime } = this;
    const publisher = {
      store: runtime.store,
      types: runtime.stepTypes,
      code: { pinned: () => undefined },
      now: () => runtime.clock.now(),
    };
    return (await publishWorkflow(publisher, { accountId: ACCOUNT, definition: whole, publishedBy: 'author' })).version;
  }

  async start(workflowId: string, input: Json = {}, runId?: string, traceparent?: string): Promise<string> {
    const started = await startRun(this.runtime, {
      accountId: ACCOUNT,
      workflowId,
      input,
      startedBy: { kind: 'user', id: 'starter' },
      ...(runId === undefined ? {} : { runId }),
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    await this.host.settle();
    return started.runId;
  }

  /** What an operator asks, as the app writes it; returns what came of it. */
  async command(runId: string, kind: CommandKind, options: CommandOptions = {}): Promise<CommandRecord> {
    const id = await this.ask(runId, kind, options);
    await this.host.settle();
    return this.commandOf(runId, id);
  }

  /** The same without anybody carrying it out yet. */
  async ask(runId: string, kind: CommandKind, options: CommandOptions = {}): Promise<string> {
    const { stepKey, argument, by = 'op', reason = 'the test asks for it', id = `c${(this.#commands += 1)}` } = options;
    const data = commandDocument({
      accountId: ACCOUNT,
      runId,
      by,
      at: this.host.now,
      kind,
      reason,
      ...(stepKey === undefined ? {} : { stepKey }),
      ...(argument === undefined ? {} : { argument: JSON.stringify(argument) }),
    });
    await this.host.store.commit([{ op: 'create', path: paths.command(ACCOUNT, runId, id), data }]);
    return id;
  }

  commandOf(runId: string, id: string): CommandRecord {
    return commandRecordSchema.parse(this.host.store.peek(paths.command(ACCOUNT, runId, id))?.data);
  }

  async reconcile(): Promise<void> {
    await reconcile(this.runtime);
    await this.host.settle();
  }

  run(runId: string): RunRecord {
    return runRecordSchema.parse(this.host.store.peek(paths.run(ACCOUNT, runId))?.data);
  }

  async output(runId: string): Promise<Json | undefined> {
    const { output } = this.run(runId);
    return output === undefined ? undefined : parseJson(await loadPayload(this.host.store, { accountId: ACCOUNT, runId }, output));
  }

  steps(runId: string): readonly StepRecord[] {
    const prefix = `${paths.steps(ACCOUNT, runId)}/`;
    return [...this.host.store.all()].filter((doc) => doc.path.startsWith(prefix)).map((doc) => stepRecordSchema.parse(doc.data));
  }

  step(runId: string, key: string): StepRecord {
    const found = this.steps(runId).find((step) => step.key === key);
    if (found === undefined) throw new Error(`there is no step "${key}": ${Object.keys(this.states(runId)).join(', ')}`);
    return found;
  }

  states(runId: string): Record<string, string> {
    return Object.fromEntries(this.steps(runId).map((step) => [step.key, step.state]));
  }

  async history(runId: string): Promise<readonly HistoryEntry[]> {
    return (await readHistory(this.host.store, paths.historyOf(ACCOUNT, runId))).map((entry) => historyEntrySchema.parse(entry));
  }

  /** Documents of a collection of the account. */
  docs(collection: string): readonly Readonly<Record<string, unknown>>[] {
    const prefix = `${paths.account(ACCOUNT)}/${collection}/`;
    return [...this.host.store.all()]
      .filter(({ path }) => path.startsWith(prefix) && !path.slice(prefix.length).includes('/'))
      .map(({ data }) => data);
  }

  #runtimeOf(base: Pick<Runtime, 'store' | 'clock' | 'doorbells'>, options: OperationsOptions): Runtime {
    const store = options.store?.(base.store) ?? base.store;
    const send: Deliver = (_runtime, record) => Promise.resolve(void this.sent.push(record));
    return memoryRuntime(base, {
      store,
      definitions: new StoredDefinitions(store, { pinned: () => undefined }),
      actions: options.actions ?? [],
      deliveries: { mail: send, webhook: send },
      followers: options.followers ?? [],
      ...(options.stepTypes === undefined ? {} : { stepTypes: options.stepTypes }),
    });
  }
}

/** A member with sensible fields. */
export function member(uid: string, roles: MemberRecord['roles'], more: Partial<MemberRecord> = {}): MemberRecord {
  return {
    v: 1,
    accountId: ACCOUNT,
    uid,
    email: `${uid}@acme.example`,
    name: uid,
    roles,
    departments: [],
    active: true,
    updatedAt: START,
    updatedBy: 'test',
    ...more,
  };
}
