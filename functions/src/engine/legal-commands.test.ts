import { describe, expect, test } from 'vitest';
import { commandKinds } from '../model/command.ts';
import type { CommandKind } from '../model/command.ts';
import { runStatuses, terminalRunStatuses } from '../model/run.ts';
import type { RunStatus } from '../model/run.ts';
import { stepStates } from '../model/step.ts';
import type { StepState, Wait } from '../model/step.ts';
import { legalCommands } from './legal-commands.ts';
import type { CommandStep } from './legal-commands.ts';

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
