import { commandKinds } from '../model/command.ts';
import type { CommandKind } from '../model/command.ts';
import type { RunRecord, RunStatus } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';

/** What of a run decides which commands it takes. */
export type CommandRun = Pick<RunRecord, 'status' | 'reconciliation' | 'deadlineAt' | 'erasedAt'>;

/** What of a step decides it. */
export type CommandStep = Pick<StepRecord, 'state' | 'type' | 'gate' | 'wait'>;

export interface CommandOption {
  readonly kind: CommandKind;
  readonly allowed: boolean;
  /** What it does, or why it cannot be done now: one sentence without a full stop, for a button's hint. */
  readonly reason: string;
}

interface Row {
  readonly takes: readonly CommandKind[];
  /** Why every other command is refused. */
  readonly otherwise: string;
}

/**
 * The one table of what an operator may do with a run in each state; the engine, the app and the command line go by it. Each
 * state that is not an end has a way out: here, or (`cancelling`) by itself.
 */
const rows: Readonly<Record<RunStatus, Row>> = {
  pending: { takes: ['pause', 'cancel'], otherwise: 'the run has not begun' },
  running: {
    takes: ['pause', 'cancel', 'retry', 'skip', 'override_wait', 'extend_deadline', 'resolve'],
    otherwise: 'the run is going on',
  },
  paused: {
    takes: ['resume', 'cancel', 'retry', 'skip', 'override_wait', 'extend_deadline', 'resolve', 'fork'],
    otherwise: 'the run is paused',
  },
  cancelling: { takes: [], otherwise: 'the run is being ended' },
  compensating: { takes: ['retry', 'skip', 'resolve'], otherwise: 'what the run did is being undone' },
  needs_resolution: { takes: ['retry', 'skip', 'resolve'], otherwise: 'somebody has to settle what could not be undone' },
  diverged: { takes: ['cancel', 'retry', 'fork'], otherwise: 'the code no longer matches what the run has recorded' },
  completed: { takes: ['compensate', 'retry', 'fork', 'accept_mismatch'], otherwise: 'the run has completed' },
  failed: { takes: ['compensate', 'retry', 'fork'], otherwise: 'the run has failed' },
  cancelled: { takes: ['compensate', 'fork'], otherwise: 'the run was cancelled' },
  rejected: { takes: ['fork'], otherwise: 'the run was rejected before its first step' },
  compensated: { takes: ['fork'], otherwise: 'what the run did has been undone' },
};

type Verdict = Omit<CommandOption, 'kind'>;

const yes = (reason: string): Verdict => ({ allowed: true, reason });
const no = (reason: string): Verdict => ({ allowed: false, reason });

/** Every command, with whether it is allowed for this run (and this step of it) now, and why. */
export function legalCommands(run: CommandRun, step?: CommandStep): readonly CommandOption[] {
  return commandKinds.map((kind) => ({ kind, ...verdictOn(kind, run, step) }));
}

export function verdictOn(kind: CommandKind, run: CommandRun, step: CommandStep | undefined): Verdict {
  const row = rows[run.status];
  if (!row.takes.includes(kind)) return no(row.otherwise);
  if (run.erasedAt !== undefined && kind !== 'accept_mismatch') return no('what the run carried has been erased');
  switch (kind) {
    case 'pause':
      return yes('nothing begins until the run is resumed; timers keep their time');
    case 'resume':
      return yes('the run goes on');
    case 'cancel':
      return yes('the run ends now, with everything that it waits for and its child runs');
    case 'compensate':
      return yes('what the run did is undone, the latest first');
    case 'accept_mismatch':
      return run.reconciliation === 'mismatch' ? yes('the difference is accepted as it is') : no('no difference was found');
    case 'retry':
      return retryVerdict(run, step);
    case 'skip':
      return step === undefined ? no('choose the step') : skipVerdict(step);
    case 'override_wait':
      return step === undefined ? no('choose the step') : overrideVerdict(step);
    case 'extend_deadline':
      return extendVerdict(run, step);
    case 'resolve':
      return step === undefined ? no('choose the step') : resolveVerdict(step);
    case 'fork':
      return forkVerdict(run, step);
  }
}

