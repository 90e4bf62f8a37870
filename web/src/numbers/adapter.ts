/**
 * The daily roll-up documents `metrics/{day}` as this page reads them. This is the only file that knows their shape: a field that is
 * missing counts as nothing, so that older days can be shown beside newer ones.
 */
import { z } from 'zod';

const count = z.number().nonnegative().catch(0);

const stepFigures = z.looseObject({ count, durationMs: count });

const workflowFigures = z.looseObject({
  /** Runs by how they stand or ended. */
  runs: z.record(z.string(), z.number()).catch({}),
  started: count,
  /** Sums over the ended runs. */
  durationMs: count,
  retries: count,
  preventedEffects: count,
  humanWaits: count,
  humanWaitMs: count,
  tokens: count,
  costMicroUsd: count,
  steps: z.record(z.string(), stepFigures).catch({}),
});

export const metricsShape = z.looseObject({ workflows: z.record(z.string(), workflowFigures).catch({}) });
export type MetricsRecord = z.infer<typeof metricsShape>;
type WorkflowFigures = z.infer<typeof workflowFigures>;

export interface Day {
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly completed: number;
  readonly failed: number;
  readonly other: number;
  readonly meanMinutes: number;
  readonly costUsd: number;
}

export interface SlowStep {
  readonly id: string;
  readonly count: number;
  readonly meanMs: number;
}

export interface Figures {
  readonly workflows: readonly string[];
  readonly days: readonly Day[];
  readonly slowest: readonly SlowStep[];
  readonly started: number;
  readonly completed: number;
  readonly failed: number;
  readonly ended: number;
  readonly retries: number;
  readonly prevented: number;
  readonly meanMs: number;
  readonly humanWaitMs: number;
  readonly tokens: number;
  readonly costUsd: number;
}

const SLOWEST = 8;
const failures = new Set(['failed', 'rejected', 'needs_resolution', 'diverged']);

/** Adds the days up, for all workflows or one; oldest day first. */
export function figuresOf(
  records: readonly { readonly day: string; readonly record: MetricsRecord }[],
  workflow: string | undefined,
): Figures {
  const sorted = [...records].sort((a, b) => (a.day < b.day ? -1 : 1));
  const chosen = sorted.map(({ day, record }) => ({
    day,
    all: Object.entries(record.workflows).flatMap(([id, figures]) => (workflow === undefined || id === workflow ? [figures] : [])),
  }));
  const everything = chosen.flatMap(({ all }) => all);
  const ended = sum(everything, endedRuns);
  return {
    workflows: [...new Set(sorted.flatMap(({ record }) => Object.keys(record.workflows)))].sort(),
    days: chosen.map(({ day, all }) => dayOf(day, all)),
    slowest: slowestOf(everything),
    started: sum(everything, (each) => each.started),
    completed: sum(everything, (each) => each.runs['completed'] ?? 0),
    failed: sum(everything, failedRuns),
    ended,
    retries: sum(everything, (each) => each.retries),
    prevented: sum(everything, (each) => each.preventedEffects),
    meanMs: mean(
      sum(everything, (each) => each.durationMs),
      ended,
    ),
    humanWaitMs: mean(
      sum(everything, (each) => each.humanWaitMs),
      sum(everything, (each) => each.humanWaits),
    ),
    tokens: sum(everything, (each) => each.tokens),
    costUsd: sum(everything, (each) => each.costMicroUsd) / 1_000_000,
  };
}

function dayOf(day: string, all: readonly WorkflowFigures[]): Day {
  const completed = sum(all, (each) => each.runs['completed'] ?? 0);
  const failed = sum(all, failedRuns);
  const ended = sum(all, endedRuns);
  return {
    day,
    completed,
    failed,
    other: ended - completed - failed,
    meanMinutes:
      mean(
        sum(all, (each) => each.durationMs),
        ended,
      ) / 60_000,
    costUsd: sum(all, (each) => each.costMicroUsd) / 1_000_000,
  };
}

function slowestOf(all: readonly WorkflowFigures[]): readonly SlowStep[] {
  const steps = new Map<string, { count: number; durationMs: number }>();
  for (const { steps: each } of all) {
    for (const [id, { count: times, durationMs }] of Object.entries(each)) {
      const before = steps.get(id) ?? { count: 0, durationMs: 0 };
      steps.set(id, { count: before.count + times, durationMs: before.durationMs + durationMs });
    }
  }
  return [...steps]
    .map(([id, { count: times, durationMs }]) => ({ id, count: times, meanMs: mean(durationMs, times) }))
    .sort((a, b) => b.meanMs - a.meanMs)
    .slice(0, SLOWEST);
}

function endedRuns({ runs }: WorkflowFigures): number {
  return ['completed', 'cancelled', 'compensated', ...failures].reduce((total, status) => total + (runs[status] ?? 0), 0);
}

function failedRuns({ runs }: WorkflowFigures): number {
  return [...failures].reduce((total, status) => total + (runs[status] ?? 0), 0);
}

function sum<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((total, each) => total + of(each), 0);
}

function mean(total: number, times: number): number {
  return times === 0 ? 0 : total / times;
}
