import { expect, test } from 'vitest';
import type { StepRecord } from '../model/step.ts';
import { dueOf } from './due.ts';

const NOW = 1_000;

function step(fields: object): StepRecord {
  return { state: 'ready', gate: 'open', ...fields } as unknown as StepRecord;
}

test.each([
  ['a new step begins', {}, { kind: 'begin' }],
  ['a new step of a paused run does not', { gate: 'paused' }, { kind: 'nothing' }],
  ['a live lease is left alone', { state: 'running', lease: { until: NOW + 1 } }, { kind: 'early', at: NOW + 1 }],
  ['a lease is over at its very end', { state: 'running', lease: { until: NOW } }, { kind: 'lost' }],
  ['what runs without a lease is nobody’s business', { state: 'running' }, { kind: 'nothing' }],
  ['a pause does not save a lost attempt', { state: 'running', gate: 'paused', lease: { until: NOW } }, { kind: 'lost' }],
  ['a wait without a time', { state: 'waiting', wait: { kind: 'children' } }, { kind: 'nothing' }],
  ['a timer that rings early', { state: 'waiting', wakeAt: NOW + 1, wait: { kind: 'timer' } }, { kind: 'early', at: NOW + 1 }],
  ['a timer at its very time', { state: 'waiting', wakeAt: NOW, wait: { kind: 'timer' } }, { kind: 'wake' }],
  ['a time of nobody knows what', { state: 'waiting', wakeAt: NOW }, { kind: 'wake' }],
  ['a timer of a paused run', { state: 'waiting', gate: 'paused', wakeAt: NOW, wait: { kind: 'timer' } }, { kind: 'wake' }],
  ['the next attempt', { state: 'waiting', wakeAt: NOW, wait: { kind: 'retry' } }, { kind: 'wake' }],
  ['the next attempt of a paused run', { state: 'waiting', gate: 'paused', wakeAt: NOW, wait: { kind: 'retry' } }, { kind: 'nothing' }],
  ['a place in a paused run', { state: 'waiting', gate: 'paused', wakeAt: NOW, wait: { kind: 'slot' } }, { kind: 'nothing' }],
  ['an event’s time in a paused run', { state: 'waiting', gate: 'paused', wakeAt: NOW, wait: { kind: 'event' } }, { kind: 'wake' }],
  ...['unresolved', 'succeeded', 'failed', 'skipped', 'cancelled'].map(
    (state) => [`a step that is ${state}`, { state, wakeAt: NOW, lease: { until: NOW } }, { kind: 'nothing' }] as const,
  ),
] as const)('%s', (_name, fields, expected) => {
  expect(dueOf(step(fields), NOW)).toEqual(expected);
});
