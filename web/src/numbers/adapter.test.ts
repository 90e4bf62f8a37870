import { expect, test } from 'vitest';
import { count, encodeSeries, observe, type Series } from '../../../functions/src/telemetry/series.ts';
import { rollupOf } from '../../../functions/src/telemetry/metrics.ts';
import { figuresOf } from './adapter.ts';

/** Made by the engine's own roll-up, so that the two cannot drift apart. */
function day(name: string, fill: (series: Series) => void): ReturnType<typeof rollupOf> {
  const series: Series = new Map();
  fill(series);
  expect(encodeSeries(series)).toContain('workflow_executions_total');
  return rollupOf('acme', name, series, 0);
}

const records = [
  day('2026-11-02', (series) => {
    count(series, 'workflow_executions_total', { workflow: 'pay', status: 'completed' }, 3);
    count(series, 'workflow_executions_total', { workflow: 'pay', status: 'failed' });
    count(series, 'workflow_executions_total', { workflow: 'pay', status: 'cancelled' });
    for (const seconds of [60, 60, 60, 60, 60])
      observe(series, 'workflow_duration_seconds', { workflow: 'pay', status: 'completed' }, seconds);
    count(series, 'workflow_exceptions_total', { workflow: 'pay', cause: 'technical', code: 'x' });
    count(series, 'workflow_llm_cost_usd_total', { workflow: 'pay', model: 'm' }, 2);
    count(series, 'workflow_llm_tokens_total', { workflow: 'pay', model: 'm', kind: 'input' }, 30);
    count(series, 'workflow_llm_tokens_total', { workflow: 'pay', model: 'm', kind: 'cached_input' }, 10);
    for (const seconds of [1, 3]) observe(series, 'workflow_step_seconds', { workflow: 'pay', step: 'book' }, seconds);
  }),
  day('2026-11-01', (series) => {
    count(series, 'workflow_executions_total', { workflow: 'mail', status: 'completed' }, 2);
    count(series, 'workflow_waits_total', { workflow: 'mail', kind: 'approval' }, 2);
    observe(series, 'workflow_wait_seconds', { workflow: 'mail', kind: 'approval' }, 4);
    observe(series, 'workflow_wait_seconds', { workflow: 'mail', kind: 'approval' }, 6);
    count(series, 'workflow_steps_total', { type: 'http', outcome: 'failed' }, 1);
    count(series, 'workflow_steps_total', { type: 'http', outcome: 'succeeded' }, 4);
    observe(series, 'workflow_step_seconds', { workflow: 'pay', step: 'book' }, 5);
    observe(series, 'workflow_step_seconds', { workflow: 'mail', step: 'send' }, 9);
    count(series, 'workflow_retries_total', { workflow: 'mail', type: 'http' }, 3);
  }),
];

test('days are in order and add up', () => {
  const figures = figuresOf(records, undefined);
  expect(
    figures.days.map((each) => `${each.day} ${each.completed} ${each.failed} ${each.other} ${each.meanMinutes} ${each.costUsd}`),
  ).toEqual(['2026-11-01 2 0 0 0 0', '2026-11-02 3 1 1 1 2']);
  expect(figures.totals).toMatchObject({
    ended: 7,
    completed: 5,
    failed: 1,
    technical: 1,
    retries: 3,
    humanWaitMs: 5_000,
    costUsd: 2,
    tokens: 30,
  });
  expect(figures.workflows).toEqual(['mail', 'pay']);
  expect(figures.waits).toEqual([{ kind: 'approval', count: 2, meanMs: 5_000 }]);
  expect(figures.stepTypes).toEqual([{ type: 'http', ended: 5, failed: 1 }]);
});

test('the slowest steps by their mean over all days', () => {
  expect(figuresOf(records, undefined).slowest).toEqual([
    { workflow: 'mail', step: 'send', count: 1, meanMs: 9_000, totalMs: 9_000 },
    { workflow: 'pay', step: 'book', count: 3, meanMs: 3_000, totalMs: 9_000 },
  ]);
});

test('each workflow has its own waits, cost and time', () => {
  const [pay, mail] = figuresOf(records, undefined).byWorkflow;
  expect(pay).toMatchObject({ workflow: 'pay', ended: 5, humanWaitMs: 0, costUsd: 2, meanMs: 60_000 });
  expect(mail).toMatchObject({ workflow: 'mail', ended: 2, humanWaitMs: 5_000, costUsd: 0, meanMs: 0 });
});

test('one workflow, and days without it', () => {
  const figures = figuresOf(records, 'mail');
  expect(figures.totals).toMatchObject({ ended: 2, failed: 0, meanMs: 0, costUsd: 0, retries: 3 });
  expect(figures.days.map(({ day, humanWaitMinutes }) => `${day} ${Math.round(humanWaitMinutes * 60)}`)).toEqual([
    '2026-11-01 5',
    '2026-11-02 0',
  ]);
  expect(figures.slowest.map(({ step }) => step)).toEqual(['send']);
  expect(figures.stepTypes).toEqual([]);
});

test('no days, no division by nothing', () => {
  expect(figuresOf([], undefined)).toMatchObject({ totals: { ended: 0, meanMs: 0, humanWaitMs: 0 }, days: [] });
});
