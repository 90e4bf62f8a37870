/** What goes on behind the runs: schedules, jobs, servers of tools, corrections, and the figures of the last month. */
import type { BulkJob, EraseJob } from '../../functions/src/model/job.ts';
import type { McpServerRecord } from '../../functions/src/model/mcp-server.ts';
import { paths } from '../../functions/src/model/paths.ts';
import type { CorrectionRecord } from '../../functions/src/model/recipe.ts';
import type { ScheduleRecord } from '../../functions/src/model/schedule.ts';
import { rollupOf } from '../../functions/src/telemetry/metrics.ts';
import { count, observe, type Series } from '../../functions/src/telemetry/series.ts';
import { DAY, HOUR, MINUTE, type Documents } from './fixtures.ts';
import { people } from './people.ts';

export function routine(accountId: string, now: number): Documents {
  const schedule: ScheduleRecord = {
    v: 1,
    accountId,
    scheduleId: 'every-morning',
    workflowId: 'invoice-approval',
    input: '{"number":"2026-120"}',
    cron: '0 7 * * 1-5',
    timeZone: 'Europe/Zurich',
    jitterMs: 0,
    overlap: 'skip',
    catchUp: 'latest',
    active: true,
    nextAt: now + 9 * HOUR,
    lastRunId: 'done1',
    lastAt: now - 15 * HOUR,
    skipped: 2,
    updatedAt: now - DAY,
    updatedBy: people.admin.uid,
  };
  const job: BulkJob = {
    v: 1,
    accountId,
    jobId: 'job1',
    kind: 'bulk',
    by: people.operator.uid,
    state: 'running',
    request: { filter: { workflowId: 'invoice-approval', status: 'failed' }, command: 'retry', reason: 'The bank is back.', rate: 200 },
    commanded: 148,
    repeated: 2,
    createdAt: now - 3 * MINUTE,
  };
  const days = Array.from({ length: 30 }, (_, n) => rollupOf(accountId, isoDay(now - n * DAY), figures(n), now));
  return new Map<string, object>([
    [paths.schedule(accountId, schedule.scheduleId), schedule],
    [paths.job(accountId, job.jobId), job],
    ...administration(accountId, now),
    ...days.map((each) => [paths.rollup(accountId, each.day), each] as const),
  ]);
}

/** What admins look after. */
function administration(accountId: string, now: number): Documents {
  const erasure: EraseJob = {
    v: 1,
    accountId,
    jobId: 'job2',
    kind: 'erase',
    by: people.admin.uid,
    state: 'done',
    subject: { businessKey: 'invoice-2026-77' },
    stage: 1,
    report: { runs: 3, live: ['waiting1'], decisions: 2, notifications: 4, mails: 1, member: 'none' },
    createdAt: now - 2 * DAY,
    endedAt: now - 2 * DAY + MINUTE,
  };
  const server: McpServerRecord = {
    v: 1,
    accountId,
    serverId: 'tickets',
    name: 'Ticket system',
    url: 'https://tools.example.com/mcp',
    secretHeaders: { Authorization: 'Bearer {{secret.TICKETS_TOKEN}}' },
    allowTools: ['search', 'comment'],
    toolHashes: { search: 'a'.repeat(64) },
    updatedAt: now - DAY,
    updatedBy: people.admin.uid,
  };
  const correction: CorrectionRecord = {
    v: 1,
    accountId,
    approvalId: 'ap0',
    runId: 'done1',
    stepKey: 'classify',
    workflowId: 'support-triage',
    changed: true,
    answer: JSON.stringify({ kind: 'question', urgent: false }),
    accepted: JSON.stringify({ kind: 'complaint', urgent: false }),
    by: [people.approver.uid],
    comments: ['She is angry, not curious.'],
    at: now - 3 * HOUR,
  };
  return new Map<string, object>([
    [paths.job(accountId, erasure.jobId), erasure],
    [paths.mcpServer(accountId, server.serverId), server],
    [paths.correction(accountId, correction.approvalId), correction],
  ]);
}

function isoDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The figures of the day `n` days ago, by the engine's own counting. */
function figures(n: number): Series {
  const series: Series = new Map();
  const busy = 40 + ((n * 17) % 23);
  for (const [workflow, part] of [
    ['invoice-approval', 0.7],
    ['support-triage', 0.3],
  ] as const) {
    const completed = Math.round(busy * part);
    count(series, 'workflow_executions_total', { workflow, status: 'completed' }, completed);
    count(series, 'workflow_executions_total', { workflow, status: 'failed' }, n % 4);
    count(series, 'workflow_executions_total', { workflow, status: 'cancelled' }, n % 2);
    for (let run = 0; run < completed; run++)
      observe(series, 'workflow_duration_seconds', { workflow, status: 'completed' }, 600 + ((n * 131 + run * 37) % 1_800));
    count(series, 'workflow_exceptions_total', { workflow, cause: 'business', code: 'policy.broken' }, n % 3);
    count(series, 'workflow_exceptions_total', { workflow, cause: 'technical', code: 'http.server_error' }, n % 4);
  }
  for (const [kind, seconds] of [
    ['approval', 1_500],
    ['timer', 300],
    ['event', 90],
  ] as const) {
    count(series, 'workflow_waits_total', { workflow: 'invoice-approval', kind }, 12);
    for (let wait = 0; wait < 12; wait++)
      observe(series, 'workflow_wait_seconds', { workflow: 'invoice-approval', kind }, seconds + wait * n);
  }
  for (const type of ['http', 'recipe', 'action', 'approval', 'condition']) {
    count(series, 'workflow_steps_total', { type, outcome: 'succeeded' }, busy);
    count(series, 'workflow_steps_total', { type, outcome: 'failed' }, type === 'http' ? n % 5 : 0);
    count(series, 'workflow_retries_total', { workflow: 'invoice-approval', type }, type === 'http' ? 6 + (n % 5) : n % 2);
  }
  for (const [workflow, step, seconds] of [
    ['invoice-approval', 'enrich', 4.2],
    ['invoice-approval', 'pay', 1.6],
    ['support-triage', 'draft', 11.5],
    ['support-triage', 'classify', 3.1],
    ['support-triage', 'reply', 0.4],
  ] as const) {
    for (let run = 0; run < busy; run++) observe(series, 'workflow_step_seconds', { workflow, step }, seconds * (1 + (run % 5) / 10));
  }
  count(series, 'workflow_llm_tokens_total', { workflow: 'support-triage', model: 'kiln-dev-model', kind: 'input' }, 31_000 + n * 120);
  count(series, 'workflow_llm_tokens_total', { workflow: 'support-triage', model: 'kiln-dev-model', kind: 'output' }, 6_200 + n * 40);
  count(series, 'workflow_llm_cost_usd_total', { workflow: 'support-triage', model: 'kiln-dev-model' }, 0.9 + ((n * 13) % 7) / 10);
  count(series, 'workflow_prevented_duplicates_total', { workflow: 'invoice-approval' }, n % 6 === 0 ? 1 : 0);
  count(series, 'workflow_escalations_total', { workflow: 'invoice-approval' }, n % 8 === 0 ? 1 : 0);
  return series;
}
