import { describe, expect, test } from 'vitest';
import { commandKinds } from '../model/command.ts';
import type { CommandKind } from '../model/command.ts';
import { runStatuses, terminalRunStatuses } from '../model/run.ts';
import type { RunStatus } from '../model/run.ts';
import { stepStates } from '../model/step.ts';
import type { StepState, Wait } from '../model/step.ts';
import { legalCommands, verdictOn } from './legal-commands.ts';
import type { CommandRun, CommandStep } from './legal-commands.ts';

function allowed(status: RunStatus, step?: CommandStep, more: object = {}): CommandKind[] {
  return legalCommands({ status, ...more }, step).flatMap((option) => (option.allowed ? [option.kind] : []));
}

/** Every run state and every command on the run itself: allowed or not. */
const ofRun: Record<RunStatus, CommandKind[]> = {
  pending: ['pause', 'cancel'],
  running: ['pause', 'cancel'],
  paused: ['resume', 'cancel', 'fork'],
  cancelling: [],
  compensating: [],
  completed: ['compensate', 'fork'],
  failed: ['retry', 'compensate', 'fork'],
  cancelled: ['compensate', 'fork'],
  rejected: ['fork'],
  compensated: ['fork'],
  needs_resolution: [],
  diverged: ['cancel', 'fork'],
};

const step = (state: StepState, more: Partial<CommandStep> = {}): CommandStep => ({ state, type: 'http', gate: 'open', ...more });
const waiting = (wait: Wait): CommandStep => step('waiting', { wait });

/** What can be done with a step of a running run; `pause` and `cancel` are always there. */
const ofStep: Record<string, [CommandStep, CommandKind[]]> = {
  ready: [step('ready'), []],
  'ready, held': [step('ready', { gate: 'paused' }), ['skip']],
  running: [step('running'), []],
  unresolved: [step('unresolved'), ['retry', 'skip', 'resolve']],
  succeeded: [step('succeeded'), []],
  failed: [step('failed'), []],
  skipped: [step('skipped'), []],
  cancelled: [step('cancelled'), []],
  'waiting: timer': [waiting({ kind: 'timer' }), ['skip', 'override_wait']],
  'waiting: retry': [waiting({ kind: 'retry' }), ['retry', 'skip']],
  'waiting: slot': [waiting({ kind: 'slot', limit: 'x' }), ['retry', 'skip']],
  'waiting: children': [waiting({ kind: 'children' }), []],
  'waiting: approval': [waiting({ kind: 'approval', approvalId: 'a' }), ['extend_deadline']],
  'waiting: event': [waiting({ kind: 'event', waitId: 'w', event: 'paid' }), ['skip', 'override_wait', 'extend_deadline']],
  'waiting: run': [waiting({ kind: 'run', runId: 'r' }), ['skip']],
  'waiting: document': [waiting({ kind: 'document', path: 'a/b' }), []],
  'waiting: turn': [waiting({ kind: 'turn' }), []],
};

