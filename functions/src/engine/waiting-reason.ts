import type { ApprovalRecord } from '../model/approval.ts';
import type { RunRecord } from '../model/run.ts';
import { terminalRunStatuses } from '../model/run.ts';
import { isLive } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { isInternal, legalCommands } from './legal-commands.ts';
import type { CommandOption } from './legal-commands.ts';

/** What a run waits for, as far as people care. */
export type WaitingKind =
  | 'unresolved'
  | 'paused'
  | 'approval'
  | 'event'
  | 'run'
  | 'document'
  | 'timer'
  | 'retry'
  | 'slot'
  | 'performing'
  | 'beginning'
  | 'ending'
  | 'undoing'
  | 'check'
  | 'mismatch';

export interface WaitingReason {
  readonly kind: WaitingKind;
  /** One plain sentence. */
  readonly text: string;
  readonly stepKey?: string;
  /** Whom or what it waits for: names of people, an event, a path, a run's id. */
  readonly on?: string;
  readonly since: number;
  readonly until?: number;
  /** What happens when the time is over. */
  readonly then?: string;
  /** The attempt that is under way or was the last, and when the next one is due. */
  readonly attempt?: number;
  readonly nextAttemptAt?: number;
  readonly lastError?: { readonly code: string; readonly message: string };
  /** When the step is looked at next: its doorbell, or the reconciler. */
  readonly bellAt?: number;
  /** What an operator may do about it. */
  readonly mayDo: readonly CommandOption[];
}

export interface WaitingFacts {
  readonly run: RunRecord;
  /** The run's steps; those that have ended are passed over. */
  readonly steps: readonly StepRecord[];
  /** Requests for decisions, by their ids. */
  readonly approvals?: ReadonlyMap<string, Pick<ApprovalRecord, 'title' | 'eligible' | 'claimedBy' | 'deadlineAt' | 'onDeadline'>>;
  /** A member's name; without it the uid is shown. */
  readonly nameOf?: (uid: string) => string;
}

/** The most pressing first: what a person must do, then what waits for others, then what goes on by itself. */
const order: readonly WaitingKind[] = [
  'unresolved',
  'mismatch',
  'paused',
  'approval',
  'event',
  'run',
  'document',
  'slot',
  'retry',
  'timer',
  'check',
  'performing',
  'beginning',
  'undoing',
  'ending',
];

/** Why the run is where it is; undefined when it has ended and nothing is open. */
export function waitingReason(facts: WaitingFacts): WaitingReason | undefined {
  return waitingReasons(facts)[0];
}

