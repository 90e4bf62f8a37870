/** The daily figures `rollups/{day}` as this page needs them. This is the only file that knows how they are stored. Pure. */
import type { RollupRecord } from '@model/metrics.ts';

export interface Day {
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly completed: number;
  readonly failed: number;
  readonly other: number;
  readonly meanMinutes: number;
  /** How long requests for decisions waited, in the mean. */
  readonly humanWaitMinutes: number;
  readonly costUsd: number;
}

/** What runs waited for. */
export interface Wait {
  readonly kind: string;
  readonly count: number;
  readonly meanMs: number;
}

export interface StepType {
  readonly type: string;
  readonly ended: number;
  readonly failed: number;
}

export interface SlowStep {
  readonly workflow: string;
  readonly step: string;
  readonly count: number;
  readonly meanMs: number;
  readonly totalMs: number;
}

/** What runs came to: of all workflows together, or of one. */
export interface Totals {
  readonly ended: number;
  readonly completed: number;
  readonly failed: number;
  readonly business: number;
  readonly technical: number;
  readonly escalations: number;
  readonly retries: number;
  readonly prevented: number;
  readonly meanMs: number;
  readonly humanWaitMs: number;
  readonly tokens: number;
  readonly costUsd: number;
}

export interface Figures {
  readonly totals: Totals;
  readonly days: readonly Day[];
  readonly waits: readonly Wait[];
  /** The steps that take longest in the mean, the slowest first. */
  readonly slowest: readonly SlowStep[];
  /** By type they are counted for all workflows together only. */
  readonly stepTypes: readonly StepType[];
  readonly workflows: readonly string[];
  /** Each workflow for itself, the busiest first. */
  readonly byWorkflow: readonly (Totals & { readonly workflow: string })[];
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Where = Readonly<Record<string, string>>;

const failures = new Set(['failed', 'rejected', 'needs_resolution', 'diverged']);
const SLOWEST = 10;

/** Adds the days up, oldest first. */
export function figuresOf(records: readonly RollupRecord[], workflow: string | undefined): Figures {
  const days = [...records]
    .sort((a, b) => (a.day < b.day ? -1 : 1))
    .map(({ day, series }) => ({ day, samples: ofWorkflow(samplesOf([series]), workflow) }));
  const whole = samplesOf(records.map(({ series }) => series));
  const all = ofWorkflow(whole, workflow);
  const workflows = valuesOf(whole, 'workflow_executions_total', 'workflow');
  return {
    totals: totalsOf(all),
    days: days.map(({ day, samples }) => dayOf(day, samples)),
    waits: valuesOf(all, 'workflow_waits_total', 'kind').map((kind) => waitOf(all, kind)),
    slowest: slowestOf(all),
    stepTypes: valuesOf(all, 'workflow_steps_total', 'type').map((type) => stepTypeOf(all, type)),
    workflows,
    byWorkflow: workflows
      .map((name) => ({ workflow: name, ...totalsOf(ofWorkflow(whole, name)) }))
      .sort((a, b) => b.ended - a.ended || (a.workflow < b.workflow ? -1 : 1)),
  };
}

function totalsOf(samples: readonly Sample[]): Totals {
  const runs = (fits: (status: string) => boolean): number =>
    sum(samples, 'workflow_executions_total', {}, ({ status }) => fits(status ?? ''));
  const ended = runs(() => true);
  return {
    ended,
    completed: runs((status) => status === 'completed'),
    failed: runs((status) => failures.has(status)),
    business: sum(samples, 'workflow_exceptions_total', { cause: 'business' }),
    technical: sum(samples, 'workflow_exceptions_total', { cause: 'technical' }),
    escalations: sum(samples, 'workflow_escalations_total'),
    retries: sum(samples, 'workflow_retries_total'),
    prevented: sum(samples, 'workflow_prevented_duplicates_total'),
    meanMs: mean(sum(samples, 'workflow_duration_seconds_sum'), ended) * 1_000,
    humanWaitMs: waitOf(samples, 'approval').meanMs,
    tokens: sum(samples, 'workflow_llm_tokens_total', {}, ({ kind }) => kind === 'input' || kind === 'output'),
    costUsd: sum(samples, 'workflow_llm_cost_usd_total'),
  };
}

function dayOf(day: string, samples: readonly Sample[]): Day {
  const { ended, completed, failed, meanMs, humanWaitMs, costUsd } = totalsOf(samples);
  return {
    day,
    completed,
    failed,
    other: ended - completed - failed,
    meanMinutes: meanMs / 60_000,
    humanWaitMinutes: humanWaitMs / 60_000,
    costUsd,
  };
}

function waitOf(samples: readonly Sample[], kind: string): Wait {
  const count = sum(samples, 'workflow_waits_total', { kind });
  return { kind, count, meanMs: mean(sum(samples, 'workflow_wait_seconds_sum', { kind }), count) * 1_000 };
}

function stepTypeOf(samples: readonly Sample[], type: string): StepType {
  return {
    type,
    ended: sum(samples, 'workflow_steps_total', { type }),
    failed: sum(samples, 'workflow_steps_total', { type, outcome: 'failed' }),
  };
}

function slowestOf(samples: readonly Sample[]): readonly SlowStep[] {
  const counts = samples.filter(({ name }) => name === 'workflow_step_seconds_count');
  const seconds = new Map(
    samples.filter(({ name }) => name === 'workflow_step_seconds_sum').map(({ labels, value }) => [nameOf(labels), value]),
  );
  return counts
    .map(({ labels, value }) => {
      const totalMs = (seconds.get(nameOf(labels)) ?? 0) * 1_000;
      return { workflow: labels['workflow'] ?? '', step: labels['step'] ?? '', count: value, totalMs, meanMs: mean(totalMs, value) };
    })
    .sort((a, b) => b.meanMs - a.meanMs)
    .slice(0, SLOWEST);
}

function nameOf({ workflow, step }: Sample['labels']): string {
  return JSON.stringify([workflow, step]);
}

/** Series are stored as JSON: from `["name","label","value",…]` to a number. Those of the same name are added up. */
function samplesOf(texts: readonly string[]): readonly Sample[] {
  const sums = new Map<string, number>();
  for (const text of texts) {
    for (const [key, value] of Object.entries(JSON.parse(text) as Record<string, number>)) sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return [...sums].map(([key, value]) => {
    const [name = '', ...pairs] = JSON.parse(key) as string[];
    const labels = Object.fromEntries(pairs.flatMap((label, index) => (index % 2 === 0 ? [[label, pairs[index + 1] ?? '']] : [])));
    return { name, labels, value };
  });
}

function ofWorkflow(samples: readonly Sample[], workflow: string | undefined): readonly Sample[] {
  return workflow === undefined ? samples : samples.filter(({ labels }) => labels['workflow'] === workflow);
}

function sum(
  samples: readonly Sample[],
  name: string,
  where: Where = {},
  fits: (labels: Sample['labels']) => boolean = () => true,
): number {
  return samples
    .filter(
      (sample) =>
        sample.name === name && Object.entries(where).every(([key, value]) => sample.labels[key] === value) && fits(sample.labels),
    )
    .reduce((total, sample) => total + sample.value, 0);
}

function valuesOf(samples: readonly Sample[], name: string, label: string): readonly string[] {
  return [...new Set(samples.filter((sample) => sample.name === name).map((sample) => sample.labels[label] ?? ''))].sort();
}

function mean(total: number, times: number): number {
  return times === 0 ? 0 : total / times;
}
