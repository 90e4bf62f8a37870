import { z } from 'zod';
import type { StateRecord } from '../ledger/business-states.ts';
import type { RunRecord } from '../model/run.ts';
import { isLive } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { count, observe } from './series.ts';
import type { Series } from './series.ts';

/** Everything of a run that is counted, read once after its end. */
export interface CountedRun {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  /** Its history of business states, in order. */
  readonly states: readonly StateRecord[];
  /** How often its requests for decisions were passed on. */
  readonly escalations: number;
}

/** What the end of a run adds to the counters. Pure. */
export function seriesOfRun({ run, steps, states, escalations }: CountedRun): Series {
  const series: Series = new Map();
  const { workflowId: workflow, status } = run;
  const ended = run.endedAt ?? run.createdAt;
  count(series, 'workflow_executions_total', { workflow, status });
  observe(series, 'workflow_duration_seconds', { workflow, status }, seconds(ended - run.createdAt));
  // A fork takes steps of another run over: they have been counted there.
  countSteps(
    series,
    workflow,
    steps.filter(({ createdAt }) => createdAt >= run.createdAt),
  );
  count(series, 'workflow_escalations_total', { workflow }, escalations);
  if (run.error !== undefined && status !== 'cancelled') {
    const cause = run.error.class === 'business' ? 'business' : 'technical';
    count(series, 'workflow_exceptions_total', { workflow, cause, code: run.error.code });
  }
  countCompensation(series, run);
  states.forEach((entry, i) => {
    const lasted = (states[i + 1]?.at ?? ended) - entry.at;
    observe(series, 'workflow_state_seconds', { workflow, state: entry.state }, seconds(lasted));
  });
  return series;
}

/** What undoing a run adds that had been counted when it ended. */
export function seriesOfUndoing(run: RunRecord, steps: readonly StepRecord[]): Series {
  const series: Series = new Map();
  countSteps(series, run.workflowId, steps.filter(isUndoing));
  countCompensation(series, run);
  return series;
}

function countCompensation(series: Series, run: RunRecord): void {
  const result = run.status === 'compensated' ? 'compensated' : run.left === undefined ? undefined : 'incomplete';
  if (result !== undefined) count(series, 'workflow_compensations_total', { workflow: run.workflowId, result });
}

export function isUndoing({ type }: StepRecord): boolean {
  return type === '$undo' || type === '$compensate' || type === 'compensate';
}

function countSteps(series: Series, workflow: string, steps: readonly StepRecord[]): void {
  for (const step of steps) {
    const type = step.type.replace(/^\$/, '');
    if (!isLive(step.state)) count(series, 'workflow_steps_total', { type, outcome: step.state });
    for (const { outcome } of step.attempts) count(series, 'workflow_step_attempts_total', { type, outcome: outcome ?? 'cut_off' });
    count(series, 'workflow_retries_total', { workflow, type }, Math.max(0, step.attempt - 1));
    const begun = step.attempts[0];
    if (begun !== undefined && step.attempts.length === step.attempt)
      observe(series, 'workflow_queue_delay_seconds', {}, seconds(begun.startedAt - step.createdAt));
    countTime(series, workflow, step);
    countDetails(series, workflow, step);
  }
}

const kindsOfWait: Readonly<Record<string, string>> = {
  approval: 'approval',
  event: 'event',
  timer: 'timer',
  run: 'run',
  document: 'document',
};
/** Code steps forget what they waited for when they end; their type says it. */
const kindsOfType: Readonly<Record<string, string>> = {
  approval: 'approval',
  handoff: 'approval',
  wait: 'event',
  sleep: 'timer',
  subworkflow: 'run',
  document: 'document',
};

/** What waited is counted by what it waited for; what worked, by its name in the definition. */
function countTime(series: Series, workflow: string, step: StepRecord): void {
  if (isLive(step.state)) return;
  const kind = step.wait === undefined ? (step.kind === 'code' ? kindsOfType[step.type] : undefined) : kindsOfWait[step.wait.kind];
  const took = seconds((step.endedAt ?? step.createdAt) - (step.startedAt ?? step.createdAt));
  if (kind === undefined) {
    if (step.attempts.length > 0) observe(series, 'workflow_step_seconds', { workflow, step: step.stepId }, took);
    return;
  }
  count(series, 'workflow_waits_total', { workflow, kind });
  observe(series, 'workflow_wait_seconds', { workflow, kind }, took);
}

const callSchema = z.looseObject({
  responseModel: z.string().optional(),
  model: z.string().optional(),
  usage: z.record(z.string(), z.number()).optional(),
  costMicroUsd: z.number().nullable().optional(),
  reused: z.boolean().optional(),
});
const detailsSchema = z.looseObject({
  calls: z.array(callSchema).optional(),
  effect: z.looseObject({ prevented: z.boolean().optional() }).optional(),
});

const tokenKinds: Readonly<Record<string, string>> = {
  inputTokens: 'input',
  cachedInputTokens: 'cached_input',
  outputTokens: 'output',
  reasoningTokens: 'reasoning',
};

function countDetails(series: Series, workflow: string, step: StepRecord): void {
  if (step.details === undefined) return;
  const parsed = detailsSchema.safeParse(JSON.parse(step.details));
  if (!parsed.success) return;
  if (parsed.data.effect?.prevented === true) count(series, 'workflow_prevented_duplicates_total', { workflow });
  for (const { responseModel, model: asked, usage = {}, costMicroUsd, reused } of parsed.data.calls ?? []) {
    if (reused === true) continue;
    const model = responseModel ?? asked ?? 'unknown';
    for (const [field, kind] of Object.entries(tokenKinds))
      count(series, 'workflow_llm_tokens_total', { workflow, model, kind }, usage[field] ?? 0);
    count(series, 'workflow_llm_cost_usd_total', { workflow, model }, (costMicroUsd ?? 0) / 1_000_000);
  }
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000;
}
