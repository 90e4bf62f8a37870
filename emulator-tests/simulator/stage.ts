import { WorkflowRegistry } from '../../functions/src/durable/define-workflow.ts';
import { indexDefinition } from '../../functions/src/engine/definition-index.ts';
import { DatabaseClock, observed } from '../../functions/src/ledger/clock.ts';
import { MemoryStore } from '../../functions/src/ledger/memory-store.ts';
import type { Snapshot, Write } from '../../functions/src/ledger/store.ts';
import { definitionSchema } from '../../functions/src/model/definition.ts';
import { paths } from '../../functions/src/model/paths.ts';
import type { MemberRecord } from '../../functions/src/model/member.ts';
import type { RunRecord } from '../../functions/src/model/run.ts';
import type { StepRecord } from '../../functions/src/model/step.ts';
import { startRun } from '../../functions/src/runner/runs.ts';
import type { Runtime } from '../../functions/src/runner/runtime.ts';
import type { Action } from '../../functions/src/steps/action-registry.ts';
import { ActionRegistry } from '../../functions/src/steps/action-registry.ts';
import { createStepRegistry } from '../../functions/src/steps/index.ts';
import { CloudTasksDoorbells } from '../../functions/src/timers/doorbells.ts';
import { reconcile } from '../../functions/src/timers/reconciler.ts';
import type { Ring } from '../../functions/src/timers/ring.ts';
import { openDoor, KnownWorkflows } from './doors.ts';
import { GatedStore } from './gated-store.ts';
import type { Fate } from './gated-store.ts';
import { clientOf, GrpcError, TaskQueue } from './task-queue.ts';

export const ACCOUNT = 'acme';
const NEVER = new Promise<never>(() => undefined);

/** A handler on the stage: it goes on only when it is told to. */
export class Actor {
  /** What it would do next; undefined while it has nothing to do with the outside, or has ended. */
  next: string | undefined;
  ended: 'no' | 'well' | 'badly' | 'dead' = 'no';
  error: unknown;
  #open: ((fate: Fate) => void) | undefined;

  /** Stands still until told to go on. */
  park(what: string): Promise<Fate> {
    if (this.ended === 'dead') return NEVER;
    this.next = what;
    return new Promise((resolve) => (this.#open = resolve));
  }

  settle(fate: Fate): Promise<void> {
    if (fate === 'lose_reply') return Promise.reject(new GrpcError('DEADLINE_EXCEEDED: the answer was lost', 4));
    if (fate === 'die_after' || this.ended === 'dead') {
      this.die();
      return NEVER;
    }
    return Promise.resolve();
  }

  /** Lets the next operation take place. */
  async go(fate: Fate = 'none'): Promise<void> {
    const open = this.#open;
    if (open === undefined) throw new Error(`nothing to let go: ${this.ended}`);
    this.#open = undefined;
    this.next = undefined;
    open(fate);
    await microtasks();
  }

  /** Lets everything take place up to an operation whose words contain `text`, without that one. */
  async until(text: string): Promise<void> {
    while (this.next?.includes(text) !== true) {
      if (this.next === undefined) throw new Error(`it ended ${this.ended} before "${text}"`);
      await this.go();
    }
  }

  async finish(): Promise<void> {
    while (this.next !== undefined) await this.go();
  }

  die(): void {
    this.ended = 'dead';
    this.next = undefined;
    this.#open = undefined;
  }
}

async function microtasks(): Promise<void> {
  await new Promise<void>((resolve) => void setImmediate(resolve));
}

export function person(uid: string): MemberRecord {
  const email = `${uid}@acme.example`;
  return {
    v: 1,
    accountId: ACCOUNT,
    uid,
    email,
    name: uid,
    roles: ['approver'],
    departments: [],
    active: true,
    updatedAt: 0,
    updatedBy: 'test',
  };
}

/** A world in which a test decides what happens next: for the cases that are known by name. */
export class Stage {
  now = 1_800_000_000_000;
  readonly store: MemoryStore;
  /** New documents whose triggers have not been called yet. */
  readonly created: Snapshot[] = [];
  readonly rings: { readonly ring: Ring; readonly at: number }[] = [];
  readonly refused: string[] = [];
  readonly effects: string[] = [];
  readonly #queue: TaskQueue;
  readonly #known = new KnownWorkflows(new WorkflowRegistry([]));
  readonly #actions: readonly Action[];
  readonly #members: readonly MemberRecord[];
  #tokens = 0;

  constructor(definitions: Readonly<Record<string, unknown>>, actions: readonly Action[] = [], members: readonly MemberRecord[] = []) {
    this.#actions = actions;
    this.#members = members;
    this.store = new MemoryStore(() => this.now, { created: (snapshot) => void this.created.push(snapshot) });
    this.#queue = new TaskQueue({
      now: () => this.now,
      accepted: (ring, at) => void this.rings.push({ ring, at }),
      refused: (name) => void this.refused.push(name),
    });
    for (const member of members) void this.store.commit([{ op: 'create', path: paths.member(ACCOUNT, member.uid), data: member }]);
    for (const [id, steps] of Object.entries(definitions)) {
      this.#known.add(ACCOUNT, indexDefinition(definitionSchema.parse({ id, steps, timeout: '30d' })));
    }
  }

