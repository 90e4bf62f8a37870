import { expect, test } from 'vitest';
import type { CommandKind } from '@model/command.ts';
import type { Wait } from '@model/step.ts';
import { argumentOf, needsOf, type CommandChoices } from './command-argument.ts';

const argument = (kind: CommandKind, choices: CommandChoices, wait?: Wait): string | undefined => argumentOf(needsOf(kind, wait), choices);

test('only what belongs to the command is sent, in the form that the engine expects', () => {
  expect(argument('skip', { output: { a: 1 }, until: 5 })).toBe('{"output":{"a":1}}');
  expect(argument('extend_deadline', { until: 0 })).toBe('{"until":"1970-01-01T00:00:00.000Z"}');
  expect(argument('fork', {})).toBeUndefined();
  expect(argument('fork', { version: 2 })).toBe('{"version":2}');
  expect(argument('retry', { input: null })).toBe('{"input":null}');
  expect(argument('pause', { output: 1 })).toBeUndefined();
  expect(argument('cancel', { compensate: true })).toBe('{"compensate":true}');
  expect(argument('cancel', {})).toBeUndefined();
});

test('what did not take effect has no output', () => {
  expect(argument('resolve', { output: 1 })).toBe('{"outcome":"succeeded","output":1}');
  expect(argument('resolve', { outcome: 'failed', output: 1 })).toBe('{"outcome":"failed"}');
});

test('only a wait for an event takes one', () => {
  expect(argument('override_wait', { payload: { paid: true } }, { kind: 'event', waitId: 'w', event: 'paid' })).toBe(
    '{"payload":{"paid":true}}',
  );
  expect(argument('override_wait', {}, { kind: 'timer' })).toBeUndefined();
});
