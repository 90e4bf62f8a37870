import type { Held } from '../ledger/steps.ts';
import type { Write } from '../ledger/store.ts';
import type { StepRecord } from '../model/step.ts';
import type { Runtime } from '../runner/runtime.ts';
import { decodeBaton } from './baton.ts';
import type { AnyCodeWorkflow, WorkflowRegistry } from './define-workflow.ts';
import { divergedWrites } from './divergence.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { Execution } from './replay.ts';
import type { Sources } from './replay.ts';
import { payloadOf, RunReader } from './run-reader.ts';
import type { Opened, Reader } from './run-reader.ts';
import { StandingExecutions } from './standing.ts';
import { readPayload } from './trigger-payload.ts';
import { entriesOf, turnWrites, uuidFrom } from './turn.ts';
import type { EndedStep } from './turn.ts';

/** A run brought to where it is: its journal, and its code waiting for what is under way. */
export interface Ready {
  readonly opened: Opened;
  readonly execution: Execution;
}

/** What stands around the functions of steps; tests put others in their place. */
export type Intercept = (record: StepRecord, fn: (context: unknown) => unknown) => (context: unknown) => unknown;

/** Brings runs to where they are, and moves them on. */
export class Replayer {
  readonly registry: WorkflowRegistry;
  readonly reader = new RunReader();
  readonly standing = new StandingExecutions();
  readonly sweeps = new OneAtATime();
  readonly #intercept: Intercept | undefined;

  constructor(registry: WorkflowRegistry, intercept?: Intercept) {
    this.registry = registry;
    this.#intercept = intercept;
  }

  /** The function that performs a step. */
  functionOf<C>(record: StepRecord, fn: (context: C) => unknown): (context: C) => unknown {
    return this.#intercept === undefined ? fn : this.#intercept(record, fn as (context: unknown) => unknown);
  }

  /** Opens the journal and replays the code up to what is under way, unless it stands there already. */
  async ready(runtime: Runtime, reader: Reader, held: Held): Promise<Ready> {
    const opened = await this.reader.open(reader, held.record);
    const { workflowId, version } = held.record;
    const workflow = this.registry.find(workflowId, version);
    if (workflow === undefined) {
      const execution = this.execution(runtime, missing, opened);
      execution.divergence = { position: 0, recorded: `version ${version} of "${workflowId}"`, found: this.missing(workflowId, version) };
      return { opened, execution };
    }
    const standing = this.standing.take(held.record);
    const execution = standing ?? this.execution(runtime, workflow, opened);
    if (standing === undefined) await execution.replay();
    if (decodeBaton(held.record).undo === undefined) execution.compareWith(opened.live);
    return { opened, execution };
  }

  /**
   * The writes with which steps end and the code goes on, in the order given. `ready` spares a replay where nothing was handed to
   * it yet.
   */
  async outcomeWrites(runtime: Runtime, ended: readonly EndedStep[], reader: Reader, ready?: Ready): Promise<readonly Write[]> {
    const [first] = ended;
    if (first === undefined) return [];
    const { opened, execution } = ready ?? (await this.ready(runtime, reader, first.held));
    if (execution.divergence !== undefined) return divergedWrites(runtime, execution.divergence, ended, reader);
    const seen: EndedStep[] = [];
    for (const step of ended) {
      if (execution.fault !== undefined) {
        // The run ends whatever this came to; it is still recorded.
        seen.push(step);
        continue;
      }
      // An outcome before this one may have ended the run, or closed this step as the loser of a race.
      if (execution.ended !== undefined || execution.calls.get(step.held.record.key)?.state !== 'pending') continue;
      const { journaled, delivered } = entriesOf(step);
      await execution.settle(delivered, journaled);
      seen.push(step);
    }
    const from = seen.at(-1)?.held.record ?? first.held.record;
    return turnWrites({ runtime, opened, execution, from, ended: seen, reader });
  }

  execution(runtime: Runtime, workflow: AnyCodeWorkflow, opened: Opened): Execution {
    const sources: Sources = { now: () => runtime.clock.now(), random: runtime.random, uuid: () => uuidFrom(runtime.token()) };
    const { info } = opened.facts;
    const read = readPayload(workflow, opened.facts.payloadFrom, payloadOf(opened.facts));
    // It was checked before the run began. Where newer code no longer takes it, the code shows that itself.
    return new Execution({ workflow, run: info, payload: read.ok ? read.payload : undefined, sources, entries: opened.entries });
  }

  /** What to say about a version that is not deployed. */
  missing(workflowId: string, version: number): string {
    const versions = this.registry.versionsOf(workflowId);
    if (versions.length === 0) return `the deployed code has no workflow "${workflowId}"`;
    return `the deployed code has "${workflowId}" in version ${versions.join(', ')}, not ${version}`;
  }
}

/** Stands in for a workflow that is not deployed; never run. */
const missing: AnyCodeWorkflow = { kind: 'code', id: 'missing', version: 1, run: () => undefined };
