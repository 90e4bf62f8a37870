import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import { rollupRecordSchema } from '../model/metrics.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { operationFollowers } from '../runner/followers.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, Operations } from '../testing/operations.testing.ts';
import { countRun, readSeries, TOTAL } from './metrics.ts';
import { renderMetrics } from './prometheus.ts';
import { count, decodeSeries, encodeSeries, merge, observe, samplesOf, SERIES_MAX } from './series.ts';
import type { Series } from './series.ts';

/** Repeatable randomness. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const actions = (roll: () => number) => [
  defineAction({
    name: 'flaky',
    input: z.looseObject({}),
    output: z.json(),
    idempotent: true,
    run: () => {
      if (roll() < 0.3) throw new KilnError('http.server_error', '503');
      return 'ok';
    },
  }),
  defineAction({ name: 'steady', input: z.looseObject({}), output: z.json(), idempotent: true, run: () => 'ok' }),
  defineAction({
    name: 'broken',
    input: z.looseObject({}),
    output: z.json(),
    run: () => {
      throw new KilnError('http.client_error', '404');
    },
  }),
];

const act = (id: string, action: string, more: object = {}): object => ({ id, type: 'action', action, ...more });
const undo = { type: 'action', action: 'steady' };

const workflows: Record<string, object> = {
  plain: { steps: [act('a', 'flaky'), act('b', 'flaky')] },
  loop: {
    steps: [{ id: 'each', type: 'loop', concurrency: 3, over: { source: 'static', items: [1, 2, 3, 4] }, steps: [act('a', 'flaky')] }],
  },
  waits: { steps: [{ id: 'w', type: 'wait', for: '10m' }, act('a', 'flaky')] },
  refuses: { steps: [act('a', 'flaky'), { id: 'f', type: 'fail', code: 'no_stock' }] },
  fails: { steps: [act('a', 'flaky'), act('b', 'broken')] },
  undoes: {
    onError: 'compensate',
    steps: [act('a', 'flaky', { compensate: undo }), act('b', 'flaky', { compensate: undo }), act('c', 'broken')],
  },
  staged: {
    states: { initial: 'new', transitions: { new: ['done'], done: [] } },
    steps: [{ id: 'w', type: 'wait', for: '5m' }, act('a', 'flaky', { setsState: 'done' })],
  },
  rejects: { businessKey: '{{workflow_input.missing}}', steps: [act('a', 'flaky')] },
};

interface Counted {
  readonly [series: string]: number;
}

/** The same figures, counted from the documents by the shortest way. */
function recount(ops: Operations): Counted {
  const totals: Record<string, number> = {};
  const add = (series: string, by = 1): void => void (totals[series] = (totals[series] ?? 0) + by);
  const runs = ops.docs('runs').map((data) => runRecordSchema.parse(data));
  for (const run of runs) {
    const label = `workflow=${run.workflowId}`;
    add(`executions ${label} status=${run.status}`);
    add(`duration ${label}`, ((run.endedAt ?? 0) - run.createdAt) / 1_000);
    if (run.error !== undefined) add(`exceptions ${label} code=${run.error.code}`);
    if (run.status === 'compensated') add(`compensations ${label}`);
  }
  for (const step of allSteps(ops)) {
    const type = step.type.replace('$', '');
    add(`steps type=${type} outcome=${step.state}`);
    for (const { outcome } of step.attempts) add(`attempts type=${type} outcome=${outcome ?? 'cut_off'}`);
    if (step.attempt > 1) add(`retries type=${type}`, step.attempt - 1);
    if (step.wait?.kind === 'timer') add('waits kind=timer');
    else if (step.attempts.length > 0) {
      add(`worked step=${step.workflowId}.${step.stepId}`);
      add(`seconds step=${step.workflowId}.${step.stepId}`, ((step.endedAt ?? 0) - (step.startedAt ?? 0)) / 1_000);
    }
  }
  for (const doc of ops.host.store.all()) if (doc.path.includes('/states/')) add('states');
  return totals;
}

