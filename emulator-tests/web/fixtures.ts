/** Documents in the engine's shapes, for pages that are looked at without an engine. */
import { createHash } from 'node:crypto';
import type { ApprovalRecord, Evidence } from '../../functions/src/model/approval.ts';
import type { MemberRecord, Role } from '../../functions/src/model/member.ts';
import { paths } from '../../functions/src/model/paths.ts';
import type { Payload } from '../../functions/src/model/payload.ts';
import type { RunRecord } from '../../functions/src/model/run.ts';
import type { StepRecord } from '../../functions/src/model/step.ts';
import { people, type Person } from './people.ts';

export type Documents = ReadonlyMap<string, object>;

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** What a browser must show as text and nothing else. */
export const HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
export const HOSTILE_MARKDOWN = [
  `# ${HOSTILE}`,
  '![spy](https://evil.example/pixel.png)',
  '[press](javascript:alert(3)) [data](data:text/html,<script>alert(4)</script>)',
  HOSTILE,
].join('\n\n');

export function payload(value: unknown): Payload {
  const json = JSON.stringify(value);
  return { size: Buffer.byteLength(json), digest: createHash('sha256').update(json).digest('hex'), json };
}

export function member(
  accountId: string,
  person: Person,
  roles: readonly Role[],
  departments: readonly string[] = [],
  now = 0,
): MemberRecord {
  const { uid, email, name } = person;
  return {
    v: 1,
    accountId,
    uid,
    email,
    name,
    roles: [...roles],
    departments: [...departments],
    active: true,
    updatedAt: now,
    updatedBy: 'system',
  };
}

/** The people of an account; the outsider is not among them. */
export function membersOf(accountId: string): Documents {
  const all = [
    member(accountId, people.approver, ['approver'], ['finance']),
    member(accountId, people.second, ['approver'], ['finance', 'legal']),
    member(accountId, people.operator, ['operator', 'author']),
    member(accountId, people.admin, ['admin']),
  ];
  return new Map(all.map((each) => [paths.member(accountId, each.uid), each]));
}

export type ApprovalInput = Partial<Omit<ApprovalRecord, 'shown' | 'digest'>> & {
  readonly accountId: string;
  readonly approvalId: string;
  readonly now: number;
  readonly evidence?: readonly Evidence[];
  readonly values?: unknown;
};

export function approval({ now, evidence = [], values, ...fields }: ApprovalInput): ApprovalRecord {
  const title = fields.title ?? 'Pay invoice 2026-114 of Muster AG';
  const form = fields.form === undefined ? undefined : (JSON.parse(fields.form) as unknown);
  const shown = payload({ title, effect: fields.effect, evidence, form, values });
  const seats = [people.approver.uid, people.second.uid];
  return {
    v: 2,
    runId: 'run-1',
    stepKey: 'release',
    workflowId: 'invoice-approval',
    status: 'pending',
    title,
    sensitive: false,
    eligible: seats,
    answered: [],
    approvers: JSON.stringify([{ approvers: { departments: ['finance'] }, quorum: 'any', seats }]),
    quorum: '"any"',
    rejection: 'veto',
    fourEyes: true,
    startedBy: people.operator.uid,
    alsoStartedBy: [],
    onReject: 'exception',
    outcomes: ['approve', 'reject'],
    commentRequired: ['reject'],
    claimable: false,
    requestedAt: now - 35 * MINUTE,
    deadlineAt: now + 5 * HOUR,
    onDeadline: 'escalate',
    schedule: JSON.stringify({
      reminders: [],
      ladder: [{ at: now + 4 * HOUR, approvers: { users: [people.admin.uid] }, quorum: 'any' }],
      periodMs: DAY,
      reminded: 0,
      alerted: false,
    }),
    level: 0,
    ...fields,
    shown,
    digest: shown.digest,
  };
}

export function run(
  fields: Partial<RunRecord> & { readonly accountId: string; readonly runId: string; readonly createdAt: number },
): RunRecord {
  return {
    v: 1,
    kind: 'graph',
    workflowId: 'invoice-approval',
    version: 3,
    hash: 'a'.repeat(64),
    status: 'running',
    pendingApprovals: 0,
    input: payload({ invoice: { number: '2026-114', amount: 4200, currency: 'CHF' } }),
    startedBy: { kind: 'user', id: people.operator.uid },
    startedAt: fields.createdAt + 120,
    chainDepth: 0,
    ...fields,
  };
}

export function step(
  fields: Partial<StepRecord> & { readonly accountId: string; readonly runId: string; readonly key: string; readonly createdAt: number },
): StepRecord {
  return {
    v: 1,
    stepId: fields.key.replace(/^.*\./, ''),
    type: 'action',
    kind: 'graph',
    workflowId: 'invoice-approval',
    version: 3,
    state: 'succeeded',
    gate: 'open',
    loops: [],
    seq: 1,
    activeMs: 0,
    attempt: 1,
    attempts: [],
    ...fields,
  };
}
