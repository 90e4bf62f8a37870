import { expect, test } from 'vitest';
import { definitionSchema } from '../model/definition.ts';
import type { Attempt, StepRecord } from '../model/step.ts';
import { mayHaveActed, planCompensation } from './compensation-plan.ts';
import { indexDefinition } from './definition-index.ts';

const undoable = (id: string): object => ({ id, type: 'http', compensate: { type: 'http' } });
const index = indexDefinition(
  definitionSchema.parse({
    id: 'wf',
    steps: [
      undoable('a'),
      undoable('b'),
      { id: 'plain', type: 'http' },
      { id: 'each', type: 'loop', over: { source: 'workflowInput', path: 'x' }, steps: [undoable('c')] },
    ],
  }),
);

const attempt = (given: Partial<Attempt> = {}): Attempt => ({ n: 1, startedAt: 10, endedAt: 20, outcome: 'succeeded', ...given });
const step = (key: string, given: Partial<StepRecord> = {}): StepRecord =>
  ({
    key,
    stepId: key.split('.').at(-1),
    type: 'http',
    state: 'succeeded',
    loops: [],
    seq: 1,
    attempts: [attempt()],
    createdAt: 0,
    endedAt: 20,
    ...given,
  }) as StepRecord;

const order = (...steps: StepRecord[]): string[] => planCompensation(index, steps).map(({ key }) => key);

test('what ended last is undone first', () => {
  expect(order(step('a', { endedAt: 20 }), step('b', { endedAt: 30 }))).toEqual(['b', 'a']);
  expect(order(step('b', { endedAt: 30 }), step('a', { endedAt: 20 }))).toEqual(['b', 'a']);
});

test('of what ended at once, the later step of its path is undone first; then the later by name', () => {
  expect(order(step('a', { seq: 1 }), step('b', { seq: 2 }))).toEqual(['b', 'a']);
  expect(order(step('b', { seq: 1 }), step('a', { seq: 2 }))).toEqual(['a', 'b']);
  expect(order(step('each[0].c'), step('each[1].c'))).toEqual(['each[1].c', 'each[0].c']);
  expect(order(step('each[1].c'), step('each[0].c'))).toEqual(['each[1].c', 'each[0].c']);
});

test('a step without an end counts by the end of its last attempt, or its creation', () => {
  const lost = (endedAt: number): StepRecord =>
    step('a', {
      endedAt: undefined,
      state: 'unresolved',
      attempts: [attempt(), attempt({ n: 2 }), attempt({ n: 3, outcome: 'lost', endedAt })],
    });
  expect(order(lost(50), step('b', { endedAt: 40 }))).toEqual(['a', 'b']);
  expect(order(lost(30), step('b', { endedAt: 40 }))).toEqual(['b', 'a']);
  expect(order(step('a', { endedAt: undefined, attempts: [], createdAt: 50 }), step('b', { endedAt: 40 }))).toEqual(['a', 'b']);
  expect(order(step('a', { endedAt: undefined, attempts: [], createdAt: 30 }), step('b', { endedAt: 40 }))).toEqual(['b', 'a']);
});

test('only steps that declare a compensation and did something are undone', () => {
  expect(order(step('plain'), step('gone'), step('a', { type: '$undo' }), step('b', { state: 'skipped' }))).toEqual([]);
});

test('an attempt that nobody saw the end of says since when it is open; the sensitive stays sensitive', () => {
  const loops = [{ stepId: 'each', index: 0, count: 1, lanes: 1 }];
  expect(planCompensation(index, [step('each[0].c', { loops, sensitive: 'step' })])).toEqual([
    { key: 'each[0].c', stepId: 'c', loops, sensitive: true },
  ]);
  const lost = attempt({ outcome: 'lost' });
  const open = { n: 3, startedAt: 70 };
  expect(planCompensation(index, [step('a', { state: 'unresolved', attempts: [lost, { ...lost, n: 2 }, open] })])).toEqual([
    { key: 'a', stepId: 'a', loops: [], openSince: 70 },
  ]);
  expect(planCompensation(index, [step('a', { attempts: [] })])).toEqual([{ key: 'a', stepId: 'a', loops: [] }]);
});

const harmless = { code: 'http.client_error', class: 'not_retryable', message: 'no' } as const;
const doubtful = { code: 'step.action_failed', class: 'not_retryable', message: 'no' } as const;

test.each<[string, Partial<StepRecord>, boolean]>([
  ['that succeeded', { state: 'succeeded', attempts: [] }, true],
  ['that was skipped', { state: 'skipped', attempts: [attempt()] }, false],
  ['that failed without an attempt', { state: 'failed', attempts: [] }, false],
  ['that was refused by its target', { state: 'failed', attempts: [attempt({ outcome: 'failed', error: harmless })] }, false],
  ['that failed in a way that says nothing', { state: 'failed', attempts: [attempt({ outcome: 'failed', error: doubtful })] }, true],
  ['that failed and nobody knows how', { state: 'failed', attempts: [attempt({ outcome: 'failed' })] }, true],
  [
    'whose first attempt was lost',
    { state: 'failed', attempts: [attempt({ outcome: 'lost', error: harmless }), attempt({ outcome: 'failed', error: harmless })] },
    true,
  ],
  [
    'of which one attempt says nothing',
    { state: 'failed', attempts: [attempt({ outcome: 'failed', error: harmless }), attempt({ outcome: 'failed', error: doubtful })] },
    true,
  ],
  ['that was cancelled under way', { state: 'cancelled', attempts: [{ n: 1, startedAt: 10 }] }, true],
])('a step %s may have acted: %j', (_name, given, expected) => {
  expect(mayHaveActed(step('a', given))).toBe(expected);
});