  /** Puts a handler on the stage; it stands before its first operation. */
  async enter(work: (runtime: Runtime) => Promise<void>, skewMs = 0): Promise<Actor> {
    const actor = new Actor();
    work(this.#runtime(actor, skewMs)).then(
      () => (actor.ended = 'well'),
      (error: unknown) => {
        actor.ended = 'badly';
        actor.error = error;
      },
    );
    await microtasks();
    return actor;
  }

  async perform(work: (runtime: Runtime) => Promise<void>, skewMs = 0): Promise<Actor> {
    const actor = await this.enter(work, skewMs);
    await actor.finish();
    return actor;
  }

  /** Calls triggers, in order, until nothing new appears. */
  async deliverAll(): Promise<void> {
    for (let next = this.created.shift(); next !== undefined; next = this.created.shift()) {
      const snapshot = next;
      await this.perform((runtime) => openDoor(runtime, snapshot));
    }
  }

  /** The trigger of the oldest new document whose path ends so. */
  take(ending: string): Snapshot {
    const index = this.created.findIndex(({ path }) => path.endsWith(ending));
    const [found] = index < 0 ? [] : this.created.splice(index, 1);
    if (found === undefined) throw new Error(`no new document "${ending}"; new are ${this.created.map(({ path }) => path).join(', ')}`);
    return found;
  }

  reconcile(): Promise<Actor> {
    return this.perform(async (runtime) => {
      await reconcile(runtime);
    });
  }

  async start(workflowId: string, input: object = {}): Promise<string> {
    const runId = `run${(this.#tokens += 1)}`;
    const json = JSON.parse(JSON.stringify(input)) as { [key: string]: never };
    await this.perform(async (runtime) => {
      await startRun(runtime, { accountId: ACCOUNT, workflowId, runId, input: json, startedBy: { kind: 'user', id: 'ann' } });
    });
    return runId;
  }

  run(runId: string): RunRecord {
    return this.store.peek(paths.run(ACCOUNT, runId))?.data as unknown as RunRecord;
  }

  step(runId: string, key: string): StepRecord | undefined {
    return this.store.peek(paths.step(ACCOUNT, runId, key))?.data as StepRecord | undefined;
  }

  /** As a client writes: at once. */
  write(...writes: readonly Write[]): Promise<unknown> {
    return this.store.commit(writes);
  }

  #runtime(actor: Actor, skewMs: number): Runtime {
    const clock = new DatabaseClock(() => this.now + skewMs);
    const gate = {
      park: (what: string) => actor.park(what),
      settle: (_what: string, fate: Fate) => actor.settle(fate),
      committed: () => undefined,
      conflict: () => undefined,
      reads: () => undefined,
      passes: () => false,
    };
    const store = observed(new GatedStore(this.store, gate), clock);
    const client = clientOf(async (request) => {
      const fate = await actor.park('task');
      this.#queue.create(request);
      await actor.settle(fate);
    });
    const config = { project: 'p', region: 'r', queue: 'doorbell', url: 'http://doorbell' };
    return {
      store,
      clock,
      doorbells: new CloudTasksDoorbells(
        () => Promise.resolve(client),
        config,
        () => clock.now(),
      ),
      random: () => 0.5,
      token: () => `token${(this.#tokens += 1)}`,
      limitTime: async (_ms, work) => work(new AbortController().signal),
      definitions: this.#known,
      stepTypes: createStepRegistry(),
      services: {
        actions: new ActionRegistry(this.#actions.map((action) => this.#onStage(action, actor))),
        members: { list: () => Promise.resolve(this.#members) },
      },
      code: this.#known.plannerOf(this),
      control: { halted: () => Promise.resolve(false) },
      deliveries: {},
      followers: [],
      observe: () => undefined,
    };
  }

  /** An action stands still before and after it takes effect. */
  #onStage(action: Action, actor: Actor): Action {
    return {
      ...action,
      run: async (input, context) => {
        await actor.settle(await actor.park(`call ${action.name}`));
        this.effects.push(`${action.name} ${context.idempotencyKey}`);
        await actor.settle(await actor.park(`answer ${action.name}`));
        return action.run(input, context);
      },
    };
  }
}
