/** An account with something of everything, for looking at pages. */
import type { BulkJob } from '../../functions/src/model/job.ts';
import { paths } from '../../functions/src/model/paths.ts';
import type { ScheduleRecord } from '../../functions/src/model/schedule.ts';
import { rollupOf } from '../../functions/src/telemetry/metrics.ts';
import { count, observe, type Series } from '../../functions/src/telemetry/series.ts';
import { approval, DAY, HOSTILE, HOSTILE_MARKDOWN, HOUR, membersOf, MINUTE, payload, type Documents } from './fixtures.ts';
import { people } from './people.ts';
import { completedRun, failedRun, largeRun, waitingRun, workflowDocuments } from './run-fixtures.ts';

const invoiceForm = {
  type: 'object',
  required: ['amount', 'currency'],
  properties: {
    amount: { type: 'number', minimum: 0, maximum: 10_000 },
    currency: { enum: ['CHF', 'EUR'] },
    note: { type: 'string', title: 'Note for the supplier', maxLength: 400 },
  },
};

const summary = [
  '**Muster AG** sent an invoice for *maintenance in November*.',
  '',
  '- Order 4711 matches',
  '- The amount is **12 % higher** than last month',
  '',
  '| Line | Amount |',
  '|---|---|',
  '| Service | 3,800 |',
  '| Travel | 400 |',
  '',
  'See the [contract](https://example.com/contract).',
].join('\n');

function approvals(accountId: string, now: number): Documents {
  const base = { accountId, now };
  const all = [
    approval({
      ...base,
      approvalId: 'ap1',
      effect: 'Pays CHF 4,200.00 to Muster AG, IBAN CH93 0076 2011 6238 5295 7, on Friday.',
      form: JSON.stringify(invoiceForm),
      values: { amount: 4200, currency: 'CHF', note: 'Thank you' },
      evidence: [
        { kind: 'markdown', title: 'Summary by the model', markdown: summary },
        {
          kind: 'table',
          title: 'Invoice',
          rows: [
            ['Supplier', 'Muster AG'],
            ['Number', '2026-114'],
            ['Amount', 4200],
            ['Due', '2026-12-15'],
            ['Known supplier', true],
          ],
        },
        {
          kind: 'diff',
          title: 'Supplier record',
          before: { iban: 'CH56 0483 5012 3456 7800 9', terms: 30 },
          after: { iban: 'CH93 0076 2011 6238 5295 7', terms: 30 },
        },
        { kind: 'links', title: 'Documents', links: [{ label: 'Invoice as PDF', url: 'https://example.com/invoice.pdf' }] },
      ],
    }),
    approval({
      ...base,
      approvalId: 'ap2',
      title: 'Publish the reply to ticket 8812',
      effect: 'Sends the drafted answer to the customer.',
      workflowId: 'support-triage',
      requestedAt: now - 3 * HOUR,
      deadlineAt: now + 50 * MINUTE,
      evidence: [{ kind: 'text', title: 'Draft', text: 'Dear Ms Keller,\n\nthe update of yesterday fixes the export.\n\nKind regards' }],
    }),
    approval({
      ...base,
      approvalId: 'ap3',
      title: 'Release version 4.2 to all customers',
      effect: 'Rolls the new version out to 1,204 customers.',
      workflowId: 'release',
      deadlineAt: now + 3 * DAY,
      quorum: JSON.stringify({ quorum: 2 }),
    }),
    approval({
      ...base,
      approvalId: 'tunnel',
      title: 'Order new laptops',
      effect: 'Orders twelve laptops for CHF 18,000.',
      deadlineAt: now + 4 * DAY,
    }),
    approval({
      ...base,
      approvalId: 'hostile',
      title: HOSTILE,
      effect: HOSTILE,
      deadlineAt: now - 5 * MINUTE,
      evidence: [
        { kind: 'markdown', title: HOSTILE, markdown: HOSTILE_MARKDOWN },
        { kind: 'links', links: [{ label: 'press me', url: 'javascript:alert(1)' }] },
        { kind: 'table', rows: [[HOSTILE, HOSTILE]] },
        { kind: 'json', value: { [HOSTILE]: HOSTILE } },
        { kind: 'diff', before: { a: HOSTILE }, after: { a: 1 } },
      ],
    }),
  ];
  return new Map(all.map((each) => [paths.approval(accountId, each.approvalId), each]));
}

