import { z } from 'zod';
import { checkCondition } from '../engine/conditions.ts';
import { checkSchedule } from '../engine/cron.ts';
import { parseDuration } from '../engine/duration.ts';
import { digest } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { concurrencySchema } from '../model/definition.ts';
import type { Definition } from '../model/definition.ts';
import { idPattern as accountPattern } from '../model/paths.ts';
import type { RunRecord, StartedBy } from '../model/run.ts';
import type { DeclaredTrigger } from '../model/trigger.ts';
import type { PinnedVersion } from '../runner/runtime.ts';
import type { Duration, StepApi } from './step-api.ts';
import { triggersOf } from './trigger-payload.ts';
import type { ManualTrigger, Trigger } from './triggers.ts';

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

/** What is the same whatever a workflow's types are. */
interface WorkflowBase {
  /** Stable: runs are bound to it. */
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  /** Limit of active time; waiting does not count. Default 5 minutes. */
  readonly timeout?: Duration;
  /** Limit of wall-clock time. */
  readonly deadline?: Duration;
  readonly limits?: Definition['limits'];
  /** How many runs at once, for each key; the others stay pending until it is their turn. */
  readonly concurrency?: Definition['concurrency'];
  /** How many runs begin in each span of time. */
  readonly rateLimit?: Definition['rateLimit'];
  readonly states?: Definition['states'];
  /** Who is handed the result. Their templates know `workflow_input` and `run`. */
  readonly destinations?: Definition['destinations'];
  /** Whether a tainted run asks a person before a `browserAction` or `http` step that is not read-only. Default true. */
  readonly guardTainted?: boolean;
  readonly reconcile?: Definition['reconcile'];
  /** What becomes of a failed run that has compensations. Default `compensate`. */
  readonly onError?: 'compensate' | 'fail';
}

type AnyTrigger = Trigger<unknown>;
type Schema = z.ZodType | undefined;

/** What starts a run: the trigger's payload; where the trigger leaves it open, what the input schema takes. */
type PayloadOf<S extends Schema, T extends AnyTrigger> =
  T extends Trigger<infer P> ? (unknown extends P ? (S extends z.ZodType ? z.input<S> : Json) : P) : Json;
type InputOf<S extends Schema, T extends AnyTrigger> = S extends z.ZodType ? z.output<S> : PayloadOf<S, T>;

export interface WorkflowSpec<S extends Schema, T extends AnyTrigger, O> extends WorkflowBase {
  /** Raise it when runs in flight cannot go on with the new code; keep the old version registered until they have ended. Default 1. */
  readonly version?: number;
  readonly trigger?: T | readonly T[];
  readonly input?: S;
  readonly output?: z.ZodType<O>;
  run(context: WorkflowContext<InputOf<S, T>, PayloadOf<S, T>>): Promise<O> | O;
}

/** A workflow as a function. `P` is what starts a run of it, `I` what its code sees, `O` what it returns. */
export interface CodeWorkflow<I, O, P> extends WorkflowBase {
  readonly kind: 'code';
  readonly version: number;
  readonly trigger?: AnyTrigger | readonly AnyTrigger[];
  readonly input?: z.ZodType<I>;
  readonly output?: z.ZodType<O>;
  run(context: WorkflowContext<I, P>): Promise<O> | O;
}

/** A workflow whose types do not matter: in the registry and to the planner. */
export interface AnyCodeWorkflow extends WorkflowBase {
  readonly kind: 'code';
  readonly version: number;
  readonly trigger?: AnyTrigger | readonly AnyTrigger[];
  readonly input?: z.ZodType;
  readonly output?: z.ZodType;
  run(context: never): unknown;
}

const idPattern = /^[A-Za-z][A-Za-z0-9_-]{0,127}$/;

/**
 * Declares a workflow as a function. Its types follow from `trigger` (the payload), `input` and `output`.
 *
 * @throws Error when it could not be deployed: a bad id, version, duration or trigger
 */
export function defineWorkflow<const S extends Schema = undefined, T extends AnyTrigger = ManualTrigger, O = unknown>(
  spec: WorkflowSpec<S, T, O>,
): CodeWorkflow<InputOf<S, T>, O, PayloadOf<S, T>> {
  if (!idPattern.test(spec.id)) throw new Error(`workflow id "${spec.id}": use a letter, then at most 127 letters, digits, "_" or "-"`);
  const version = spec.version ?? 1;
  if (!Number.isInteger(version) || version < 1) throw new Error(`workflow "${spec.id}": version is a whole number from 1`);
  if (spec.timeout !== undefined) parseDuration(spec.timeout, `${spec.id}.timeout`);
  if (spec.deadline !== undefined) parseDuration(spec.deadline, `${spec.id}.deadline`);
  const concurrency = concurrencySchema.optional().safeParse(spec.concurrency);
  if (!concurrency.success) throw new Error(`workflow "${spec.id}": concurrency: ${z.prettifyError(concurrency.error)}`);
  if (spec.rateLimit !== undefined) parseDuration(spec.rateLimit.per, `${spec.id}.rateLimit.per`);
  for (const trigger of triggersOf(spec)) checkTrigger(spec.id, trigger);
  // The schema's output is the code's input: that is how both are inferred.
  return { ...spec, kind: 'code', version } as CodeWorkflow<InputOf<S, T>, O, PayloadOf<S, T>>;
}

function checkTrigger(id: string, trigger: AnyTrigger): void {
  const bad = (what: string): Error => new Error(`workflow "${id}": ${what}`);
  if (trigger.kind === 'event') {
    const [problem] = trigger.match === undefined ? [] : checkCondition(trigger.match);
    if (problem !== undefined) throw bad(`trigger.match: ${problem.message}`);
  } else if (trigger.kind === 'schedule') {
    const [problem] = checkSchedule(trigger.cron, trigger.timeZone);
    if (problem !== undefined) throw bad(problem.message);
    if (trigger.accounts.length === 0) throw bad('a schedule names the accounts whose runs it starts');
    const wrong = trigger.accounts.find((account) => !accountPattern.test(account));
    if (wrong !== undefined) throw bad(`"${wrong}" is not the id of an account`);
  }
}

/** The code workflows of a deployment. Several versions of one id may be registered. */
export class WorkflowRegistry {
  readonly #versions = new Map<string, Map<number, AnyCodeWorkflow>>();

  constructor(workflows: readonly AnyCodeWorkflow[]) {
    for (const workflow of workflows) this.add(workflow);
  }

  /** At import time, as `useActions` is: what an instance knows does not change while it works. */
  add(workflow: AnyCodeWorkflow): void {
    let versions = this.#versions.get(workflow.id);
    if (versions === undefined) this.#versions.set(workflow.id, (versions = new Map()));
    if (versions.has(workflow.version)) throw new Error(`two workflows are "${workflow.id}" version ${workflow.version}`);
    versions.set(workflow.version, workflow);
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
  pinned(id: string, version?: number): PinnedVersion | undefined {
    const workflow = version === undefined ? this.latest(id) : this.find(id, version);
    return workflow === undefined ? undefined : { kind: 'code', version: workflow.version, hash: digest(`${id}@${workflow.version}`) };
  }

  triggers(): readonly DeclaredTrigger[] {
    return [...this.#versions.keys()].flatMap((workflowId) =>
      triggersOf(this.latest(workflowId) ?? {}).map((trigger) => ({ workflowId, trigger })),
    );
  }

  all(): readonly AnyCodeWorkflow[] {
    return [...this.#versions.values()].flatMap((versions) => [...versions.values()]);
  }
}