describe('the table of commands', () => {
  test.each(runStatuses)('a %s run', (status) => {
    expect(allowed(status).sort()).toEqual([...ofRun[status]].sort());
  });

  test.each(Object.entries(ofStep))('a step that is %s', (_name, [record, expected]) => {
    expect(allowed('running', record).sort()).toEqual(['cancel', 'pause', ...expected].sort());
  });

  test.each(Object.entries(ofStep))('a step that is %s, in a paused run', (_name, [record, expected]) => {
    expect(allowed('paused', record).sort()).toEqual(['cancel', 'fork', 'resume', ...expected].sort());
  });

  test('a step whose outcome is in doubt, in a run that is being undone or no longer fits its code', () => {
    expect(allowed('compensating', step('unresolved'))).toEqual(['retry', 'skip', 'resolve']);
    expect(allowed('diverged', step('unresolved')).sort()).toEqual(['cancel', 'fork', 'retry']);
  });

  test('every state of a step is in the table', () => {
    expect([...new Set(Object.values(ofStep).map(([{ state }]) => state))].sort()).toEqual([...stepStates].sort());
  });

  test('every command has a reason in every state, in words', () => {
    for (const status of runStatuses) {
      for (const record of [undefined, ...Object.values(ofStep).map(([found]) => found)]) {
        const options = legalCommands({ status }, record);
        expect(options.map(({ kind }) => kind)).toEqual([...commandKinds]);
        for (const { reason } of options) expect(reason).toMatch(/^[a-z].{8,}[^.]$/);
      }
    }
  });

  test('C7 every state that is not an end has a way out', () => {
    const open = runStatuses.filter((status) => !terminalRunStatuses.has(status) && status !== 'cancelling');
    for (const status of open) {
      const ways = Object.values(ofStep).flatMap(([record]) => allowed(status, record));
      expect(ways, status).not.toEqual([]);
    }
  });

  test('an ended step is never changed, whatever the run is', () => {
    for (const status of runStatuses) {
      const changes = allowed(status, step('succeeded')).filter((kind) => ['retry', 'skip', 'override_wait', 'resolve'].includes(kind));
      expect(changes, status).toEqual([]);
    }
  });

  test('a compensation that could not be carried out can be retried, skipped or settled', () => {
    expect(allowed('needs_resolution', step('unresolved', { type: '$undo' }))).toEqual(['retry', 'skip', 'resolve']);
    expect(allowed('compensating', step('waiting', { type: '$undo', wait: { kind: 'retry' } }))).toEqual(['retry', 'skip']);
  });

  test('a mismatch can be accepted or checked again', () => {
    expect(allowed('completed', undefined, { reconciliation: 'mismatch' })).toEqual(['retry', 'compensate', 'fork', 'accept_mismatch']);
    expect(allowed('completed', undefined, { reconciliation: 'reconciled' })).toEqual(['compensate', 'fork']);
  });

  test('only a run with a deadline gets more time', () => {
    expect(allowed('running', undefined, { deadlineAt: 1 })).toContain('extend_deadline');
    expect(allowed('completed', undefined, { deadlineAt: 1 })).not.toContain('extend_deadline');
  });

  test('retrying a failed run is about its failed step only', () => {
    expect(allowed('failed', step('failed'))).toContain('retry');
    expect(allowed('failed', step('succeeded'))).not.toContain('retry');
  });

  test('no fork begins at a step that the engine made for itself, or whose effects are undone', () => {
    expect(allowed('failed', step('succeeded', { type: '$join' }))).not.toContain('fork');
    expect(allowed('compensated', step('succeeded'))).not.toContain('fork');
    expect(allowed('rejected', step('succeeded'))).not.toContain('fork');
  });
});

// What a person reads at a button: the right sentence at the right command.

const steps: Readonly<Record<string, CommandStep>> = {
  ready: step('ready'),
  held: step('ready', { gate: 'paused' }),
  running: step('running'),
  unresolved: step('unresolved'),
  ended: step('succeeded'),
  timer: waiting({ kind: 'timer' }),
  retry: waiting({ kind: 'retry' }),
  slot: waiting({ kind: 'slot', limit: 'x' }),
  children: waiting({ kind: 'children' }),
  approval: waiting({ kind: 'approval', approvalId: 'a' }),
  event: waiting({ kind: 'event', waitId: 'w', event: 'paid' }),
  run: waiting({ kind: 'run', runId: 'r' }),
  document: waiting({ kind: 'document', path: 'a/b' }),
  turn: waiting({ kind: 'turn' }),
  unknown: step('waiting'),
};

/** Each sentence with the steps that it is said of. */
function said(kind: CommandKind): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, record] of Object.entries(steps)) {
    const { allowed, reason } = verdictOn(kind, { status: 'running' }, record);
    const words = `${allowed ? 'yes' : 'no'}: ${reason}`;
    found[words] = found[words] === undefined ? name : `${found[words]} ${name}`;
  }
  return found;
}

test.each<[CommandKind, Record<string, string>]>([
  [
    'retry',
    {
      'no: the step is about to begin': 'ready held',
      'no: an attempt is under way': 'running',
      'yes: the step is attempted again; its effect may then happen a second time': 'unresolved',
      'no: the step has ended and does not change any more; fork the run to repeat it': 'ended',
      'yes: the next attempt is made now': 'retry slot',
      'no: the step waits for a time; there is nothing to repeat': 'timer',
      'no: the step waits for its own steps; there is nothing to repeat': 'children',
      'no: the step waits for a decision; there is nothing to repeat': 'approval',
      'no: the step waits for an event; there is nothing to repeat': 'event',
      'no: the step waits for its child run; there is nothing to repeat': 'run',
      'no: the step watches a document; there is nothing to repeat': 'document',
      'no: the step has its result; there is nothing to repeat': 'turn',
      'no: the step does not wait; there is nothing to repeat': 'unknown',
    },
  ],
  [
    'skip',
    {
      'no: the step is about to begin; pause the run first': 'ready',
      'yes: the step counts as done, with the output that you supply': 'held unresolved timer retry slot event run unknown',
      'no: an attempt is under way': 'running',
      'no: the step has ended': 'ended',
      'no: skip the steps inside it instead': 'children',
      'no: a decision is for those who were asked: reassign the request or extend its deadline': 'approval',
      'no: the document decides: change it, or let its time run out': 'document',
      'no: its result is there already': 'turn',
    },
  ],
  [
    'override_wait',
    {
      'no: the step does not wait': 'ready held running unresolved ended',
      'yes: the time counts as over': 'timer',
      'no: retry the step instead': 'retry slot',
      'no: it waits for its own steps': 'children turn unknown',
      'no: a decision is for those who were asked: reassign the request or extend its deadline': 'approval',
      'yes: the event that you supply counts as received': 'event',
      'no: open the child run, or skip this step with an output': 'run',
      'no: the document decides: change it, or let its time run out': 'document',
    },
  ],
  [
    'extend_deadline',
    {
      'no: the step does not wait': 'ready held running unresolved ended',
      'no: the step waits for a time; it has no deadline of its own': 'timer',
      'no: the step waits for its next attempt; it has no deadline of its own': 'retry',
      'no: the step waits for a free slot; it has no deadline of its own': 'slot',
      'no: the step waits for its own steps; it has no deadline of its own': 'children',
      'yes: those who are asked get more time': 'approval',
      'yes: the event may come later': 'event',
      'no: the step waits for its child run; it has no deadline of its own': 'run',
      'no: the step watches a document; it has no deadline of its own': 'document',
      'no: the step has its result; it has no deadline of its own': 'turn',
      'no: the step does not wait; it has no deadline of its own': 'unknown',
    },
  ],
  [
    'resolve',
    {
      'no: its outcome is not in doubt': 'ready held running ended timer retry slot children approval event run document turn unknown',
      'yes: you say what became of it, and the run goes on from there': 'unresolved',
    },
  ],
])('%s', (kind, expected) => {
  expect(said(kind)).toEqual(expected);
});