function allSteps(ops: Operations): readonly StepRecord[] {
  return [...ops.host.store.all()].filter(({ path }) => path.includes('/steps/')).map(({ data }) => stepRecordSchema.parse(data));
}

/** What Prometheus reads, in the same words. */
function shown(text: string): Counted {
  const totals: Record<string, number> = {};
  const add = (series: string, by: number): void => void (totals[series] = (totals[series] ?? 0) + by);
  for (const line of text.split('\n')) {
    const found = /^(\w+)(?:\{(.*)\})? ([0-9.e+-]+)$/.exec(line);
    if (found === null) continue;
    const [, name = '', labelText = '', value = ''] = found;
    const labels = Object.fromEntries([...labelText.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text]));
    const is = (wanted: string): boolean => name === wanted;
    const n = Number(value);
    if (is('workflow_executions_total')) add(`executions workflow=${labels['workflow']} status=${labels['status']}`, n);
    if (is('workflow_duration_seconds_sum')) add(`duration workflow=${labels['workflow']}`, n);
    if (is('workflow_exceptions_total')) add(`exceptions workflow=${labels['workflow']} code=${labels['code']}`, n);
    if (is('workflow_compensations_total')) add(`compensations workflow=${labels['workflow']}`, n);
    if (is('workflow_steps_total')) add(`steps type=${labels['type']} outcome=${labels['outcome']}`, n);
    if (is('workflow_step_attempts_total')) add(`attempts type=${labels['type']} outcome=${labels['outcome']}`, n);
    if (is('workflow_retries_total')) add(`retries type=${labels['type']}`, n);
    if (is('workflow_waits_total')) add(`waits kind=${labels['kind']}`, n);
    if (is('workflow_step_seconds_count')) add(`worked step=${labels['workflow']}.${labels['step']}`, n);
    if (is('workflow_step_seconds_sum')) add(`seconds step=${labels['workflow']}.${labels['step']}`, n);
    if (is('workflow_state_seconds_count')) add('states', n);
  }
  return totals;
}