function retryVerdict(run: CommandRun, step: CommandStep | undefined): Verdict {
  if (run.status === 'completed') {
    return step === undefined && run.reconciliation === 'mismatch'
      ? yes('the outcome is looked up in the target system again')
      : no('the run has completed; fork it to run steps again');
  }
  if (run.status === 'failed') {
    return step === undefined || step.state === 'failed'
      ? yes('a new run goes on from the failed step; what came before it is kept')
      : no('this step did not fail; fork the run to repeat it');
  }
  if (step === undefined) return no('choose the step');
  switch (step.state) {
    case 'unresolved':
      return yes('the step is attempted again; its effect may then happen a second time');
    case 'waiting':
      return step.wait?.kind === 'retry' || step.wait?.kind === 'slot'
        ? yes('the next attempt is made now')
        : no(`the step ${waitsFor(step)}; there is nothing to repeat`);
    case 'ready':
      return no('the step is about to begin');
    case 'running':
      return no('an attempt is under way');
    case 'succeeded':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return no('the step has ended and does not change any more; fork the run to repeat it');
  }
}

function skipVerdict(step: CommandStep): Verdict {
  const text = 'the step counts as done, with the output that you supply';
  switch (step.state) {
    case 'unresolved':
      return yes(text);
    case 'ready':
      return step.gate === 'paused' ? yes(text) : no('the step is about to begin; pause the run first');
    case 'waiting':
      return skippableWait(step) ?? yes(text);
    case 'running':
      return no('an attempt is under way');
    case 'succeeded':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return no('the step has ended');
  }
}

function skippableWait(step: CommandStep): Verdict | undefined {
  switch (step.wait?.kind) {
    case 'approval':
      return no('a decision is for those who were asked: reassign the request or extend its deadline');
    case 'children':
      return no('skip the steps inside it instead');
    case 'document':
      return no('the document decides: change it, or let its time run out');
    case 'turn':
      return no('its result is there already');
    case 'timer':
    case 'retry':
    case 'slot':
    case 'event':
    case 'run':
    case undefined:
      return undefined;
  }
}

function overrideVerdict(step: CommandStep): Verdict {
  if (step.state !== 'waiting') return no('the step does not wait');
  switch (step.wait?.kind) {
    case 'timer':
      return yes('the time counts as over');
    case 'event':
      return yes('the event that you supply counts as received');
    case 'approval':
      return no('a decision is for those who were asked: reassign the request or extend its deadline');
    case 'run':
      return no('open the child run, or skip this step with an output');
    case 'document':
      return no('the document decides: change it, or let its time run out');
    case 'retry':
    case 'slot':
      return no('retry the step instead');
    case 'children':
    case 'turn':
    case undefined:
      return no('it waits for its own steps');
  }
}

function extendVerdict(run: CommandRun, step: CommandStep | undefined): Verdict {
  if (step === undefined) return run.deadlineAt === undefined ? no('the run has no deadline') : yes('the run gets more time');
  if (step.state !== 'waiting') return no('the step does not wait');
  switch (step.wait?.kind) {
    case 'approval':
      return yes('those who are asked get more time');
    case 'event':
      return yes('the event may come later');
    case 'timer':
    case 'retry':
    case 'slot':
    case 'children':
    case 'run':
    case 'document':
    case 'turn':
    case undefined:
      return no(`the step ${waitsFor(step)}; it has no deadline of its own`);
  }
}

function resolveVerdict(step: CommandStep): Verdict {
  return step.state === 'unresolved' ? yes('you say what became of it, and the run goes on from there') : no('its outcome is not in doubt');
}

function forkVerdict(run: CommandRun, step: CommandStep | undefined): Verdict {
  if (step === undefined) return yes('a new run begins with the same input');
  if (run.status === 'rejected' || run.status === 'compensated') return no(`${rows[run.status].otherwise}; fork it from the beginning`);
  if (isInternal(step)) return no('choose a step of the workflow');
  return yes('a new run goes on from this step; what came before it is kept');
}

/** Steps that the engine makes for itself: joins and compensations. */
export function isInternal(step: Pick<StepRecord, 'type'>): boolean {
  return step.type.startsWith('$') || step.type === 'compensate';
}

function waitsFor(step: CommandStep): string {
  switch (step.wait?.kind) {
    case 'timer':
      return 'waits for a time';
    case 'retry':
      return 'waits for its next attempt';
    case 'slot':
      return 'waits for a free slot';
    case 'children':
      return 'waits for its own steps';
    case 'approval':
      return 'waits for a decision';
    case 'event':
      return 'waits for an event';
    case 'run':
      return 'waits for its child run';
    case 'document':
      return 'watches a document';
    case 'turn':
      return 'has its result';
    case undefined:
      return 'does not wait';
  }
}