/** Everything that the run waits for. Pure, stored nowhere: app, api and command line show the same. */
export function waitingReasons(facts: WaitingFacts): readonly WaitingReason[] {
  const { run } = facts;
  if (terminalRunStatuses.has(run.status)) return afterEnd(run);
  const live = facts.steps.filter((step) => isLive(step.state) && step.wait?.kind !== 'children');
  const reasons = live.map((step) => ofStep(facts, step));
  const whole = ofRun(run, live.length);
  return [...(whole === undefined ? [] : [whole]), ...reasons].sort(
    (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || a.since - b.since,
  );
}

function afterEnd(run: RunRecord): readonly WaitingReason[] {
  const since = run.endedAt ?? run.createdAt;
  const base = { since, mayDo: mayDo(run, undefined) };
  switch (run.reconciliation) {
    case 'pending':
      return [{ ...base, kind: 'check', text: 'The run has completed; whether the target system agrees is being checked.' }];
    case 'mismatch':
      return [{ ...base, kind: 'mismatch', text: 'The target system shows something else than the run did; somebody has to look.' }];
    case 'reconciled':
    case 'accepted':
    case undefined:
      return [];
  }
}

function ofRun(run: RunRecord, live: number): WaitingReason | undefined {
  const base = { since: run.startedAt ?? run.createdAt, mayDo: mayDo(run, undefined) };
  switch (run.status) {
    case 'paused':
      return {
        ...base,
        since: run.pausedAt ?? base.since,
        kind: 'paused',
        text: 'An operator has paused the run; it goes on when it is resumed.',
      };
    case 'pending':
      if (run.queuedFor !== undefined) {
        return { ...base, kind: 'slot', on: run.queuedFor, text: `The run waits for its turn in ${run.queuedFor}.`, then: 'it asks again' };
      }
      return { ...base, kind: 'beginning', text: 'The run is about to be checked and begun.' };
    case 'cancelling':
      return { ...base, kind: 'ending', text: `The run is being ended; ${live} steps are left.` };
    case 'compensating':
      return { ...base, kind: 'undoing', text: 'What the run did is being undone, the latest first.' };
    case 'running':
    case 'needs_resolution':
    case 'diverged':
    case 'completed':
    case 'failed':
    case 'cancelled':
    case 'rejected':
    case 'compensated':
      return undefined;
  }
}

function ofStep(facts: WaitingFacts, step: StepRecord): WaitingReason {
  const base = {
    stepKey: step.key,
    since: step.startedAt ?? step.createdAt,
    mayDo: mayDo(facts.run, step),
    ...(step.attempt === 0 ? {} : { attempt: step.attempt }),
    ...(step.error === undefined ? {} : { lastError: { code: step.error.code, message: step.error.message } }),
    ...(step.wakeAt === undefined ? {} : { bellAt: step.wakeAt }),
  };
  const what = isInternal(step) ? `The compensation of "${step.stepId}"` : `"${step.key}"`;
  switch (step.state) {
    case 'unresolved':
      return {
        ...base,
        since: step.attempts.at(-1)?.endedAt ?? base.since,
        kind: 'unresolved',
        text: `Nobody knows whether ${what} took effect${step.error === undefined ? '' : ` (${step.error.message})`}. Look in the target system, then settle it.`,
      };
    case 'running':
      return { ...base, kind: 'performing', text: `${what} is being performed, attempt ${step.attempt}.`, ...untilLease(step) };
    case 'ready':
      return { ...base, kind: 'beginning', text: `${what} is about to begin.` };
    default:
      return waiting(facts, step, base, what);
  }
}

/** A lease is a promise to be done by then. */
function untilLease(step: StepRecord): Pick<WaitingReason, 'until' | 'then'> {
  return step.lease === undefined ? {} : { until: step.lease.until, then: 'without an answer by then the attempt counts as lost' };
}

function waiting(facts: WaitingFacts, step: StepRecord, base: Omit<WaitingReason, 'kind' | 'text'>, what: string): WaitingReason {
  const until = step.wakeAt === undefined ? {} : { until: step.wakeAt };
  switch (step.wait?.kind) {
    case 'approval':
      return ofApproval(facts, step.wait.approvalId, { ...base, ...until }, what);
    case 'event': {
      const on = step.wait.key === undefined ? `"${step.wait.event}"` : `"${step.wait.event}" for ${step.wait.key}`;
      return {
        ...base,
        ...until,
        kind: 'event',
        on,
        text: `${what} waits for the event ${on}.`,
        then: 'the step goes on without the event, or fails, as its workflow says',
      };
    }
    case 'run':
      return {
        ...base,
        kind: 'run',
        on: step.wait.runId,
        text: `${what} waits for its child run ${step.wait.runId}.`,
        then: 'the step ends with the child run',
      };
    case 'document':
      return { ...base, ...until, kind: 'document', on: step.wait.path, text: `${what} waits for a change of ${step.wait.path}.` };
    case 'retry': {
      const next = step.wakeAt === undefined ? {} : { nextAttemptAt: step.wakeAt };
      const cause = step.error === undefined ? '' : `: ${step.error.message}`;
      return { ...base, ...until, ...next, kind: 'retry', text: `Attempt ${step.attempt} of ${what} failed${cause}. It is tried again.` };
    }
    case 'slot':
      return {
        ...base,
        ...until,
        kind: 'slot',
        on: step.wait.limit,
        text: `${what} waits for a free slot of ${step.wait.limit}.`,
        then: 'it asks again',
      };
    case 'turn':
      return { ...base, kind: 'beginning', text: `${what} has its result; the code is about to see it.` };
    case 'timer':
    case 'children':
    case undefined:
      return { ...base, ...until, kind: 'timer', text: `${what} waits for its time to come.`, then: 'the run goes on' };
  }
}

function ofApproval(facts: WaitingFacts, approvalId: string, base: Omit<WaitingReason, 'kind' | 'text'>, what: string): WaitingReason {
  const approval = facts.approvals?.get(approvalId);
  if (approval === undefined) return { ...base, kind: 'approval', text: `${what} waits for a decision.` };
  const uids = approval.claimedBy === undefined ? approval.eligible : [approval.claimedBy];
  const on = uids.map((uid) => facts.nameOf?.(uid) ?? uid).join(', ') || 'nobody: no member may decide';
  return {
    ...base,
    kind: 'approval',
    on,
    until: approval.deadlineAt,
    then: afterDeadline(approval.onDeadline),
    text: `${what} waits for a decision on "${approval.title}" by ${on}.`,
  };
}

function afterDeadline(onDeadline: ApprovalRecord['onDeadline']): string {
  switch (onDeadline) {
    case 'approve':
      return 'it counts as approved';
    case 'reject':
      return 'it counts as rejected';
    case 'fail':
      return 'the step fails';
    case 'escalate':
      return 'it is passed on';
  }
}

function mayDo(run: RunRecord, step: StepRecord | undefined): readonly CommandOption[] {
  return legalCommands(run, step).filter(({ allowed }) => allowed);
}