describe('metrics', () => {
  test('equal a recount of the documents after 500 runs with injected duplicates and crashes', async () => {
    const roll = dice(7);
    let crashing = false;
    const ops = new Operations({
      actions: actions(dice(3)),
      followers: operationFollowers,
      concurrent: true,
      // Half of all deliveries come twice, some of them at the same time.
      around: (route) => async (runtime, snapshot) => {
        const twice = roll() < 0.5;
        if (twice && roll() < 0.5) await Promise.all([route(runtime, snapshot), route(runtime, snapshot)]);
        else await route(runtime, snapshot);
        if (twice) await route(runtime, snapshot);
      },
      hooks: {
        after: ({ kind }) =>
          crashing && kind === 'commit' && roll() < 0.02 ? Promise.reject(new Error('the answer got lost')) : Promise.resolve(),
      },
      redelivers: (error) => error instanceof Error && error.message === 'the answer got lost',
    });
    for (const [id, definition] of Object.entries(workflows)) await ops.publish(id, definition);
    const names = Object.keys(workflows);
    crashing = true;
    for (let i = 0; i < 500; i += 1) await ops.start(names[i % names.length] ?? '', {}, `run${i}`).catch(() => undefined);
    for (let minute = 0; minute < 30; minute += 1) {
      await ops.host.advance(60_000);
      await ops.reconcile().catch(() => undefined);
    }
    crashing = false;
    for (let minute = 0; minute < 30; minute += 1) {
      await ops.host.advance(60_000);
      await ops.reconcile();
    }
    const ended = ops.docs('runs').map((data) => String(data['status']));
    expect(ended.filter((status) => !['completed', 'failed', 'compensated', 'rejected'].includes(status))).toEqual([]);
    expect(ended.length).toBe(500);
    const { text } = await renderMetrics(ops.runtime.store, ops.host.now);
    const expected = recount(ops);
    const found = shown(text);
    expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
    for (const [series, value] of Object.entries(expected)) expect(found[series], series).toBeCloseTo(value, 3);
    const days = ops.docs('rollups').map((data) => rollupRecordSchema.parse(data));
    expect(days.reduce((sum, day) => sum + Object.values(day.runs).reduce((a, b) => a + b, 0), 0)).toBe(500);
  }, 120_000);

  test('a run that is undone after it was counted counts once as a run, and once as undone', async () => {
    const ops = new Operations({ actions: actions(() => 1), followers: operationFollowers });
    await ops.publish('wf', [act('a', 'flaky', { compensate: undo })]);
    const run = await ops.start('wf');
    await ops.command(run, 'compensate');
    await ops.host.advance(120_000);
    await ops.reconcile();
    await countRun(ops.runtime, ops.run(run));
    const found = shown((await renderMetrics(ops.runtime.store, ops.host.now)).text);
    expect(found).toMatchObject({
      'executions workflow=wf status=completed': 1,
      'compensations workflow=wf': 1,
      'steps type=undo outcome=succeeded': 1,
    });
    expect(Object.keys(found).filter((series) => series.startsWith('executions'))).toEqual(['executions workflow=wf status=completed']);
  });

  test('of runs that end together each is counted, once, however often its end is followed at the same moment', async () => {
    const ops = new Operations({ actions: actions(() => 1) });
    await ops.publish('wf', [act('a', 'flaky')]);
    const runs: string[] = [];
    for (let n = 0; n < 60; n += 1) runs.push(await ops.start('wf'));
    await Promise.all([...runs, ...runs].map((run) => countRun(ops.runtime, ops.run(run))));
    const found = shown((await renderMetrics(ops.runtime.store, ops.host.now)).text);
    expect(found).toMatchObject({ 'executions workflow=wf status=completed': 60, 'steps type=action outcome=succeeded': 60 });
  });

  test('steps that a fork took over are counted where they ran', async () => {
    const ops = new Operations({ actions: actions(() => 1), followers: operationFollowers });
    await ops.publish('wf', [act('a', 'flaky'), act('b', 'flaky')]);
    const run = await ops.start('wf');
    await ops.host.advance(1_000);
    await ops.command(run, 'fork', { stepKey: 'b' });
    const found = shown((await renderMetrics(ops.runtime.store, ops.host.now)).text);
    expect(found['steps type=action outcome=succeeded']).toBe(3);
  });

  test('an effect that was asked for twice is counted as prevented', async () => {
    const ops = new Operations({ actions: actions(() => 1), followers: operationFollowers });
    await ops.publish('wf', [act('a', 'flaky', { effectKey: 'pay:{{workflow_input.id}}' })]);
    await ops.start('wf', { id: 1 });
    await ops.start('wf', { id: 1 });
    const { text } = await renderMetrics(ops.runtime.store, ops.host.now);
    expect(text).toContain('workflow_prevented_duplicates_total{account="acme",workflow="wf"} 1');
  });

  test('what is open is shown as it is now', async () => {
    const ops = new Operations({ actions: actions(() => 1), followers: operationFollowers });
    await ops.publish('wf', [
      { id: 'w', type: 'wait', for: '1h' },
      { id: 'f', type: 'fail', code: 'no' },
    ]);
    await ops.start('wf');
    await ops.host.advance(600_000);
    const { text } = await renderMetrics(ops.runtime.store, ops.host.now);
    expect(text).toContain(
      'workflow_open_runs{account="acme",status="running",workflow="wf"} 1'.replace(
        'status="running",workflow="wf"',
        'workflow="wf",status="running"',
      ),
    );
    expect(text).toContain('workflow_oldest_open_run_age_seconds{account="acme",workflow="wf"} 600');
    await ops.host.advance(3_600_000);
    const after = await renderMetrics(ops.runtime.store, ops.host.now);
    expect(after.text).not.toContain('workflow_open_runs{');
    expect(after.text).toContain('workflow_open_exceptions{account="acme",kind="business"} 1');
  });

  test('the exposition is of the form that Prometheus reads: each family once, histograms cumulative', async () => {
    const ops = new Operations({ actions: actions(() => 1), followers: operationFollowers });
    await ops.publish('wf', [{ id: 'w', type: 'wait', for: '2m' }]);
    await ops.start('wf');
    await ops.host.advance(600_000);
    const { text, contentType } = await renderMetrics(ops.runtime.store, ops.host.now);
    expect(contentType).toContain('text/plain');
    const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name]) => name);
    expect(new Set(types).size).toBe(types.length);
    const buckets = [...text.matchAll(/^workflow_wait_seconds_bucket\{[^}]*le="([^"]+)"\} (\d+)$/gm)].map(([, le, n]) => [le, Number(n)]);
    expect(buckets).toEqual([
      ['1', 0],
      ['5', 0],
      ['15', 0],
      ['60', 0],
      ['300', 1],
      ['900', 1],
      ['3600', 1],
      ['14400', 1],
      ['86400', 1],
      ['604800', 1],
      ['+Inf', 1],
    ]);
  });
});

