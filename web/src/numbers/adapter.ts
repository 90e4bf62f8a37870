/** The daily figures `rollups/{day}` as this page needs them. This is the only file that knows how they are stored. Pure. */
import type { RollupRecord } from '@model/metrics.ts';

export interface Day {
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly completed: number;
  readonly failed: number;
  readonly other: number;
  readonly meanMinutes: number;
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
  readonly retries: number;
}

export interface Figures {
  readonly workflows: readonly string[];
  readonly days: readonly Day[];
  readonly waits: readonly Wait[];
  readonly stepTypes: readonly StepType[];
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

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const failures = new Set(['failed', 'rejected', 'needs_resolution', 'diverged']);

/** Adds the days up, oldest first. Of one workflow only what is counted by workflow: runs, time, exceptions and prevented duplicates. */
export function figuresOf(records: readonly RollupRecord[], workflow: string | undefined): Figures {
  const days = [...records].sort((a, b) => (a.day < b.day ? -1 : 1)).map((record) => ({ record, samples: samplesOf(record.series) }));
  const all = days.flatMap((each) => each.samples);
  const ofWorkflow = workflow === undefined ? {} : { workflow };
  const runs = (status: (value: string) => boolean): number => sum(all, 'workflow_executions_total', ofWorkflow, 'status', status);
  const ended = runs(() => true);
  return {
    workflows: valuesOf(all, 'workflow_executions_total', 'workflow'),
    days: days.map(({ record, samples }) => dayOf(record, samples, ofWorkflow)),
    waits: valuesOf(all, 'workflow_waits_total', 'kind').map((kind) => waitOf(all, kind)),
    stepTypes: valuesOf(all, 'workflow_steps_total', 'type').map((type) => stepTypeOf(all, type)),
    ended,
    completed: runs((status) => status === 'completed'),
    failed: runs((status) => failures.has(status)),
    business: sum(all, 'workflow_exceptions_total', { ...ofWorkflow, cause: 'business' }),
    technical: sum(all, 'workflow_exceptions_total', { ...ofWorkflow, cause: 'technical' }),
    escalations: sum(all, 'workflow_escalations_total', ofWorkflow),
    retries: sum(all, 'workflow_retries_total'),
    prevented: sum(all, 'workflow_prevented_duplicates_total', ofWorkflow),
    meanMs: mean(sum(all, 'workflow_duration_seconds_sum', ofWorkflow), ended) * 1_000,
    humanWaitMs: waitOf(all, 'approval').meanMs,
    tokens: records.reduce((total, record) => total + record.tokens, 0),
    costUsd: records.reduce((total, record) => total + record.costUsd, 0),
  };
}

function dayOf(record: RollupRecord, samples: readonly Sample[], ofWorkflow: Readonly<Record<string, string>>): Day {
  const runs = (status: (value: string) => boolean): number => sum(samples, 'workflow_executions_total', ofWorkflow, 'status', status);
  const ended = runs(() => true);
  const completed = runs((status) => status === 'completed');
  const failed = runs((status) => failures.has(status));
  const seconds = sum(samples, 'workflow_duration_seconds_sum', ofWorkflow);
  return {
    day: record.day,
    completed,
    failed,
    other: ended - completed - failed,
    meanMinutes: mean(seconds, ended) / 60,
    costUsd: record.costUsd,
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
    retries: sum(samples, 'workflow_retries_total', { type }),
  };
}

/** Series are stored as JSON: from `["name","label","value",…]` to a number. */
function samplesOf(text: string): readonly Sample[] {
  return Object.entries(JSON.parse(text) as Record<string, number>).map(([key, value]) => {
    const [name = '', ...pairs] = JSON.parse(key) as string[];
    const labels = Object.fromEntries(pairs.flatMap((label, index) => (index % 2 === 0 ? [[label, pairs[index + 1] ?? '']] : [])));
    return { name, labels, value };
  });
}

function sum(
  samples: readonly Sample[],
  name: string,
  where: Readonly<Record<string, string>> = {},
  label = '',
  fits: (value: string) => boolean = () => true,
): number {
  return samples
    .filter(
      (sample) =>
        sample.name === name &&
        Object.entries(where).every(([key, value]) => sample.labels[key] === value) &&
        fits(sample.labels[label] ?? ''),
    )
    .reduce((total, sample) => total + sample.value, 0);
}

function valuesOf(samples: readonly Sample[], name: string, label: string): readonly string[] {
  return [...new Set(samples.filter((sample) => sample.name === name).map((sample) => sample.labels[label] ?? ''))].sort();
}

function mean(total: number, times: number): number {
  return times === 0 ? 0 : total / times;
}
