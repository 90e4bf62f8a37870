import { parseDuration } from '../engine/duration.ts';
import { canonicalJson, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { ReplayingPlanner } from '../durable/code-planner.ts';
import { WorkflowRegistry } from '../durable/define-workflow.ts';
import type { AnyCodeWorkflow, CodeWorkflow } from '../durable/define-workflow.ts';
import { eventRecord } from '../ledger/events.ts';
import { StoredMembers } from '../ledger/members.ts';
import type { MemoryStoreHooks } from '../ledger/memory-store.ts';
import { loadPayload, storePayload } from '../ledger/payloads.ts';
import { StoreConflict } from '../ledger/store.ts';
import type { Write } from '../ledger/store.ts';
import { approvalRecordSchema } from '../model/approval.ts';
import type { ApprovalRecord } from '../model/approval.ts';
import { commandDocument, decisionDocument } from '../model/client-documents.ts';
import type { CommandKind } from '../model/command.ts';
import type { MemberRecord } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { attend } from '../runner/attend.ts';
import { startRun } from '../runner/runs.ts';
import type { StartRequest } from '../runner/runs.ts';
import type { RunnerEvent, Runtime } from '../runner/runtime.ts';
import { ActionRegistry } from '../steps/action-registry.ts';
import type { Action } from '../steps/action-registry.ts';
import { createStepRegistry } from '../steps/index.ts';
import type { StepServices } from '../steps/step-type.ts';
import { MAX_HOP_MS } from '../timers/doorbells.ts';
import { reconcile } from '../timers/reconciler.ts';
import { MemoryHost } from './memory-host.ts';
import { StepStubs } from './step-stubs.ts';
import type { Stub } from './step-stubs.ts';
import { triggerRoutes } from './trigger-routes.ts';
import { givenDefinitions, memoryRuntime } from './memory-runtime.ts';

export interface TestKitOptions {
  /** Code workflows. */
  readonly workflows?: readonly AnyCodeWorkflow[];
  /** Graph workflows, by their ids. */
  readonly definitions?: Readonly<Record<string, unknown>>;
  readonly actions?: readonly Action[];
  readonly members?: readonly MemberRecord[];
  /** Documents of the team's own that are there already. */
  readonly documents?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly services?: Partial<StepServices>;
  readonly accountId?: string;
  /** When the test begins, ms since 1970 or ISO 8601. */
  readonly now?: number | string;
  readonly hooks?: Pick<MemoryStoreHooks, 'before' | 'after'>;
  readonly redelivers?: (error: unknown) => boolean;
  readonly concurrent?: boolean;
}

/** A started run. */
export interface TestRun<O = Json> {
  readonly runId: string;
  /** Carries the output's type. */
  readonly workflow: { readonly id: string; readonly output?: O };
}

type StartOptions = Partial<Pick<StartRequest, 'startKey' | 'policy' | 'version' | 'runId' | 'startedBy' | 'tainted'>>;

const ACCOUNT = 'test';
const START = Date.parse('2026-01-01T00:00:00Z');

/**
 * Runs workflows of both kinds in memory, with the runner that production has: no emulator, no waiting, a clock that the test
 * moves.
 */
export class TestKit {
  readonly host: MemoryHost;
  readonly accountId: string;
  /** What the runner noticed: failed and lost attempts, late results. */
  readonly noticed: RunnerEvent[] = [];
  readonly #stubs = new StepStubs();
  #planner: ReplayingPlanner;
  #registry: WorkflowRegistry;
  readonly #seeded: Promise<void>;
  #ready = false;
  #ids = 0;

  constructor(options: TestKitOptions = {}) {
    this.accountId = options.accountId ?? ACCOUNT;
    this.#registry = new WorkflowRegistry(options.workflows ?? []);
    this.#planner = this.#plannerOf(this.#registry);
    this.host = new MemoryHost({
      now: typeof options.now === 'string' ? Date.parse(options.now) : (options.now ?? START),
      routes: triggerRoutes,
      ring: (runtime, ref, hop) => attend(runtime, ref, { kind: 'doorbell', hop }),
      runtime: (base) => this.#runtimeOf(base, options),
      maxHopMs: MAX_HOP_MS,
      // Counting and faults begin with the test, not with what it finds there.
      hooks: {
        before: async (operation) => void (this.#ready && (await options.hooks?.before?.(operation))),
        after: async (operation) => void (this.#ready && (await options.hooks?.after?.(operation))),
      },
      ...(options.redelivers === undefined ? {} : { redelivers: options.redelivers }),
      ...(options.concurrent === undefined ? {} : { concurrent: options.concurrent }),
    });
    this.#seeded = this.#seed(options);
  }

  get runtime(): Runtime {
    return this.host.runtime;
  }

  get now(): number {
    return this.host.now;
  }

  /** Starts a run and lets it go on until it waits or has ended. */
  async start<I, O, P>(workflow: CodeWorkflow<I, O, P>, input: P, options?: StartOptions): Promise<TestRun<O>>;
  async start(workflow: string, input?: unknown, options?: StartOptions): Promise<TestRun>;
  async start(workflow: string | { readonly id: string }, input: unknown = null, options: StartOptions = {}): Promise<TestRun<never>> {
    await this.#seeded;
    const id = typeof workflow === 'string' ? workflow : workflow.id;
    const started = await startRun(this.runtime, {
      accountId: this.accountId,
      workflowId: id,
      input: parseJson(canonicalJson(input)),
      startedBy: { kind: 'user', id: 'starter' },
      ...options,
    });
    await this.host.settle();
    return { runId: started.runId, workflow: { id } };
  }

  /** Moves the clock; what falls due happens in its order. */
  advance(duration: number | string): Promise<void> {
    return this.host.advance(parseDuration(duration, 'advance'));
  }

  /** What the reconciler does each minute. */
  async reconcile(): Promise<void> {
    await reconcile(this.runtime);
    await this.host.settle();
  }

  /** Sends an event from outside. The same id twice is one event. */
  async sendEvent(name: string, payload: unknown = null, options: EventOptions = {}): Promise<void> {
    await this.#seeded;
    await this.runtime.store.commit(this.eventWrites(name, payload, options));
    await this.host.settle();
  }

  /** The same from a sender that was not told whether it had worked, and asks again. */
  async sendEventOnce(name: string, payload: unknown, options: EventOptions & { readonly eventId: string }): Promise<void> {
    await this.sendEvent(name, payload, options).catch((error: unknown) => {
      if (!(error instanceof StoreConflict)) throw error;
    });
  }

  /** The documents of an event, to be written when the test wants. */
  eventWrites(name: string, payload: unknown = null, { eventId = `event-${(this.#ids += 1)}`, ...options }: EventOptions = {}): Write[] {
    const text = canonicalJson(payload);
    const stored = storePayload({ accountId: this.accountId, runId: eventId }, '$event', text);
    const event = { ...options, eventId, name, payload: parseJson(text), source: 'test' };
    const record = eventRecord(this.accountId, event, stored.payload, this.runtime.clock.now());
    return [{ op: 'create', path: paths.event(this.accountId, eventId), data: record }, ...stored.writes];
  }

  approve(run: TestRun<unknown>, by: string, options: DecisionOptions = {}): Promise<void> {
    return this.decide(run, by, 'approve', options);
  }

  reject(run: TestRun<unknown>, by: string, options: DecisionOptions = {}): Promise<void> {
    return this.decide(run, by, 'reject', { comment: 'no', ...options });
  }

  /** Decides a request as one of the account's members would. `step` is needed where several requests are open. */
  async decide(run: TestRun<unknown>, by: string, outcome: string, { step, comment, values }: DecisionOptions): Promise<void> {
    const open = (await this.approvals(run)).filter(
      (approval) => approval.status === 'pending' && (step === undefined || approval.stepKey === step),
    );
    const [approval, another] = open;
    if (approval === undefined) throw new Error(`no request for a decision is open${step === undefined ? '' : ` at "${step}"`}`);
    if (another !== undefined) throw new Error(`several requests are open; name one of: ${open.map(({ stepKey }) => stepKey).join(', ')}`);
    const { approvalId } = approval;
    const data = decisionDocument({
      accountId: this.accountId,
      approvalId,
      by,
      at: this.now,
      outcome,
      digest: approval.digest,
      ...(comment === undefined ? {} : { comment }),
      ...(values === undefined ? {} : { values: canonicalJson(values) }),
    });
    await this.host.store.commit([{ op: 'create', path: paths.decision(this.accountId, approvalId, by), data }]);
    await this.host.settle();
  }

  async approvals(run: TestRun<unknown>): Promise<readonly ApprovalRecord[]> {
    const { docs } = await this.host.store.query({
      from: paths.approvals(this.accountId),
      where: [['runId', '==', run.runId]],
      limit: 500,
    });
    return docs.map((doc) => approvalRecordSchema.parse(doc.data));
  }

  /** An operator's command, about the run or one of its steps. */
  async command(run: TestRun<unknown>, kind: CommandKind, reason = 'the test asks for it', stepKey?: string): Promise<void> {
    const id = `command-${(this.#ids += 1)}`;
    const about = { accountId: this.accountId, runId: run.runId, ...(stepKey === undefined ? {} : { stepKey }) };
    const data = commandDocument({ ...about, by: 'operator', at: this.now, kind, reason });
    await this.host.store.commit([{ op: 'create', path: paths.command(this.accountId, run.runId, id), data }]);
    await this.host.settle();
  }

  /** Sets an unresolved step going again. */
  retryStep(run: TestRun<unknown>, key: string): Promise<void> {
    return this.command(run, 'retry', 'the test asks for it', key);
  }

  /** Performs a step by this function instead. Holds for every run; the name is that of the step, without `#2`. */
  mockStep(name: string, fn: Stub): void {
    this.#stubs.mock(name, fn);
  }

  /** Lets the next attempts of a step fail. */
  failStep(name: string, times: number, error: Error = new Error('the test lets it fail')): void {
    this.#stubs.fail(name, times, error);
  }

  /** Puts other code in place of what is deployed, as a deployment does while runs are under way. */
  deploy(workflows: readonly AnyCodeWorkflow[]): void {
    this.#registry = new WorkflowRegistry(workflows);
    this.#planner = this.#plannerOf(this.#registry);
  }

  /** Forgets what an instance has cached, as if the next event came to a new one. */
  useColdInstance(): void {
    this.#planner = this.#plannerOf(this.#registry);
  }

  get planner(): ReplayingPlanner {
    return this.#planner;
  }

  /** The output of a run that has completed; throws what it failed with. */
  async result<O>(run: TestRun<O>): Promise<O> {
    const record = this.run(run);
    if (record.status === 'completed') {
      const text = record.output === undefined ? 'null' : await loadPayload(this.host.store, record, record.output);
      return parseJson(text) as O;
    }
    if (record.error !== undefined) throw new RunNotCompleted(record);
    throw new Error(`the run is ${record.status}; it waits at ${this.waitingAt(run).join(', ') || 'no step'}`);
  }

  run(run: TestRun<unknown>): RunRecord {
    const doc = this.host.store.peek(paths.run(this.accountId, run.runId));
    if (doc === undefined) throw new Error(`there is no run ${run.runId}`);
    return runRecordSchema.parse(doc.data);
  }

  /** The run's steps in the order of their creation. */
  steps(run: TestRun<unknown>): readonly StepRecord[] {
    const prefix = `${paths.steps(this.accountId, run.runId)}/`;
    return [...this.host.store.all()].filter((doc) => doc.path.startsWith(prefix)).map((doc) => stepRecordSchema.parse(doc.data));
  }

  step(run: TestRun<unknown>, key: string): StepRecord {
    const found = this.steps(run).find((step) => step.key === key);
    if (found === undefined)
      throw new Error(
        `there is no step "${key}"; there are: ${this.steps(run)
          .map((step) => step.key)
          .join(', ')}`,
      );
    return found;
  }

  /** `key: state` of each step, for assertions on the whole course of a run. */
  history(run: TestRun<unknown>): readonly string[] {
    return this.steps(run).map((step) => `${step.key}: ${step.state}${step.attempt > 1 ? ` after ${step.attempt} attempts` : ''}`);
  }

  waitingAt(run: TestRun<unknown>): readonly string[] {
    return this.steps(run)
      .filter((step) => ['ready', 'running', 'waiting', 'unresolved'].includes(step.state))
      .map((step) => step.key);
  }

  /** A document of the team's own. */
  document(path: string): Readonly<Record<string, unknown>> | undefined {
    return this.host.store.peek(path)?.data;
  }

  async setDocument(path: string, data: Readonly<Record<string, unknown>>): Promise<void> {
    await this.host.store.commit([{ op: 'set', path, data }]);
  }

  async #seed({ members = [], documents = {} }: TestKitOptions): Promise<void> {
    const seeds = [...members.map((member) => [paths.member(member.accountId, member.uid), member] as const), ...Object.entries(documents)];
    await this.host.store.commit(seeds.map(([path, data]) => ({ op: 'set', path, data })));
    this.#ready = true;
  }

  #plannerOf(registry: WorkflowRegistry): ReplayingPlanner {
    return new ReplayingPlanner(registry, (record, fn) => this.#stubs.around(record, fn));
  }

  #runtimeOf(base: Pick<Runtime, 'store' | 'clock' | 'doorbells'>, options: TestKitOptions): Runtime {
    const kit = (): TestKit => this;
    const services = { actions: new ActionRegistry(options.actions ?? []), members: new StoredMembers(base.store), ...options.services };
    return {
      ...memoryRuntime(base, {
        definitions: givenDefinitions(options.definitions ?? {}, { pinned: (id, version) => this.#registry.pinned(id, version) }),
        stepTypes: this.#stubs.registryOf(createStepRegistry()),
        services,
        observe: (event) => void this.noticed.push(event),
      }),
      // What is deployed may change during the test.
      get code() {
        return kit().planner;
      },
    };
  }
}

export interface EventOptions {
  readonly key?: string;
  /** Addressed to one run only. */
  readonly runId?: string;
  readonly eventId?: string;
}

export interface DecisionOptions {
  readonly step?: string;
  readonly comment?: string;
  /** The values as corrected, where the request has a form. */
  readonly values?: unknown;
}

/** A run that ended otherwise than by completing. */
export class RunNotCompleted extends Error {
  override readonly name = 'RunNotCompleted';
  readonly run: RunRecord;

  constructor(run: RunRecord) {
    super(`the run is ${run.status}: ${run.error?.code ?? ''} ${run.error?.message ?? ''}`);
    this.run = run;
  }
}

export function createTestKit(options: TestKitOptions = {}): TestKit {
  return new TestKit(options);
}