describe('series', () => {
  test('come back from text as they were', () => {
    const series: Series = new Map();
    count(series, 'workflow_steps_total', { type: 'http', outcome: 'failed' }, 2);
    observe(series, 'workflow_duration_seconds', { workflow: 'wf', status: 'completed' }, 70);
    expect(decodeSeries(encodeSeries(series))).toEqual(series);
    expect(samplesOf(series)).toContainEqual({
      name: 'workflow_duration_seconds',
      labels: { le: '300', status: 'completed', workflow: 'wf' },
      value: 1,
    });
  });

  test('label values are bounded: nobody’s data becomes part of the format', () => {
    const series: Series = new Map();
    count(series, 'workflow_exceptions_total', { workflow: 'wf', cause: 'business', code: `x"} 1\n${'y'.repeat(200)}` });
    const [sample] = samplesOf(series);
    expect(sample?.labels['code']).toMatch(/^[A-Za-z0-9_.:@ +-]{1,64}$/);
  });

  test('too many are counted together, and the sum stays right', () => {
    const into: Series = new Map();
    for (let i = 0; i < SERIES_MAX + 100; i += 1) {
      const from: Series = new Map();
      count(from, 'workflow_exceptions_total', { workflow: 'wf', cause: 'business', code: `code${i}` });
      merge(into, from);
    }
    expect(into.size).toBe(SERIES_MAX + 1);
    expect([...into.values()].reduce((a, b) => a + b, 0)).toBe(SERIES_MAX + 100);
  });
});

test('steps are counted by name up to a number, so that names that code makes up crowd nothing out', () => {
  const into: Series = new Map();
  for (let i = 0; i < 700; i += 1) {
    const from: Series = new Map();
    observe(from, 'workflow_step_seconds', { workflow: 'wf', step: `step${i}` }, 2);
    merge(into, from);
  }
  const samples = samplesOf(into).filter(({ name }) => name.startsWith('workflow_step_seconds'));
  expect(samples.length).toBe(1_000 + 2);
  const others = samples.filter(({ labels }) => labels['step'] === 'other');
  expect(others.map(({ value }) => value)).toEqual([200, 400]);
});

describe('the counters of an account', () => {
  test('lie in several documents, by day and for all time', async () => {
    const ops = new Operations({ actions: actions(() => 1), followers: operationFollowers });
    await ops.publish('wf', [act('a', 'flaky')]);
    for (let i = 0; i < 40; i += 1) await ops.start('wf', {}, `r${i}`);
    const docs = [...ops.host.store.all()].filter(({ path }) => path.startsWith(`${paths.account(ACCOUNT)}/metrics/`));
    expect(docs.length).toBeGreaterThan(8);
    const total = await readSeries(ops.runtime.store, ACCOUNT, TOTAL);
    const day = await readSeries(ops.runtime.store, ACCOUNT, '2026-03-02');
    expect(total).toEqual(day);
    expect(total.get(JSON.stringify(['workflow_executions_total', 'status', 'completed', 'workflow', 'wf']))).toBe(40);
  });
});