/** What operators look at. */
function office(accountId: string, now: number): Documents {
  const base = { v: 1, accountId };
  return new Map<string, object>([
    [paths.account(accountId), { ...base, name: 'Acme' }],
    [
      paths.exception(accountId, 'ex1'),
      {
        ...base,
        id: 'ex1',
        kind: 'mismatch',
        runId: 'done3',
        workflowId: 'invoice-approval',
        text: 'The bank shows another amount than the run paid.',
        expected: JSON.stringify({ amount: 4200, currency: 'CHF' }),
        found: JSON.stringify({ amount: 2400, currency: 'CHF' }),
        state: 'open',
        openedAt: now - 2 * HOUR,
      },
    ],
    [
      paths.effect(accountId, 'e'.repeat(64)),
      {
        ...base,
        key: 'payment:2026-109',
        state: 'unknown',
        runId: 'failed1',
        stepKey: 'pay',
        attempt: 1,
        request: 'x',
        prevented: 0,
        claimedAt: now - 5 * HOUR,
      },
    ],
    [
      paths.alert(accountId, 'al1'),
      {
        ...base,
        alertId: 'al1',
        kind: 'run_overdue',
        runId: 'waiting1',
        workflowId: 'invoice-approval',
        version: 3,
        title: 'invoice-approval takes too long',
        text: 'It was to end within 30 minutes.',
        link: `/runs/${accountId}/waiting1`,
        state: 'open',
        level: 0,
        openedAt: now - 10 * MINUTE,
        expiresAt: now + 90 * DAY,
      },
    ],
    [
      paths.outbox(accountId, 'out1'),
      {
        ...base,
        id: 'out1',
        kind: 'mail',
        to: people.approver.email,
        subject: 'Please decide: Pay invoice 2026-114',
        body: 'Hello Ada,\n\nyou are asked to decide.',
        state: 'sent',
        attempt: 1,
        createdAt: now - 35 * MINUTE,
        sentAt: now - 34 * MINUTE,
      },
    ],
    [
      paths.outbox(accountId, 'out2'),
      {
        ...base,
        id: 'out2',
        kind: 'webhook',
        to: 'https://erp.example/hooks/kiln',
        body: '{"run":"done3"}',
        state: 'failed',
        attempt: 9,
        error: { code: 'http.server_error', class: 'retryable', message: 'The target failed (503).' },
        createdAt: now - DAY,
      },
    ],
    [
      paths.hook(accountId, 'github'),
      {
        ...base,
        hookId: 'github',
        scheme: { kind: 'github' },
        keys: ['GITHUB_SECRET'],
        target: { kind: 'start', workflowId: 'invoice-approval' },
        active: true,
      },
    ],
    [
      `${paths.account(accountId)}/recipes/summary`,
      {
        v: 1,
        recipeId: 'summary',
        name: 'Summary',
        description: 'Summarises a text in three sentences.',
        latest: 2,
        hash: 'h',
        updatedAt: now - DAY,
      },
    ],
    [
      `${paths.account(accountId)}/kb/payments`,
      {
        v: 1,
        title: 'How we pay',
        collection: 'finance',
        department: null,
        tags: [],
        version: 3,
        digest: 'd',
        generation: 'g',
        markdown: '# Payments\n\nWe pay on Fridays.',
        size: 20,
        chunkCount: 1,
        sourceRunId: null,
        embeddingModel: null,
        createdAt: now,
        updatedAt: now,
      },
    ],
    [
      paths.notification(accountId, 'n1'),
      {
        ...base,
        id: 'n1',
        to: people.approver.uid,
        kind: 'approval',
        title: 'Please decide: Pay invoice 2026-114',
        body: 'You are asked to decide.',
        link: `/approvals/${accountId}/ap1`,
        createdAt: now - 35 * MINUTE,
      },
    ],
  ]);
}

/** What happens by the clock and over many runs, and the figures of the last month. */
function routine(accountId: string, now: number): Documents {
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
    ...days.map((each) => [paths.rollup(accountId, each.day), each] as const),
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

/** Everything; `items` is the number of iterations of the large run, each of two steps. */
export function showcase(accountId: string, now: number, items: number): Documents {
  const parts: readonly Documents[] = [
    membersOf(accountId),
    approvals(accountId, now),
    office(accountId, now),
    routine(accountId, now),
    workflowDocuments(accountId, now),
    waitingRun({ accountId, runId: 'waiting1' }, now),
    failedRun({ accountId, runId: 'failed1' }, now),
    largeRun({ accountId, runId: 'large1' }, now, items),
    ...Array.from({ length: 60 }, (_, n) =>
      completedRun({ accountId, runId: `done${n}` }, now, {
        createdAt: now - DAY - n * HOUR,
        businessKey: `invoice-2026-${100 - n}`,
        businessState: n % 3 === 0 ? 'filed' : 'paid',
        ...(n % 7 === 3 ? { status: 'cancelled' } : {}),
        ...(n === 3 ? { reconciliation: 'mismatch' } : {}),
        output: payload({ paid: true }),
      }),
    ),
  ];
  return new Map(parts.flatMap((part) => [...part]));
}
