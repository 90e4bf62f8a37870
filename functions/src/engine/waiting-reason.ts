import type { ApprovalRecord } from '../model/approval.ts';
import type { CommandKind } from '../model/command.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { terminalRunStatuses } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { isLive } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { formatDuration } from './duration.ts';
import { legalCommands } from './legal-commands.ts';

/** On what a run, or one step of it, waits. */
export type WaitsFor =
  | { readonly on: 'nothing' }
  /** The run's first step is created in a moment. */
  | { readonly on: 'start' }
  | { readonly on: 'operator' }
  | { readonly on: 'cancellation' | 'compensation' | 'resolution' | 'code' }
  | { readonly on: 'people'; readonly approvalId: string; readonly title?: string; readonly names?: readonly string[] }
  | { readonly on: 'event'; readonly event: string; readonly key?: string }
  | { readonly on: 'time' }
  | { readonly on: 'retry'; readonly attempt: number; readonly error?: ErrorRecord }
  | { readonly on: 'slot'; readonly limit: string }
  | { readonly on: 'run'; readonly runId: string }
  | { readonly on: 'document'; readonly path: string }
  | { readonly on: 'inner_steps' }
  /** It is being performed; `leaseUntil` is when it counts as lost. */
  | { readonly on: 'attempt'; readonly attempt: number; readonly leaseUntil?: number }
  | { readonly on: 'begin' }
  | { readonly on: 'settlement'; readonly error?: ErrorRecord };

/** What happens when the time is over. */
export type Then = 'continues' | 'times_out' | 'tries_again' | 'approve' | 'reject' | 'fail' | 'escalate' | 'lost';

export interface WaitingReason {
  readonly waits: WaitsFor;
  readonly stepKey?: string;
  readonly since: number;
  readonly until?: number;
  readonly then?: Then;
  /** When the reconciler looks at it if nobody else has. */
  readonly lookedAt?: number;
  /** The time is over by more than it should: something is slow, and the reconciler will see to it. */
  readonly overdueMs?: number;
  /** What an operator may do about it. */
  readonly may: readonly CommandKind[];
}

export interface WaitingInput {
  readonly run: RunRecord;
  /** The live steps of the run; others are passed over. */
  readonly steps: readonly StepRecord[];
  /** Open requests by id, where they are known. */
  readonly approvals?: ReadonlyMap<string, Pick<ApprovalRecord, 'title' | 'onDeadline' | 'deadlineAt'> & { readonly names?: readonly string[] }>;
  readonly now: number;
}

/** A minute late is the reconciler's business; before that it is ordinary delay. */
const LATE_MS = 90_000;

/** Why the run is where it is: one answer for each thing it waits for, people first. Empty when it has ended. Stored nowhere. */
export function waitingReasons(input: WaitingInput): readonly WaitingReason[] {
  const { run, steps } = input;
  if (terminalRunStatuses.has(run.status)) return [];
  const whole = reasonOfRun(run, steps);
  if (whole !== undefined) return [{ waits: whole, since: run.startedAt ?? run.createdAt, may: allowed(run, undefined) }];
  const live = steps.filter((step) => isLive(step.state));
  // A container waits because of what is inside it; the inner reasons say more.
  const telling = live.filter((step) => step.wait?.kind !== 'children' || !live.some((other) => isInside(other.key, step.key)));
  return telling.map((step) => reasonOfStep(input, step)).sort((a, b) => weight(a) - weight(b) || a.since - b.since);
}

/** The first answer; undefined when the run has ended. */
export function waitingReason(input: WaitingInput): WaitingReason | undefined {
  return waitingReasons(input)[0];
}

function isInside(key: string, container: string): boolean {
  return key.startsWith(`${container}.`) || key.startsWith(`${container}[`);
}

function reasonOfRun({ status }: RunRecord, steps: readonly StepRecord[]): WaitsFor | undefined {
  switch (status) {
    case 'pending':
      return { on: 'start' };
    case 'paused':
      return { on: 'operator' };
    case 'cancelling':
      return { on: 'cancellation' };
    case 'compensating':
      return { on: 'compensation' };
    case 'needs_resolution':
      return { on: 'resolution' };
    case 'diverged':
      return { on: 'code' };
    case 'running':
      return steps.some((step) => isLive(step.state)) ? undefined : { on: 'begin' };
    case 'completed':
    case 'failed':
    case 'cancelled':
    case 'rejected':
    case 'compensated':
      return { on: 'nothing' };
  }
}

function reasonOfStep(input: WaitingInput, step: StepRecord): WaitingReason {
  const { run, now } = input;
  const { waits, until, then } = factsOf(input, step);
  const lookedAt = dueTime(step.due);
  const overdueMs = until === undefined ? 0 : now - until;
  return {
    waits,
    stepKey: step.key,
    since: sinceOf(step),
    ...(until === undefined ? {} : { until }),
    ...(then === undefined ? {} : { then }),
    ...(lookedAt === undefined ? {} : { lookedAt }),
    ...(overdueMs > LATE_MS ? { overdueMs } : {}),
    may: allowed(run, step),
  };
}

function factsOf({ approvals }: WaitingInput, step: StepRecord): { waits: WaitsFor; until?: number | undefined; then?: Then | undefined } {
  if (step.gate === 'paused' && step.state !== 'running') return { waits: { on: 'operator' } };
  switch (step.state) {
    case 'ready':
      return { waits: { on: 'begin' } };
    case 'running': {
      const until = step.lease?.until;
      return { waits: { on: 'attempt', attempt: step.attempt, ...(until === undefined ? {} : { leaseUntil: until }) }, until, then: 'lost' };
    }
    case 'unresolved':
      return { waits: { on: 'settlement', ...(step.error === undefined ? {} : { error: step.error }) } };
    case 'waiting':
      return factsOfWait(step, approvals);
    case 'succeeded':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return { waits: { on: 'nothing' } };
  }
}

