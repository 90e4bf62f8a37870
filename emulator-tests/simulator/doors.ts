import { ReplayingPlanner } from '../../functions/src/durable/code-planner.ts';
import type { WorkflowRegistry } from '../../functions/src/durable/define-workflow.ts';
import type { DefinitionIndex } from '../../functions/src/engine/definition-index.ts';
import { decideApproval } from '../../functions/src/ledger/approvals.ts';
import { attendCommand } from '../../functions/src/ledger/commands.ts';
import { attendEvent } from '../../functions/src/ledger/events.ts';
import { StoredMembers } from '../../functions/src/ledger/members.ts';
import { attendOutbox } from '../../functions/src/ledger/outbox.ts';
import { attendRequest } from '../../functions/src/ledger/requests.ts';
import { heldStep } from '../../functions/src/ledger/steps.ts';
import type { Snapshot } from '../../functions/src/ledger/store.ts';
import { KilnError } from '../../functions/src/model/errors.ts';
import { attend } from '../../functions/src/runner/attend.ts';
import { attendCompletion, attendRun } from '../../functions/src/runner/runs.ts';
import type { Definitions, PinnedVersion, Runtime } from '../../functions/src/runner/runtime.ts';
import { createStepRegistry } from '../../functions/src/steps/index.ts';
import { reconcile } from '../../functions/src/timers/reconciler.ts';
import type { Instance } from './instance.ts';
import type { Outside } from './services.ts';
import type { Doors, Invocation } from './jobs.ts';
import type { World } from './world.ts';

const stepTypes = createStepRegistry();

/** What the deployed triggers do with a new document, by its collection. */
const doors: Readonly<Record<string, (runtime: Runtime, ids: readonly string[], snapshot: Snapshot | undefined) => Promise<void>>> = {
  steps: (runtime, [accountId = '', runId = '', key = ''], snapshot) =>
    attend(
      runtime,
      { accountId, runId, key },
      snapshot === undefined ? { kind: 'trigger' } : { kind: 'trigger', held: heldStep(snapshot) },
    ),
  runs: (runtime, [accountId = '', runId = '']) => attendRun(runtime, { accountId, runId }),
  completions: (runtime, [accountId = '', runId = '']) => attendCompletion(runtime, { accountId, runId }),
  decisions: (runtime, [accountId = '', approvalId = '', uid = '']) => decideApproval(runtime, { accountId, approvalId, uid }),
  commands: (runtime, [accountId = '', runId = '', id = '']) => attendCommand(runtime, { accountId, runId }, id),
  events: (runtime, [accountId = '', eventId = '']) => attendEvent(runtime, accountId, eventId),
  outbox: (runtime, [accountId = '', id = '']) => attendOutbox(runtime, accountId, id),
  requests: (runtime, [accountId = '', id = '']) => attendRequest(runtime, accountId, id),
};

/** Ids of a path in order: account, run, step and so on. */
function idsOf(path: string): readonly string[] {
  return path.split('/').filter((_part, i) => i % 2 === 1);
}

export interface Office {
  world(): World;
  outside(): Outside;
  readonly known: KnownWorkflows;
}

/** What the deployed trigger of a new document does; `complete` is false where the event was too large to carry the document. */
export function openDoor(runtime: Runtime, snapshot: Snapshot, complete = true): Promise<void> {
  const door = doors[snapshot.path.split('/').at(-2) ?? ''];
  return door === undefined ? Promise.resolve() : door(runtime, idsOf(snapshot.path), complete ? snapshot : undefined);
}

export function createDoors(office: Office): Doors {
  return {
    listens: (path) => Object.hasOwn(doors, path.split('/').at(-2) ?? ''),
    created: openDoor,
    ring: (runtime, ring) => attend(runtime, ring, { kind: 'doorbell', hop: ring.hop }),
    reconcile: async (runtime) => {
      await reconcile(runtime);
    },
    runtime: (instance, invocation) => runtimeOf(office, instance, invocation),
  };
}

function runtimeOf(office: Office, instance: Instance, invocation: Invocation): Runtime {
  const world = office.world();
  const outside = office.outside();
  const store = instance.store(invocation);
  return {
    store,
    clock: instance.clock,
    doorbells: instance.doorbells(invocation),
    limitTime: instance.limitTime(invocation),
    random: () => world.random.next(),
    token: () => `t${Math.floor(world.random.next() * 2 ** 48).toString(36)}`,
    definitions: office.known,
    stepTypes,
    services: { actions: outside.actions(invocation), members: new StoredMembers(store) },
    code: office.known.plannerOf(instance),
    control: instance.control(store),
    deliveries: { mail: outside.deliver(invocation) },
    followers: [outside.follower(invocation)],
    observe: (event) => {
      if (event.kind === 'late_result') world.counters.operation('late result discarded');
      else if (event.kind === 'repaired') world.counters.operation('reconciler repaired');
      world.say(`#${invocation.id} ${event.kind}`);
    },
  };
}

/** Graph workflows by account (the same id in two accounts is two workflows), and the deployment's code workflows. */
export class KnownWorkflows implements Definitions {
  readonly #known = new Map<string, DefinitionIndex>();
  readonly #registry: WorkflowRegistry;
  /** What an instance remembers of code runs, it forgets when it dies. */
  readonly #planners = new WeakMap<object, ReplayingPlanner>();

  constructor(registry: WorkflowRegistry) {
    this.#registry = registry;
  }

  add(accountId: string, index: DefinitionIndex): void {
    this.#known.set(`${accountId}/${index.definition.id}`, index);
  }

  get(accountId: string, workflowId: string): Promise<DefinitionIndex> {
    const found = this.#known.get(`${accountId}/${workflowId}`);
    return found === undefined
      ? Promise.reject(new KilnError('definition.not_found', `no workflow "${workflowId}" in ${accountId}`))
      : Promise.resolve(found);
  }

  async latest(accountId: string, workflowId: string): Promise<PinnedVersion> {
    const code = this.#registry.pinned(workflowId);
    if (code !== undefined) return code;
    await this.get(accountId, workflowId);
    return { kind: 'graph', version: 1, hash: 'h' };
  }

  async pinned(accountId: string, workflowId: string, version: number): Promise<PinnedVersion> {
    return this.#registry.pinned(workflowId, version) ?? { ...(await this.latest(accountId, workflowId)), version };
  }

  plannerOf(instance: object): ReplayingPlanner {
    let planner = this.#planners.get(instance);
    if (planner === undefined) this.#planners.set(instance, (planner = new ReplayingPlanner(this.#registry)));
    return planner;
  }
}
