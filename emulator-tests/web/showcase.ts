/** An account with something of everything, for looking at pages. */
import { paths } from '../../functions/src/model/paths.ts';
import { approval, DAY, HOSTILE, HOSTILE_MARKDOWN, HOUR, member, membersOf, MINUTE, payload, type Documents } from './fixtures.ts';
import { people } from './people.ts';
import { routine } from './routine.ts';
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
        {
          kind: 'json',
          title: 'Lines',
          value: [
            { text: 'Service', hours: 20, price: 3800 },
            { text: 'Travel', hours: 2, price: 400 },
          ],
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
      approvalId: 'standin',
      title: 'Sign the lease of the new office',
      effect: 'Sends the signed lease to the landlord.',
      deadlineAt: now + 6 * DAY,
      eligible: [people.second.uid, people.approver.uid],
      approvers: JSON.stringify([{ approvers: { users: [people.second.uid] }, quorum: 'any', seats: [people.second.uid] }]),
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

/** Somebody is on holiday, and somebody else stands in. */
function away(accountId: string, now: number): Documents {
  const { second, approver } = people;
  const delegation = { to: approver.uid, from: now - DAY, until: now + 7 * DAY, setBy: second.uid };
  const absent = { ...member(accountId, second, ['approver'], ['finance', 'legal']), delegation };
  return new Map([[paths.member(accountId, second.uid), absent]]);
}

/** Everything; `items` is the number of iterations of the large run, each of two steps. */
export function showcase(accountId: string, now: number, items: number): Documents {
  const parts: readonly Documents[] = [
    membersOf(accountId),
    away(accountId, now),
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
