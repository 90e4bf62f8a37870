import { createHash } from 'node:crypto';
import { DUE_AT_ONCE } from '../../functions/src/model/client-documents.ts';
import { fromNow, SERVER_TIME } from './client.ts';
import type { Doc, RulesClient } from './client.ts';

/** Who acts. `null` is not signed in; `stranger` is a member of nothing; `foreigner` runs another account. */
export const everybody = [null, 'stranger', 'foreigner', 'gone', 'viewer', 'author', 'operator', 'approver', 'admin'] as const;
export type Who = (typeof everybody)[number];

export const members: readonly Who[] = ['viewer', 'author', 'operator', 'approver', 'admin'];
export const operators: readonly Who[] = ['operator', 'admin'];
export const starters: readonly Who[] = ['operator', 'author', 'admin'];

export const NOW = Date.now();
const HOUR = 3_600_000;
const THIRTY_DAYS = 30 * 24 * HOUR;

function member(uid: string, account: string, roles: readonly string[], active = true): Doc {
  return {
    v: 1,
    accountId: account,
    uid,
    email: `${uid}@example.com`,
    name: uid,
    roles,
    departments: [],
    active,
    updatedAt: 0,
    updatedBy: 'seed',
  };
}

const approval = (fields: Doc = {}): Doc => ({
  accountId: 'acme',
  status: 'pending',
  digest: 'd'.repeat(64),
  eligible: ['approver', 'starter', 'second'],
  outcomes: ['approve', 'reject'],
  commentRequired: ['reject'],
  fourEyes: true,
  startedBy: 'starter',
  sensitive: false,
  deadlineAt: NOW + 24 * HOUR,
  runId: 'r1',
  ...fields,
});

const open = { approvalId: 'open' };

/** The documents of two accounts. */
export const world: Readonly<Record<string, Doc>> = {
  'accounts/acme': { v: 1, name: 'Acme' },
  'accounts/other': { v: 1, name: 'Other' },
  ...Object.fromEntries(members.map((uid) => [`accounts/acme/members/${uid}`, member(String(uid), 'acme', [String(uid)])])),
  'accounts/acme/members/gone': member('gone', 'acme', ['viewer', 'author', 'operator', 'approver', 'admin'], false),
  'accounts/acme/members/starter': member('starter', 'acme', ['approver']),
  'accounts/acme/members/second': member('second', 'acme', ['approver']),
  'accounts/acme/members/unasked': member('unasked', 'acme', ['approver']),
  'accounts/other/members/foreigner': member('foreigner', 'other', ['viewer', 'author', 'operator', 'approver', 'admin']),
  'accounts/acme/workflows/w': { v: 1 },
  'accounts/acme/workflows/w/versions/1': { v: 1 },
  'accounts/acme/recipes/p': { v: 1 },
  'accounts/acme/recipes/p/versions/1': { v: 1 },
  'accounts/acme/kb/k': { v: 1 },
  'accounts/acme/kbChunks/k': { v: 1 },
  'accounts/acme/schedules/s': { v: 1 },
  'accounts/acme/hooks/h': { v: 1 },
  'accounts/acme/mcpServers/m': { v: 1 },
  'accounts/acme/alerts/a': { v: 1 },
  'accounts/acme/reconciliations/r1': { v: 1 },
  'accounts/acme/exceptions/x': { v: 1 },
  'accounts/acme/watches/w': { v: 1 },
  'accounts/acme/rollups/d': { v: 1 },
  'accounts/acme/jobs/j': { v: 1 },
  'accounts/acme/limits/l': { v: 1 },
  'accounts/acme/limits/l/slots/1': { v: 1 },
  'accounts/acme/waits/w': { v: 1 },
  'accounts/acme/outbox/o': { v: 1 },
  'accounts/acme/effects/e': { v: 1 },
  'accounts/acme/corrections/open': { v: 1 },
  'accounts/acme/audit/000000001': { v: 1 },
  'accounts/acme/completions/r1': { v: 1 },
  'accounts/acme/startKeys/k': { v: 1 },
  'accounts/acme/notifications/n': { v: 1, to: 'viewer', title: 't' },
  'accounts/acme/notifications/m': { v: 1, to: 'admin', title: 't' },
  'accounts/acme/notifications/g': { v: 1, to: 'gone', title: 't' },
  'accounts/acme/requests/q': { v: 1 },
  'accounts/acme/events/e': { v: 1 },
  'accounts/acme/runs/r1': { v: 1 },
  'accounts/acme/runs/r1/steps/s': { v: 1 },
  'accounts/acme/runs/r1/states/1': { v: 1 },
  'accounts/acme/runs/r1/trace/tree': { v: 1 },
  'accounts/acme/runs/r1/marks/metrics': { v: 1 },
  'accounts/acme/settings/retention': { v: 1 },
  'accounts/acme/metrics/d': { v: 1 },
  'accounts/acme/expiries/r1': { v: 1 },
  'accounts/acme/runs/r1/history/000000001': { v: 1 },
  'accounts/acme/runs/r1/journal/1': { v: 1 },
  'accounts/acme/runs/r1/joins/j': { v: 1 },
  'accounts/acme/runs/r1/consumed/e': { v: 1 },
  'accounts/acme/runs/r1/answers/a': { v: 1 },
  'accounts/acme/runs/r1/commands/c': { v: 1 },
  'accounts/acme/runs/r1/payloads/plain': { v: 1, text: 'x' },
  'accounts/acme/runs/r1/payloads/marked': { v: 1, text: 'x', sensitive: false },
  'accounts/acme/runs/r1/payloads/secret': { v: 1, text: 'x', sensitive: true },
  'accounts/acme/runs/r1/payloads/shown': { v: 1, text: 'x', sensitive: true, approvalId: 'secret' },
  'accounts/acme/approvals/open': approval(open),
  'accounts/acme/approvals/open/decisions/unasked': { v: 1 },
  'accounts/acme/approvals/open/verdicts/unasked': { v: 1 },
  'accounts/acme/approvals/secret': approval({ approvalId: 'secret', sensitive: true }),
  'accounts/acme/approvals/secret/decisions/unasked': { v: 1 },
  'accounts/acme/approvals/secret/verdicts/unasked': { v: 1 },
  'accounts/acme/approvals/closed': approval({ approvalId: 'closed', status: 'decided' }),
  'accounts/acme/approvals/late': approval({ approvalId: 'late', deadlineAt: NOW - 1_000 }),
  'accounts/acme/approvals/changed': approval({ approvalId: 'changed', digest: 'e'.repeat(64) }),
  'accounts/acme/approvals/twoeyes': approval({ approvalId: 'twoeyes', fourEyes: false }),
  'accounts/acme/approvals/taken': approval({ approvalId: 'taken', claimedBy: 'second' }),
  'accounts/acme/approvals/mine': approval({ approvalId: 'mine', claimedBy: 'approver' }),
  'accounts/acme/approvals/held': approval({ approvalId: 'held', claimedBy: 'approver' }),
  'accounts/acme/approvals/form': approval({ approvalId: 'form', form: '{}' }),
  'accounts/acme/approvals/alleyes': approval({ approvalId: 'alleyes', eligible: ['approver', 'stranger', 'gone', 'foreigner'] }),
  'accounts/bare/members/admin': member('admin', 'bare', ['admin']),
  'accounts/other/runs/r1': { v: 1 },
  'accounts/other/runs/r1/steps/s': { v: 1 },
  'accounts/other/approvals/open': approval(open),
  'system/control': { halted: false },
};

