import { allSteps } from '../ledger/compensation.ts';
import { stateRecordSchema } from '../ledger/business-states.ts';
import type { StateRecord } from '../ledger/business-states.ts';
import { dueField } from '../ledger/due.ts';
import { asRead, remove, StoreConflict } from '../ledger/store.ts';
import type { Reader, Snapshot, Store, Write } from '../ledger/store.ts';
import type { Ledger } from '../ledger/transitions.ts';
import { approvalRecordSchema } from '../model/approval.ts';
import { countedRecordSchema, metricsRecordSchema } from '../model/metrics.ts';
import type { MetricsRecord, RollupRecord } from '../model/metrics.ts';
import { paths } from '../model/paths.ts';
import type { RunRecord } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import { seriesOfRun, seriesOfUndoing } from './run-series.ts';
import { decodeSeries, encodeSeries, merge, samplesOf, seriesKey } from './series.ts';
import type { Sample, Series } from './series.ts';

export const SHARDS = 8;
export const TOTAL = 'total';
const MARK = 'metrics';
/** A day's figures are made anew so long after something was counted. */
const ROLL_UP_AFTER_MS = 5 * 60_000;
const DAYS_KEPT_MS = 400 * 24 * 60 * 60 * 1_000;
const STATES_MAX = 500;

/** In each round one of the runs that end together is counted in its shard; who never is comes again with its event. */
const COUNT_TRIES = 32;

/**
 * Counts a run that has ended, off the path of its steps: its documents are read once, and counted in one commit with a mark that
 * says so. However often the end is followed, it counts once; what is undone later is counted in addition. `look` sees the steps as
 * well, since they are read anyway. By compare-and-set, because transactions of runs that end together wait for each other's locks.
 */
export async function countRun(ledger: Ledger, run: RunRecord, look?: (steps: readonly StepRecord[]) => Promise<void>): Promise<void> {
  const { accountId, runId, status } = run;
  const mark = paths.mark(accountId, runId, MARK);
  const before = (await ledger.store.get([mark])).docs[0];
  if (before !== undefined && countedRecordSchema.parse(before.data).status === status) return;
  const steps = await allSteps(ledger.store, run);
  await look?.(steps);
  const series =
    before === undefined ? seriesOfRun({ run, steps, ...(await around(ledger.store, run, steps)) }) : seriesOfUndoing(run, steps);
  for (let tries = 1; ; tries += 1) {
    const now = ledger.clock.now();
    const writes = await addSeries(ledger.store, { accountId, shardKey: runId, at: run.endedAt ?? now }, series, now);
    try {
      await ledger.store.commit([...writes, asRead(before, mark, { v: 1, status, at: now })]);
      return;
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      const marked = (await ledger.store.get([mark])).docs[0];
      // Somebody else has counted this very run meanwhile.
      if (marked?.updateTime !== before?.updateTime) return;
      if (tries >= COUNT_TRIES) throw error;
    }
  }
}

async function around(
  store: Store,
  { accountId, runId, businessState }: RunRecord,
  steps: readonly StepRecord[],
): Promise<{ states: readonly StateRecord[]; escalations: number }> {
  const approvals = steps.flatMap(({ wait }) => (wait?.kind === 'approval' ? [paths.approval(accountId, wait.approvalId)] : []));
  const { docs } = approvals.length === 0 ? { docs: [] } : await store.get(approvals);
  const escalations = docs.reduce((sum, doc) => sum + (doc === undefined ? 0 : approvalRecordSchema.parse(doc.data).level), 0);
  if (businessState === undefined) return { states: [], escalations };
  const found = await store.query({ from: paths.businessStates(accountId, runId), where: [], orderBy: [['at', 'asc']], limit: STATES_MAX });
  return { states: found.docs.map((doc) => stateRecordSchema.parse(doc.data)), escalations };
}

