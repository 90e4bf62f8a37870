import type { ReactNode } from 'react';
import type { Approvers, VerdictRecord } from '@model/approval.ts';
import { usePeople, type People } from '../data/account.tsx';
import { useText } from '../text/text.tsx';
import type { Catalogue } from '../text/en/index.ts';
import { diffJson } from '../ui/json-diff.ts';
import { useNow } from '../ui/now.ts';
import { Badge } from '../ui/status.tsx';
import { Moment } from '../ui/time.tsx';
import { Changes } from './evidence.tsx';
import { outcomeDone } from './outcome-names.ts';
import { parsedValues, type Shown } from './shown.ts';
import { progressOf } from './standing.ts';
import type { ApprovalView } from './use-approval.ts';
import styles from './approval-page.module.css';

/** "finance", "Ada or Ben": whom a panel asks, in words. */
function whom(approvers: Approvers, people: People, t: Catalogue): string {
  const users = (approvers.users ?? []).map((uid) => people.nameOf(uid));
  const roles = (approvers.roles ?? []).map((role) =>
    Object.hasOwn(t.shell.roles, role) ? t.shell.roles[role as keyof typeof t.shell.roles] : role,
  );
  return [...users, ...(approvers.departments ?? []), ...roles].join(', ') || t.approval.whoever;
}

/** Who is waited for, until when, and what happens then. */
export function DeadlineSentence({ view }: { readonly view: ApprovalView }): ReactNode {
  const { t, format } = useText();
  const people = usePeople();
  const now = useNow(60_000);
  const { approval, rules } = view;
  const panel = rules.panels.at(-1);
  const level = rules.agenda?.ladder[0];
  const then =
    approval.onDeadline === 'escalate' && level !== undefined
      ? t.approval.then.escalateTo(whom(level.approvers, people, t))
      : t.approval.then[approval.onDeadline];
  const who = panel === undefined ? t.approval.whoever : whom(panel.approvers, people, t);
  const progress = progressOf(rules.quorum, rules.panels, view.verdicts);
  return (
    <p title={`${format.full(approval.deadlineAt)} (${t.common.timesIn(format.zone)})`}>
      {t.approval.waitingFor(who, format.moment(approval.deadlineAt, now), then)}
      {progress.needed > 1 ? ` ${t.approval.progress(progress.agreed, progress.needed)}` : ''}
      {progress.groups === undefined ? '' : ` (${progress.groups.map((group) => t.approval.group(group.name, group.min)).join(', ')})`}
      {progress.needed > 1 ? '.' : ''}
    </p>
  );
}

/** The end of a request: it never changes again. */
export function Result({ view, shown }: { readonly view: ApprovalView; readonly shown: Shown }): ReactNode {
  const { t } = useText();
  const people = usePeople();
  const { approval, decisions } = view;
  if (approval.status === 'pending') return null;
  const names = approval.decidedByNames ?? (approval.decidedBy ?? []).map((uid) => people.nameOf(uid));
  const words = t.approval.result;
  const outcome = approval.outcome === undefined ? undefined : outcomeDone(t, approval.outcome);
  const title =
    approval.status === 'decided'
      ? words.decided(outcome ?? '', names.join(', '))
      : approval.status === 'expired'
        ? outcome === undefined
          ? words.expired
          : words.expiredAs(outcome)
        : words.cancelled;
  const edited = decisions.find((item) => approval.decidedBy?.includes(item.id) === true && item.value.values !== undefined)?.value.values;
  const corrections = edited === undefined ? [] : diffJson(shown.values, parsedValues(edited));
  return (
    <section className={styles['result']}>
      <h2>{title}</h2>
      {approval.endedAt === undefined ? null : (
        <p className="small soft">
          <Moment at={approval.endedAt} />
        </p>
      )}
      {corrections.length === 0 ? null : <Changes changes={corrections} title={t.approval.corrected} />}
    </section>
  );
}

/** Who decided what, with their words. */
export function Decisions({ view }: { readonly view: ApprovalView }): ReactNode {
  const { t } = useText();
  const { verdicts } = view;
  const sorted = [...verdicts].sort((a, b) => a.decidedAt - b.decidedAt);
  return (
    <section className={styles['section']}>
      <h2>{t.approval.decisions}</h2>
      {sorted.length === 0 ? <p className="soft">{t.approval.noDecisions}</p> : null}
      <ol className={styles['decisions']}>
        {sorted.map((verdict) => (
          <Decision key={verdict.by} verdict={verdict} comment={view.decisions.find((item) => item.id === verdict.by)?.value.comment} />
        ))}
      </ol>
    </section>
  );
}

function Decision({ verdict, comment }: { readonly verdict: VerdictRecord; readonly comment: string | undefined }): ReactNode {
  const { t } = useText();
  const people = usePeople();
  const others = verdict.seats.filter((uid) => uid !== verdict.by).map((uid) => people.nameOf(uid));
  const rejecting = verdict.outcome === 'reject' || verdict.outcome === 'request_changes';
  return (
    <li>
      <div className={styles['decision']}>
        <strong>{verdict.name}</strong>
        {others.length === 0 ? null : <span className="soft">{t.approval.forWhom(others.join(', '))}</span>}
        <Badge
          tone={!verdict.accepted ? 'idle' : rejecting ? 'bad' : 'good'}
          icon={!verdict.accepted ? 'minus' : rejecting ? 'cross' : 'check'}
        >
          {outcomeDone(t, verdict.outcome)}
          {verdict.accepted ? '' : ` (${t.approval.notCounted})`}
        </Badge>
        <span className="small soft">
          <Moment at={verdict.decidedAt} />
        </span>
      </div>
      {comment === undefined ? null : <blockquote>{comment}</blockquote>}
      {verdict.accepted || verdict.reason === undefined ? null : <p className="small soft">{verdict.reason}</p>}
    </li>
  );
}
