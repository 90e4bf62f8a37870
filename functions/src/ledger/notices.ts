import { digest } from '../engine/json.ts';
import type { MemberRecord } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import type { StepRef } from '../model/paths.ts';
import { newDelivery, newNotification } from './told.ts';
import type { Write } from './store.ts';

export interface StepNotice {
  readonly kind: 'handoff' | 'notify';
  readonly title: string;
  readonly body: string;
  readonly link: string;
  /** Whether a mail goes out beside the notification in the app. */
  readonly mail: boolean;
}

/** The page of a run, below the web app's address. */
export function runLink(accountId: string, runId: string): string {
  return `/runs/${accountId}/${runId}`;
}

/**
 * One notification and one mail for each person. Their ids follow from step and person, and they are created in the commit that
 * ends the step: an attempt that is repeated tells nobody twice.
 */
export function stepNoticeWrites(ref: StepRef, people: readonly MemberRecord[], notice: StepNotice, now: number): readonly Write[] {
  const { accountId, runId } = ref;
  return people.flatMap((person): Write[] => {
    const id = digest(`${runId}/${ref.key}/${notice.kind}/${person.uid}`).slice(0, 32);
    const shared = { accountId, id, link: notice.link, runId } as const;
    const notification = newNotification({ ...shared, to: person.uid, kind: notice.kind, title: notice.title, body: notice.body }, now);
    const body = `Hello ${person.name === '' ? person.email : person.name},\n\n${notice.body}\n`;
    const mail = newDelivery({ ...shared, kind: 'mail', to: person.email, subject: notice.title, body }, now);
    const written: Write = { op: 'create', path: paths.notification(accountId, id), data: notification };
    return notice.mail && person.email !== '' ? [written, { op: 'create', path: paths.outbox(accountId, id), data: mail }] : [written];
  });
}
