/** What is measured. Names and labels are part of the documentation: dashboards and alert rules are written against them. */
export interface Family {
  readonly help: string;
  readonly type: 'counter' | 'histogram' | 'gauge';
  readonly labels: readonly string[];
  /** Upper bounds, ascending; the last bucket has none. */
  readonly buckets?: readonly number[];
  /** Series of it that one document holds, where its labels have many values; what comes beyond is counted together. */
  readonly seriesMax?: number;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const long = [1, 5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR, DAY, 7 * DAY] as const;

export const families = {
  workflow_executions_total: { type: 'counter', labels: ['workflow', 'status'], help: 'Runs that ended.' },
  workflow_duration_seconds: {
    type: 'histogram',
    labels: ['workflow', 'status'],
    buckets: long,
    help: 'Time from asking for a run to its end.',
  },
  workflow_steps_total: { type: 'counter', labels: ['type', 'outcome'], help: 'Steps that ended.' },
  workflow_step_attempts_total: { type: 'counter', labels: ['type', 'outcome'], help: 'Attempts of steps.' },
  workflow_retries_total: { type: 'counter', labels: ['workflow', 'type'], help: 'Attempts after the first.' },
  workflow_step_seconds: {
    type: 'histogram',
    labels: ['workflow', 'step'],
    // The mean is enough to find the slow ones, and two series a step are not many.
    buckets: [],
    seriesMax: 1_000,
    help: 'How long steps worked, from their first attempt to their end. Waits are not among them.',
  },
  workflow_queue_delay_seconds: {
    type: 'histogram',
    labels: [],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    help: 'Time from the creation of a step to the beginning of its work.',
  },
  workflow_llm_tokens_total: {
    type: 'counter',
    labels: ['workflow', 'model', 'kind'],
    help: 'Tokens read and written by language models.',
  },
  workflow_llm_cost_usd_total: {
    type: 'counter',
    labels: ['workflow', 'model'],
    help: 'Price of language model calls, where it is known.',
  },
  workflow_waits_total: { type: 'counter', labels: ['workflow', 'kind'], help: 'Waits that ended.' },
  workflow_wait_seconds: {
    type: 'histogram',
    labels: ['workflow', 'kind'],
    buckets: long,
    help: 'How long was waited for people, events, timers and child runs.',
  },
  workflow_escalations_total: {
    type: 'counter',
    labels: ['workflow'],
    help: 'Requests for decisions that were passed on because nobody answered.',
  },
  workflow_prevented_duplicates_total: {
    type: 'counter',
    labels: ['workflow'],
    help: 'Effects that were asked for again and not repeated.',
  },
  workflow_late_results_total: {
    type: 'counter',
    labels: ['workflow', 'outcome'],
    help: 'Attempts that ended after their step had been taken from them; nothing of them was applied.',
  },
  workflow_exceptions_total: {
    type: 'counter',
    labels: ['workflow', 'cause', 'code'],
    help: 'Runs that failed, by business exception or technical error.',
  },
  workflow_reconciliations_total: {
    type: 'counter',
    labels: ['workflow', 'result'],
    help: 'Completed runs whose outcome was compared with the target system.',
  },
  workflow_compensations_total: { type: 'counter', labels: ['workflow', 'result'], help: 'Runs that were undone, or could not be.' },
  workflow_state_seconds: {
    type: 'histogram',
    labels: ['workflow', 'state'],
    buckets: long,
    help: 'How long runs stayed in a business state.',
  },
  workflow_open_runs: { type: 'gauge', labels: ['workflow', 'status'], help: 'Runs that have not ended.' },
  workflow_oldest_open_run_age_seconds: { type: 'gauge', labels: ['workflow'], help: 'Age of the oldest run that has not ended.' },
  workflow_open_exceptions: { type: 'gauge', labels: ['kind'], help: 'Exceptions that wait for a person.' },
} as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof families;
