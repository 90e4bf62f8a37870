import type { z } from 'zod';
import { parseDuration } from '../engine/duration.ts';
import { digest } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { Definition } from '../model/definition.ts';
import type { RunRecord, StartedBy } from '../model/run.ts';
import type { PinnedVersion } from '../runner/runtime.ts';
import type { Duration, StepApi } from './step-api.ts';
import type { Trigger } from './triggers.ts';

/** What the run is about; the same on every replay. */
export interface RunInfo {
  readonly id: string;
  readonly accountId: string;
  readonly workflowId: string;
  readonly version: number;
  /** When it was asked for, ms since 1970. */
  readonly createdAt: number;
  readonly startedBy: StartedBy;
  readonly parent: RunRecord['parent'];
}

export interface WorkflowContext<I, P> {
  /** What started the run, as it came. */
  readonly event: { readonly payload: P };
  /** The payload as the input schema reads it. */
  readonly input: I;
  readonly step: StepApi;
  readonly run: RunInfo;
}

export interface WorkflowSpec<P, I, O> {
  /** Stable: runs are bound to it. */
  readonly id: string;
  /** Raise it when runs in flight cannot go on with the new code; keep the old version registered until they have ended. Default 1. */
  readonly version?: number;
  readonly name?: string;
  readonly description?: string;
  readonly trigger?: Trigger<P> | readonly Trigger<P>[];
  readonly input?: z.ZodType<I>;
  readonly output?: z.ZodType<O>;
  /** Limit of active time; waiting does not count. Default 5 minutes. */
  readonly timeout?: Duration;
  /** Limit of wall-clock time. */
  readonly deadline?: Duration;
  readonly limits?: Definition['limits'];
  readonly concurrency?: Definition['concurrency'];
  readonly states?: Definition['states'];
  readonly destinations?: Definition['destinations'];
  readonly reconcile?: Definition['reconcile'];
  /** What becomes of a failed run that has compensations. Default `compensate`. */
  readonly onError?: 'compensate' | 'fail';
  run(context: WorkflowContext<I, P>): Promise<O> | O;
}

export interface CodeWorkflow<I, O, P> extends Omit<WorkflowSpec<P, I, O>, 'version'> {
  readonly kind: 'code';
  readonly version: number;
}

/** A workflow whose types do not matter: in the registry and to the planner. */
export type AnyCodeWorkflow = CodeWorkflow<never, unknown, never>;

const idPattern = /^[A-Za-z][A-Za-z0-9_-]{0,127}$/;

/**
 * Declares a workflow as a function. Its types follow from `trigger` (the payload), `input` and `output`.
 *
 * @throws Error when it could not be deployed: a bad id, version or duration
 */
export function defineWorkflow<P = Json, I = P, O = unknown>(spec: WorkflowSpec<P, I, O>): CodeWorkflow<I, O, P> {
  if (!idPattern.test(spec.id)) throw new Error(`workflow id "${spec.id}": use a letter, then at most 127 letters, digits, "_" or "-"`);
  const version = spec.version ?? 1;
  if (!Number.isInteger(version) || version < 1) throw new Error(`workflow "${spec.id}": version is a whole number from 1`);
  if (spec.timeout !== undefined) parseDuration(spec.timeout, `${spec.id}.timeout`);
  if (spec.deadline !== undefined) parseDuration(spec.deadline, `${spec.id}.deadline`);
  return { ...spec, kind: 'code', version };
}

/** The code workflows of a deployment. Several versions of one id may be registered. */
export class WorkflowRegistry {
  readonly #versions = new Map<string, Map<number, AnyCodeWorkflow>>();

  constructor(workflows: readonly AnyCodeWorkflow[]) {
    for (const workflow of workflows) {
      let versions = this.#versions.get(workflow.id);
      if (versions === undefined) this.#versions.set(workflow.id, (versions = new Map()));
      if (versions.has(workflow.version)) throw new Error(`two workflows are "${workflow.id}" version ${workflow.version}`);
      versions.set(workflow.version, workflow);
    }
  }

  find(id: string, version: number): AnyCodeWorkflow | undefined {
    return this.#versions.get(id)?.get(version);
  }

  versionsOf(id: string): readonly number[] {
    return [...(this.#versions.get(id)?.keys() ?? [])].sort((a, b) => a - b);
  }

  /** The newest version, for new runs. */
  latest(id: string): AnyCodeWorkflow | undefined {
    const newest = this.versionsOf(id).at(-1);
    return newest === undefined ? undefined : this.find(id, newest);
  }

  /** What a new run pins. The code itself is not hashed: what matters is checked by the journal. */
  pinned(id: string): PinnedVersion | undefined {
    const workflow = this.latest(id);
    return workflow === undefined ? undefined : { kind: 'code', version: workflow.version, hash: digest(`${id}@${workflow.version}`) };
  }

  all(): readonly AnyCodeWorkflow[] {
    return [...this.#versions.values()].flatMap((versions) => [...versions.values()]);
  }
}