const failed = step('failed');
const done = step('succeeded');
test.each<[CommandKind, CommandRun, CommandStep | undefined, string]>([
  ['pause', { status: 'running' }, undefined, 'yes: nothing begins until the run is resumed; timers keep their time'],
  ['resume', { status: 'paused' }, undefined, 'yes: the run goes on'],
  ['cancel', { status: 'paused' }, undefined, 'yes: the run ends now, with everything that it waits for and its child runs'],
  ['compensate', { status: 'failed' }, undefined, 'yes: what the run did is undone, the latest first'],
  ['accept_mismatch', { status: 'completed' }, undefined, 'no: no difference was found'],
  ['accept_mismatch', { status: 'completed', reconciliation: 'mismatch' }, undefined, 'yes: the difference is accepted as it is'],
  ['retry', { status: 'completed', reconciliation: 'mismatch' }, undefined, 'yes: the outcome is looked up in the target system again'],
  ['retry', { status: 'completed', reconciliation: 'mismatch' }, done, 'no: the run has completed; fork it to run steps again'],
  ['retry', { status: 'completed' }, undefined, 'no: the run has completed; fork it to run steps again'],
  ['retry', { status: 'failed' }, undefined, 'yes: a new run goes on from the failed step; what came before it is kept'],
  ['retry', { status: 'failed' }, failed, 'yes: a new run goes on from the failed step; what came before it is kept'],
  ['retry', { status: 'failed' }, done, 'no: this step did not fail; fork the run to repeat it'],
  ['extend_deadline', { status: 'running' }, undefined, 'no: the run has no deadline'],
  ['extend_deadline', { status: 'running', deadlineAt: 1 }, undefined, 'yes: the run gets more time'],
  ['fork', { status: 'failed' }, undefined, 'yes: a new run begins with the same input'],
  ['fork', { status: 'failed' }, done, 'yes: a new run goes on from this step; what came before it is kept'],
  ['fork', { status: 'failed' }, step('succeeded', { type: '$join' }), 'no: choose a step of the workflow'],
  ['fork', { status: 'failed' }, step('succeeded', { type: 'compensate' }), 'no: choose a step of the workflow'],
  ['fork', { status: 'rejected' }, done, 'no: the run was rejected before its first step; fork it from the beginning'],
  ['fork', { status: 'compensated' }, done, 'no: what the run did has been undone; fork it from the beginning'],
  ['fork', { status: 'completed', erasedAt: 1 }, undefined, 'no: what the run carried has been erased'],
  ['compensate', { status: 'completed', erasedAt: 1 }, undefined, 'no: what the run carried has been erased'],
  [
    'accept_mismatch',
    { status: 'completed', erasedAt: 1, reconciliation: 'mismatch' },
    undefined,
    'yes: the difference is accepted as it is',
  ],
  ...(['retry', 'skip', 'override_wait', 'resolve'] as const).map((kind): [CommandKind, CommandRun, undefined, string] => [
    kind,
    { status: 'running' },
    undefined,
    'no: choose the step',
  ]),
])('%s of %j, %j: %s', (kind, run, of, expected) => {
  const { allowed, reason } = verdictOn(kind, run, of);
  expect(`${allowed ? 'yes' : 'no'}: ${reason}`).toBe(expected);
});
