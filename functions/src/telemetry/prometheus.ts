import type { Metric } from 'prom-client';
import type { Query, Store } from '../ledger/store.ts';
import { exceptionRecordSchema } from '../model/reconciliation.ts';
import { metricsRecordSchema } from '../model/metrics.ts';
import { runRecordSchema, runStatuses, terminalRunStatuses } from '../model/run.ts';
import { families } from './families.ts';
import type { Family } from './families.ts';
import { TOTAL } from './metrics.ts';
import { decodeSeries, samplesOf } from './series.ts';
import type { Sample } from './series.ts';

/** Accounts times shards that one scrape reads. */
const DOCUMENTS_MAX = 4_000;
const OPEN_MAX = 2_000;

interface Value {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * The counters as Prometheus reads them, made at scrape time from what is stored: instances come and go, so none of them keeps
 * counters of its own.
 */
export async function renderMetrics(store: Store, now: number): Promise<{ readonly contentType: string; readonly text: string }> {
  // Loaded by the few requests that need it.
  const { Registry } = await import('prom-client');
  const registry = new Registry();
  const samples = [...(await storedSamples(store)), ...(await openSamples(store, now))];
  for (const [name, family] of Object.entries(families) as [string, Family][]) {
    const values = family.type === 'histogram' ? histogramValues(name, family, samples) : plainValues(name, samples);
    const metric = { name, help: family.help, type: family.type, values, aggregator: 'sum' };
    // A metric is what has a name and answers `get`; its own classes keep counters in memory instead.
    registry.registerMetric({ name, get: () => Promise.resolve(metric) } as unknown as Metric);
  }
  return { contentType: registry.contentType, text: await registry.metrics() };
}

async function storedSamples(store: Store): Promise<Sample[]> {
  const { docs } = await store.query({ from: { group: 'metrics' }, where: [['period', '==', TOTAL]], limit: DOCUMENTS_MAX });
  const sums = new Map<string, Sample>();
  for (const doc of docs) {
    const { accountId, series } = metricsRecordSchema.parse(doc.data);
    for (const sample of samplesOf(decodeSeries(series))) {
      const labels = { account: accountId, ...sample.labels };
      const key = JSON.stringify([sample.name, labels]);
      const before = sums.get(key);
      sums.set(key, { name: sample.name, labels, value: (before?.value ?? 0) + sample.value });
    }
  }
  return [...sums.values()];
}

const openStatuses = runStatuses.filter((status) => !terminalRunStatuses.has(status));
export const openRuns: Query = {
  from: { group: 'runs' },
  where: [['status', 'in', openStatuses]],
  orderBy: [['createdAt', 'asc']],
  limit: OPEN_MAX,
};
export const openExceptions: Query = { from: { group: 'exceptions' }, where: [['state', '==', 'open']], limit: OPEN_MAX };

async function openSamples(store: Store, now: number): Promise<Sample[]> {
  const runs = (await store.query(openRuns)).docs.map((doc) => runRecordSchema.parse(doc.data));
  const exceptions = (await store.query(openExceptions)).docs.map((doc) => exceptionRecordSchema.parse(doc.data));
  const gauges = new Map<string, Sample>();
  const gauge = (name: string, labels: Readonly<Record<string, string>>, next: (before: number) => number): void => {
    const key = JSON.stringify([name, labels]);
    gauges.set(key, { name, labels, value: next(gauges.get(key)?.value ?? 0) });
  };
  for (const { accountId: account, workflowId: workflow, status, createdAt } of runs) {
    gauge('workflow_open_runs', { account, workflow, status }, (before) => before + 1);
    gauge('workflow_oldest_open_run_age_seconds', { account, workflow }, (before) => Math.max(before, (now - createdAt) / 1_000));
  }
  for (const { accountId: account, kind } of exceptions) gauge('workflow_open_exceptions', { account, kind }, (before) => before + 1);
  return [...gauges.values()];
}

function plainValues(name: string, samples: readonly Sample[]): Value[] {
  return samples.filter((sample) => sample.name === name).map(({ labels, value }) => ({ labels, value }));
}

/** Buckets are stored each for itself; shown, each holds those below it, too. */
function histogramValues(name: string, { buckets = [] }: Family, samples: readonly Sample[]): Value[] {
  const groups = new Map<string, { labels: Readonly<Record<string, string>>; counts: Map<string, number>; sum: number }>();
  const groupOf = (labels: Readonly<Record<string, string>>) => {
    const key = JSON.stringify(labels);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { labels, counts: new Map(), sum: 0 }));
    return group;
  };
  for (const sample of samples) {
    const { le, ...labels } = sample.labels;
    if (sample.name === name && le !== undefined) groupOf(labels).counts.set(le, sample.value);
    else if (sample.name === `${name}_sum`) groupOf(sample.labels).sum = sample.value;
  }
  return [...groups.values()].flatMap(({ labels, counts, sum }) => {
    let below = 0;
    const shown = [...buckets.map(String), '+Inf'].map((le): Value => {
      below += counts.get(le) ?? 0;
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below };
    });
    return [...shown, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: below }];
  });
}
