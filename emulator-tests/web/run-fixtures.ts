/** Runs to look at: one of every kind of step, and one that is very large. */
import { paths } from '../../functions/src/model/paths.ts';
import type { RunRecord } from '../../functions/src/model/run.ts';
import type { Attempt, LoopFrame, StepRecord } from '../../functions/src/model/step.ts';
import { approval, DAY, HOSTILE, HOUR, MINUTE, payload, run, step, type Documents } from './fixtures.ts';
import { people } from './people.ts';

export const definition = {
  id: 'invoice-approval',
  name: 'Invoice approval',
  description: 'Reads an invoice, checks it, asks a person above 1,000, pays it and files it.',
  input: {
    type: 'object',
    required: ['number', 'amount', 'currency', 'supplier'],
    properties: {
      number: { type: 'string', title: 'Invoice number' },
      amount: { type: 'number', minimum: 0 },
      currency: { enum: ['CHF', 'EUR', 'USD'], default: 'CHF' },
      supplier: { type: 'string' },
      dueDate: { type: 'string', format: 'date' },
      lines: {
        type: 'array',
        items: { type: 'object', required: ['text'], properties: { text: { type: 'string' }, amount: { type: 'number' } } },
      },
    },
  },
  steps: [
    { id: 'classify', type: 'recipe', name: 'Read the invoice', prompt: 'Read {{workflow_input.number}}', schema: { type: 'object' } },
    {
      id: 'enrich',
      type: 'parallel',
      branches: {
        supplier: [{ id: 'lookup', type: 'http', url: 'https://erp.example/suppliers', method: 'GET' }],
        order: [{ id: 'match', type: 'action', action: 'matchOrder', retry: { maxAttempts: 4 } }],
      },
    },
    {
      id: 'large',
      type: 'condition',
      if: 'workflow_input.amount > 1000',
      then: [{ id: 'release', type: 'approval', title: 'Pay invoice', approvers: { departments: ['finance'] }, deadline: '1d' }],
      else: [{ id: 'auto', type: 'transform', value: 'released' }],
    },
    {
      id: 'each',
      type: 'loop',
      over: { source: 'workflowInput', path: 'lines' },
      steps: [{ id: 'book', type: 'action', action: 'bookLine' }],
    },
    { id: 'pay', type: 'action', action: 'pay', effectKey: 'payment:{{workflow_input.number}}' },
  ],
} as const;

export function workflowDocuments(accountId: string, now: number): Documents {
  const earlier = { ...definition, steps: definition.steps.filter((each) => each.id !== 'enrich') };
  const version = (n: number, json: object, note: string, at: number): readonly [string, object] => [
    paths.version(accountId, definition.id, n),
    {
      v: 1,
      workflowId: definition.id,
      version: n,
      hash: String(n).repeat(64),
      json: JSON.stringify(json),
      publishedAt: at,
      publishedBy: people.operator.uid,
      note,
    },
  ];
  return new Map<string, object>([
    [
      paths.workflow(accountId, definition.id),
      {
        v: 1,
        workflowId: definition.id,
        name: definition.name,
        description: definition.description,
        latest: 3,
        hash: '3'.repeat(64),
        updatedAt: now - DAY,
      },
    ],
    version(1, { ...earlier, steps: earlier.steps.slice(0, 1) }, 'First draft', now - 9 * DAY),
    version(2, earlier, 'Ask finance above 1,000', now - 4 * DAY),
    version(3, definition, 'Look suppliers and orders up', now - DAY),
  ]);
}

interface Shape {
  readonly accountId: string;
  readonly runId: string;
}

function attempt(n: number, startedAt: number, tookMs: number, rest: Partial<Attempt> = {}): Attempt {
  return { n, startedAt, endedAt: startedAt + tookMs, outcome: 'succeeded', ...rest };
}

function done(ref: Shape, key: string, createdAt: number, tookMs: number, rest: Partial<StepRecord> = {}): StepRecord {
  const startedAt = createdAt + 90;
  return step({
    ...ref,
    key,
    createdAt,
    startedAt,
    endedAt: startedAt + tookMs,
    attempts: [attempt(1, startedAt, tookMs)],
    input: payload({ of: key }),
    output: payload({ result: key }),
    ...rest,
  });
}

