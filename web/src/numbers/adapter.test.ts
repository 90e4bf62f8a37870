import { expect, test } from 'vitest';
import { figuresOf, metricsShape } from './adapter.ts';

const day = (name: string, workflows: object): { day: string; record: ReturnType<typeof metricsShape.parse> } => ({
  day: name,
  record: metricsShape.parse({ workflows }),
});
const records = [
  day('2026-11-02', {
    pay: {
      started: 5,
      runs: { completed: 3, failed: 1, cancelled: 1 },
      durationMs: 300_000,
      costMicroUsd: 2_000_000,
      steps: { call: { count: 5, durationMs: 500 } },
    },
  }),
  day('2026-11-01', {
    pay: { started: 1, runs: { completed: 1 }, durationMs: 60_000, steps: { call: { count: 1, durationMs: 700 } } },
    mail: { started: 2, runs: { completed: 2 }, humanWaits: 2, humanWaitMs: 10_000 },
  }),
];

test('days are in order and add up', () => {
  const figures = figuresOf(records, undefined);
  expect(figures.days.map((each) => `${each.day} ${each.completed} ${each.failed} ${each.other}`)).toEqual([
    '2026-11-01 3 0 0',
    '2026-11-02 3 1 1',
  ]);
  expect(figures).toMatchObject({
    started: 8,
    completed: 6,
    failed: 1,
    ended: 8,
    meanMs: 45_000,
    humanWaitMs: 5_000,
    costUsd: 2,
    workflows: ['mail', 'pay'],
  });
  expect(figures.slowest).toEqual([{ id: 'call', count: 6, meanMs: 200 }]);
});

test('one workflow, and days without it', () => {
  expect(figuresOf(records, 'mail')).toMatchObject({ started: 2, ended: 2 });
  expect(figuresOf(records, 'mail').days).toHaveLength(2);
});

test('missing and odd fields count as nothing', () => {
  expect(figuresOf([day('2026-11-03', { pay: { runs: 'x', started: -1 } })], undefined)).toMatchObject({ started: 0, ended: 0, meanMs: 0 });
});