/** Adds to the day's and to all time's counters. Reads: in a transaction, call it before the first write. */
export async function addSeries(
  reader: Pick<Reader, 'get'>,
  where: { readonly accountId: string; readonly shardKey: string; readonly at: number },
  series: Series,
  now: number,
): Promise<readonly Write[]> {
  if (series.size === 0) return [];
  const { accountId, at } = where;
  const shard = shardOf(where.shardKey);
  const periods = [dayOf(at), TOTAL];
  const found = await reader.get(periods.map((period) => paths.metrics(accountId, period, shard)));
  return periods.map((period, i): Write => {
    const doc = found.docs[i];
    const before = doc === undefined ? undefined : metricsRecordSchema.parse(doc.data);
    const sum = merge(before === undefined ? new Map() : decodeSeries(before.series), series);
    const due = before?.due ?? dueField(accountId, now + ROLL_UP_AFTER_MS);
    const data: MetricsRecord = {
      v: 1,
      accountId,
      period,
      shard,
      series: encodeSeries(sum),
      updatedAt: now,
      ...(period === TOTAL ? {} : { due, expiresAt: at + DAYS_KEPT_MS }),
    };
    return asRead(doc, paths.metrics(accountId, period, shard), data);
  });
}

/** The counters of a period, all shards together. */
export async function readSeries(store: Pick<Store, 'get'>, accountId: string, period: string): Promise<Series> {
  const { docs } = await store.get(Array.from({ length: SHARDS }, (_, shard) => paths.metrics(accountId, period, shard)));
  return docs.reduce<Series>(
    (sum, doc) => (doc === undefined ? sum : merge(sum, decodeSeries(metricsRecordSchema.parse(doc.data).series))),
    new Map(),
  );
}

/** Makes a day's figures from its counters. Called by the reconciler some minutes after something was counted. */
export async function rollUp(ledger: Ledger, snapshot: Snapshot): Promise<void> {
  const { accountId, period } = metricsRecordSchema.parse(snapshot.data);
  const series = await readSeries(ledger.store, accountId, period);
  await ledger.store.commit([
    { op: 'set', path: paths.rollup(accountId, period), data: rollupOf(accountId, period, series, ledger.clock.now()) },
  ]);
  try {
    await ledger.store.commit([{ op: 'update', path: snapshot.path, data: { due: remove }, ifUpdateTime: snapshot.updateTime }]);
  } catch (error) {
    // Counted in meanwhile: it stays due, and the next roll-up has it.
    if (!(error instanceof StoreConflict)) throw error;
  }
}

/** The figures that charts show. Pure. */
export function rollupOf(accountId: string, day: string, series: Series, now: number): RollupRecord {
  const samples = samplesOf(series);
  const sum = (name: string, where: Readonly<Record<string, string>> = {}): number =>
    samples
      .filter((sample) => sample.name === name && Object.entries(where).every(([label, value]) => sample.labels[label] === value))
      .reduce((total, sample) => total + sample.value, 0);
  const by = (name: string, label: string): Record<string, number> => {
    const totals: Record<string, number> = {};
    for (const sample of samples) {
      const value = sample.labels[label];
      if (sample.name === name && value !== undefined) totals[value] = (totals[value] ?? 0) + sample.value;
    }
    return totals;
  };
  return {
    v: 1,
    accountId,
    day,
    runs: by('workflow_executions_total', 'status'),
    steps: sum('workflow_steps_total'),
    retries: sum('workflow_retries_total'),
    preventedDuplicates: sum('workflow_prevented_duplicates_total'),
    tokens: sum('workflow_llm_tokens_total', { kind: 'input' }) + sum('workflow_llm_tokens_total', { kind: 'output' }),
    costUsd: sum('workflow_llm_cost_usd_total'),
    humanWaitSeconds: sum('workflow_wait_seconds_sum', { kind: 'approval' }),
    humanWaits: sum('workflow_waits_total', { kind: 'approval' }),
    escalations: sum('workflow_escalations_total'),
    exceptions: {
      business: sum('workflow_exceptions_total', { cause: 'business' }),
      technical: sum('workflow_exceptions_total', { cause: 'technical' }),
    },
    reconciliations: by('workflow_reconciliations_total', 'result'),
    compensations: by('workflow_compensations_total', 'result'),
    series: encodeSeries(withoutBuckets(samples)),
    updatedAt: now,
  };
}

/** Means are enough for charts: of a histogram the sum and the count. A page reads many days, so a day is kept small. */
function withoutBuckets(samples: readonly Sample[]): Series {
  const kept: Series = new Map();
  for (const { name, labels, value } of samples) {
    const { le, ...others } = labels;
    const key = seriesKey(le === undefined ? name : `${name}_count`, others);
    kept.set(key, (kept.get(key) ?? 0) + value);
  }
  return kept;
}

export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function shardOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i += 1) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return Math.abs(hash) % SHARDS;
}