function waitingSteps(ref: Shape, now: number, start: number, approvalId: string): readonly StepRecord[] {
  const error = {
    code: 'http.rate_limited',
    class: 'retryable' as const,
    message: 'The target asked to slow down (429).',
    retryAfterMs: 4_000,
  };
  return [
    done(ref, 'classify', start, 2_300, {
      type: 'recipe',
      output: payload({
        supplier: 'Muster AG',
        amount: 4200,
        note: HOSTILE,
        lines: [
          { text: 'Service', amount: 3800 },
          { text: 'Travel', amount: 400 },
        ],
      }),
      details: JSON.stringify({
        model: 'kiln-dev-model',
        responseModel: 'kiln-dev-model',
        calls: [{ usage: { inputTokens: 812, outputTokens: 164 }, latencyMs: 2_210 }],
        costMicroUsd: 1_240,
        context: [{ documentId: 'payments', version: 3, title: 'How we pay', collection: 'finance', heading: 'Payments', score: 0.82 }],
      }),
    }),
    done(ref, 'enrich', start + 2_500, 9_400, { type: 'parallel', attempts: [] }),
    done(ref, 'enrich.supplier.lookup', start + 2_600, 640, { type: 'http' }),
    done(ref, 'enrich.order.match', start + 2_600, 9_100, {
      attempt: 3,
      attempts: [
        attempt(1, start + 2_700, 400, { outcome: 'failed', error, nextAt: start + 5_200 }),
        attempt(2, start + 5_200, 420, { outcome: 'failed', error, nextAt: start + 10_100 }),
        attempt(3, start + 10_100, 1_700),
      ],
    }),
    done(ref, 'enrich.$join', start + 11_900, 40, {
      type: 'parallel',
      attempts: [],
      join: { owner: 'enrich', ownerKey: 'enrich', reason: 'complete', lane: 0, seqSum: 4, lanes: 2 },
    }),
    done(ref, 'large', start + 12_100, 8, {
      type: 'condition',
      attempts: [],
      output: payload({ branch: 'then', value: true }),
      details: JSON.stringify({ branch: 'then' }),
    }),
    step({
      ...ref,
      key: 'large.then.release',
      stepId: 'release',
      type: 'approval',
      state: 'waiting',
      createdAt: start + 12_200,
      startedAt: start + 12_260,
      wait: { kind: 'approval', approvalId },
      wakeAt: now + 5 * HOUR,
      input: payload({ title: 'Pay invoice' }),
    }),
  ];
}

/** Waits for a person, after a retry and before a loop. */
export function waitingRun(ref: Shape, now: number): Documents {
  const start = now - 40 * MINUTE;
  const approvalId = `${ref.runId}-release`;
  const steps = waitingSteps(ref, now, start, approvalId);
  const record = run({ ...ref, createdAt: start, pendingApprovals: 1, businessKey: 'invoice-2026-114', businessState: 'in review' });
  const asked = approval({ ...ref, approvalId, now, stepKey: 'large.then.release', requestedAt: start + 12_200 });
  return documents(record, steps, [
    [paths.approval(ref.accountId, approvalId), asked],
    [
      paths.history(ref.accountId, ref.runId, '000000001'),
      {
        v: 1,
        n: 1,
        at: start,
        kind: 'start',
        by: people.operator.uid,
        text: 'Otto Operator started the run',
        prev: '0'.repeat(64),
        hash: 'b'.repeat(64),
      },
    ],
    [
      paths.history(ref.accountId, ref.runId, '000000002'),
      {
        v: 1,
        n: 2,
        at: start + 12_200,
        kind: 'approval',
        by: 'system',
        text: '"Pay invoice" was put to finance',
        prev: 'b'.repeat(64),
        hash: 'c'.repeat(64),
      },
    ],
  ]);
}