function factsOfWait(step: StepRecord, approvals: WaitingInput['approvals']): { waits: WaitsFor; until?: number | undefined; then?: Then | undefined } {
  const { wait, wakeAt } = step;
  switch (wait?.kind) {
    case 'approval': {
      const approval = approvals?.get(wait.approvalId);
      const named = approval === undefined ? {} : { title: approval.title, ...(approval.names === undefined ? {} : { names: approval.names }) };
      return { waits: { on: 'people', approvalId: wait.approvalId, ...named }, until: approval?.deadlineAt ?? wakeAt, then: approval?.onDeadline };
    }
    case 'event':
      return { waits: { on: 'event', event: wait.event, ...(wait.key === undefined ? {} : { key: wait.key }) }, until: wakeAt, then: 'times_out' };
    case 'timer':
      return { waits: { on: 'time' }, until: wakeAt, then: 'continues' };
    case 'retry':
      return { waits: { on: 'retry', attempt: step.attempt + 1, ...(step.error === undefined ? {} : { error: step.error }) }, until: wakeAt, then: 'tries_again' };
    case 'slot':
      return { waits: { on: 'slot', limit: wait.limit }, until: wakeAt, then: 'tries_again' };
    case 'run':
      return { waits: { on: 'run', runId: wait.runId } };
    case 'document':
      return { waits: { on: 'document', path: wait.path }, until: wakeAt, then: 'times_out' };
    case 'children':
    case undefined:
      return { waits: { on: 'inner_steps' } };
  }
}

function sinceOf(step: StepRecord): number {
  const last = step.attempts.at(-1);
  if (step.state === 'running') return last?.startedAt ?? step.startedAt ?? step.createdAt;
  return last?.endedAt ?? step.startedAt ?? step.createdAt;
}

/** The time in a `due` field: `shard|milliseconds`. */
function dueTime(due: string | undefined): number | undefined {
  const ms = Number(due?.slice(due.indexOf('|') + 1));
  return due === undefined || !Number.isFinite(ms) || ms === 0 ? undefined : ms;
}

function allowed(run: RunRecord, step: StepRecord | undefined): readonly CommandKind[] {
  return legalCommands(run, step)
    .filter((legality) => legality.allowed)
    .map((legality) => legality.kind);
}

/** What people must do comes first, then what the outside must do, then what goes on by itself. */
function weight({ waits }: WaitingReason): number {
  switch (waits.on) {
    case 'settlement':
    case 'resolution':
    case 'code':
      return 0;
    case 'people':
      return 1;
    case 'operator':
      return 2;
    case 'event':
    case 'document':
      return 3;
    case 'retry':
    case 'slot':
      return 4;
    case 'run':
    case 'time':
      return 5;
    case 'nothing':
    case 'start':
    case 'cancellation':
    case 'compensation':
    case 'inner_steps':
    case 'attempt':
    case 'begin':
      return 6;
  }
}

/** The answer as one English sentence, with times in UTC: for the command line and logs. */
export function describeWaiting(reason: WaitingReason, now: number): string {
  const place = reason.stepKey === undefined ? '' : `"${reason.stepKey}" `;
  const since = ` for ${formatDuration(Math.round((now - reason.since) / 1_000) * 1_000)}`;
  const until = reason.until === undefined ? '' : ` until ${new Date(reason.until).toISOString()}`;
  const then = reason.then === undefined ? '' : `; then ${thenWords[reason.then]}`;
  const late = reason.overdueMs === undefined ? '' : ` (late by ${formatDuration(reason.overdueMs)}; the reconciler will look at it)`;
  return `${place}${words(reason.waits)}${since}${until}${then}${late}.`;
}

const thenWords: Readonly<Record<Then, string>> = {
  continues: 'the run goes on',
  times_out: 'the wait times out',
  tries_again: 'it is tried again',
  approve: 'it counts as approved',
  reject: 'it counts as rejected',
  fail: 'the step fails',
  escalate: 'it is passed on',
  lost: 'the attempt counts as lost',
};

function words(waits: WaitsFor): string {
  switch (waits.on) {
    case 'nothing':
      return 'waits for nothing';
    case 'start':
      return 'has been accepted and starts in a moment';
    case 'operator':
      return 'is paused by an operator';
    case 'cancellation':
      return 'is being cancelled';
    case 'compensation':
      return 'is having its effects undone';
    case 'resolution':
      return 'needs a person to settle what could not be undone';
    case 'code':
      return 'no longer matches the deployed code';
    case 'people':
      return `waits for ${waits.names === undefined || waits.names.length === 0 ? 'people' : waits.names.join(', ')} to decide${waits.title === undefined ? '' : ` on "${waits.title}"`}`;
    case 'event':
      return `waits for the event "${waits.event}"${waits.key === undefined ? '' : ` with key "${waits.key}"`}`;
    case 'time':
      return 'sleeps';
    case 'retry':
      return `waits for attempt ${waits.attempt}${waits.error === undefined ? '' : ` after: ${waits.error.message}`}`;
    case 'slot':
      return `waits for a free place of the limit "${waits.limit}"`;
    case 'run':
      return `waits for the run ${waits.runId}`;
    case 'document':
      return `waits for the document ${waits.path}`;
    case 'inner_steps':
      return 'waits for the steps inside it';
    case 'attempt':
      return `performs attempt ${waits.attempt}`;
    case 'begin':
      return 'begins in a moment';
    case 'settlement':
      return `has an unknown outcome that a person must settle${waits.error === undefined ? '' : `: ${waits.error.message}`}`;
  }
}
