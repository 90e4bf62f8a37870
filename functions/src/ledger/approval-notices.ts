import { digest } from '../engine/json.ts';
import { iso, nameOf } from '../engine/verdict.ts';
import type { ApprovalRecord } from '../model/approval.ts';
import type { MemberRecord } from '../model/member.ts';
import type { NotificationRecord } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import { newDelivery, newNotification } from './told.ts';
import type { Write } from './store.ts';

type Kind = Extract<NotificationRecord['kind'], 'approval' | 'reminder' | 'escalation' | 'handoff' | 'decided' | 'alert'>;

/** What happened to a request, for those who should know. `n` tells the second reminder from the first. */
export interface Notice {
  readonly kind: Kind;
  readonly n: number;
  readonly to: readonly string[];
  readonly text: string;
}

/** The page of a request, below the web app's address. Opening it decides nothing: deciding takes a signed-in person's click. */
export function approvalLink(approval: Pick<ApprovalRecord, 'accountId' | 'approvalId'>): string {
  return `/approvals/${approval.accountId}/${approval.approvalId}`;
}

/**
 * One notification and one mail for each person: their ids follow from request, event and person, and they are created in the
 * commit that makes the event true. So neither a repeated delivery nor a retried transaction sends a second one.
 */
export function noticeWrites(
  approval: ApprovalRecord,
  members: ReadonlyMap<string, MemberRecord>,
  notice: Notice,
  now: number,
): readonly Write[] {
  const link = approvalLink(approval);
  return [...new Set(notice.to)].flatMap((uid): Write[] => {
    const member = members.get(uid);
    if (member === undefined || !member.active) return [];
    const { accountId, runId } = approval;
    const id = noticeId(approval.approvalId, notice, uid);
    const title = titleOf(notice.kind, approval.title);
    const shared = { accountId, id, link, runId } as const;
    const notification = newNotification({ ...shared, to: uid, kind: notice.kind, title, body: notice.text }, now);
    const body = `Hello ${nameOf(members, uid)},\n\n${notice.text}\n`;
    const mail = newDelivery({ ...shared, kind: 'mail', to: member.email, subject: title, body }, now);
    const written: Write = { op: 'create', path: paths.notification(accountId, id), data: notification };
    return member.email === '' ? [written] : [written, { op: 'create', path: paths.outbox(accountId, id), data: mail }];
  });
}

export function noticeId(approvalId: string, notice: Pick<Notice, 'kind' | 'n'>, uid: string): string {
  return digest(`${approvalId}/${notice.kind}/${notice.n}/${uid}`).slice(0, 32);
}

function titleOf(kind: Kind, title: string): string {
  switch (kind) {
    case 'approval':
      return `Please decide: ${title}`;
    case 'reminder':
      return `Reminder: ${title}`;
    case 'escalation':
      return `Passed on to you: ${title}`;
    case 'handoff':
      return `Handed to you: ${title}`;
    case 'decided':
      return `Decided: ${title}`;
    case 'alert':
      return `Nobody can decide: ${title}`;
  }
}

/** What is asked, what approving does, and until when. */
export function askText(approval: ApprovalRecord): string {
  const effect = approval.effect === undefined ? '' : ` To approve means: ${approval.effect}.`;
  return `You are asked to decide on "${approval.title}".${effect} Open until ${iso(approval.deadlineAt)}; ${afterDeadline(approval.onDeadline)}.`;
}

function afterDeadline(onDeadline: ApprovalRecord['onDeadline']): string {
  switch (onDeadline) {
    case 'approve':
      return 'after that it counts as approved';
    case 'reject':
      return 'after that it counts as rejected';
    case 'fail':
      return 'after that the step fails';
    case 'escalate':
      return 'after that it is passed on';
  }
}