/** Failed in the loop. */
export function failedRun(ref: Shape, now: number): Documents {
  const start = now - 3 * HOUR;
  const error = {
    code: 'http.client_error',
    class: 'not_retryable' as const,
    message: 'The target refused the request: 422 the account is closed.',
    data: { status: 422, field: 'iban' },
  };
  const loop = (index: number): LoopFrame[] => [{ stepId: 'each', index, count: 3, lanes: 1 }];
  const steps = [
    done(ref, 'classify', start, 1_900, { type: 'recipe' }),
    done(ref, 'large', start + 2_200, 6, { type: 'condition', attempts: [], details: JSON.stringify({ branch: 'else' }) }),
    done(ref, 'large.else.auto', start + 2_300, 4, { stepId: 'auto', type: 'transform', attempts: [] }),
    step({
      ...ref,
      key: 'each',
      type: 'loop',
      state: 'failed',
      createdAt: start + 2_400,
      startedAt: start + 2_450,
      endedAt: start + 4_900,
      error: { ...error, code: 'step.iteration_failed', message: 'Iteration 3 failed.' },
    }),
    done(ref, 'each[0].book', start + 2_500, 700, { stepId: 'book', loops: loop(0) }),
    done(ref, 'each[1].book', start + 3_300, 650, { stepId: 'book', loops: loop(1) }),
    step({
      ...ref,
      key: 'each[2].book',
      stepId: 'book',
      loops: loop(2),
      state: 'failed',
      createdAt: start + 4_100,
      startedAt: start + 4_180,
      endedAt: start + 4_800,
      attempts: [attempt(1, start + 4_180, 620, { outcome: 'failed', error })],
      error,
      input: payload({ text: 'Travel', amount: 400 }),
    }),
  ];
  const record = run({
    ...ref,
    createdAt: start,
    status: 'failed',
    endedAt: start + 4_900,
    businessKey: 'invoice-2026-113',
    error: { ...error, stepKey: 'each[2].book' },
  });
  return documents(record, steps);
}

export function completedRun(ref: Shape, now: number, rest: Partial<RunRecord> = {}): Documents {
  const start = rest.createdAt ?? now - DAY;
  const steps = [done(ref, 'classify', start, 1_700, { type: 'recipe' }), done(ref, 'pay', start + 2_000, 800)];
  return documents(
    run({ ...ref, status: 'completed', endedAt: start + 3_000, output: payload({ paid: true }), ...rest, createdAt: start }),
    steps,
  );
}

/** A loop of `items` iterations of two steps each, the last few still to come. */
export function largeRun(ref: Shape, now: number, items = 5_000): Documents {
  const start = now - HOUR;
  const stride = Math.floor((50 * MINUTE) / items);
  const steps: StepRecord[] = [
    step({ ...ref, key: 'each', type: 'loop', state: 'waiting', createdAt: start, startedAt: start + 50, wait: { kind: 'children' } }),
  ];
  for (let index = 0; index < items; index += 1) {
    const loops = [{ stepId: 'each', index, count: items, lanes: 1 }];
    const at = start + 100 + index * stride;
    const last = index === items - 1;
    steps.push(
      done(ref, `each[${index}].fetch`, at, Math.floor(stride / 3), {
        stepId: 'fetch',
        loops,
        input: payload({ index }),
        output: payload({ index, ok: true }),
      }),
    );
    steps.push(
      last
        ? step({
            ...ref,
            key: `each[${index}].store`,
            stepId: 'store',
            loops,
            state: 'running',
            createdAt: at + 250,
            startedAt: at + 300,
            attempts: [{ n: 1, startedAt: at + 300 }],
            lease: { token: 't', until: now + MINUTE },
          })
        : done(ref, `each[${index}].store`, at + Math.floor(stride / 2), Math.floor(stride / 3), { stepId: 'store', loops }),
    );
  }
  return documents(run({ ...ref, createdAt: start, workflowId: 'import', version: 1 }), steps);
}

function documents(record: RunRecord, steps: readonly StepRecord[], also: readonly (readonly [string, object])[] = []): Documents {
  return new Map<string, object>([
    [paths.run(record.accountId, record.runId), record],
    ...steps.map((each) => [paths.step(record.accountId, record.runId, each.key), each] as const),
    ...also,
  ]);
}