/** Valid documents of each kind that clients create, to forge one field of at a time. */
export const decision = (by: string, approvalId = 'open', fields: Doc = {}): Doc => ({
  v: 1,
  accountId: 'acme',
  approvalId,
  by,
  at: SERVER_TIME,
  outcome: 'approve',
  digest: 'd'.repeat(64),
  due: DUE_AT_ONCE,
  ...fields,
});

export const command = (by: string, fields: Doc = {}): Doc => ({
  v: 1,
  accountId: 'acme',
  runId: 'r1',
  by,
  at: SERVER_TIME,
  kind: 'cancel',
  reason: 'it is wrong',
  status: 'pending',
  due: DUE_AT_ONCE,
  ...fields,
});

export const request = (by: string, fields: Doc = {}): Doc => ({
  v: 1,
  accountId: 'acme',
  id: 'new',
  workflowId: 'w',
  input: '{}',
  by,
  at: SERVER_TIME,
  status: 'pending',
  due: DUE_AT_ONCE,
  ...fields,
});

export const payload = (json: string): Doc => ({
  json,
  size: Buffer.byteLength(json),
  digest: createHash('sha256').update(json).digest('hex'),
});

export const event = (by: string, fields: Doc = {}): Doc => ({
  v: 1,
  accountId: 'acme',
  eventId: 'new',
  name: 'paid',
  payload: payload('{"amount":"4 €"}'),
  source: `user:${by}`,
  receivedAt: fromNow(0),
  state: 'new',
  taken: 0,
  due: DUE_AT_ONCE,
  expiresAt: fromNow(THIRTY_DAYS),
  ...fields,
});

export const without = (doc: Doc, field: string): Doc => Object.fromEntries(Object.entries(doc).filter(([name]) => name !== field));

/** What an operator has created before: valid then, and valid again if it were written once more. */
export const created: Readonly<Record<string, { readonly by: string; readonly doc: Doc }>> = {
  'accounts/acme/approvals/mine/decisions/approver': { by: 'approver', doc: decision('approver', 'mine') },
  'accounts/acme/runs/r1/commands/mine': { by: 'operator', doc: command('operator') },
  'accounts/acme/requests/mine': { by: 'operator', doc: request('operator', { id: 'mine' }) },
  'accounts/acme/events/mine': { by: 'operator', doc: event('operator', { eventId: 'mine' }) },
};

export async function build(client: RulesClient): Promise<void> {
  for (const [path, doc] of Object.entries(world)) await client.set(path, doc);
  for (const [path, { doc }] of Object.entries(created)) await client.set(path, doc);
}
