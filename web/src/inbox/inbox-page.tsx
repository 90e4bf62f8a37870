import { Link, useNavigate } from '@tanstack/react-router';
import { useRef, useState, type ReactNode } from 'react';
import type { ApprovalRecord } from '@model/approval.ts';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount } from '../data/account.tsx';
import { useLiveDoc, useLiveList, type Item } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { useUser } from '../data/session.tsx';
import { approvalShape, decisionShape } from '../data/shapes.ts';
import { paths } from '@model/paths.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { useShortcuts } from '../ui/keys.tsx';
import { useNow } from '../ui/now.ts';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { Ago, Moment } from '../ui/time.tsx';
import { outcomeDone } from './outcome-names.ts';
import { StandIn } from './stand-in.tsx';
import { urgencyOf } from './standing.ts';
import { useInbox } from './use-inbox.ts';
import styles from './inbox-page.module.css';

export function InboxPage(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const navigate = useNavigate();
  const { live } = useInbox();
  const list = useRef<HTMLUListElement>(null);
  const [earlier, setEarlier] = useState(false);
  usePageTitle(t.inbox.title);
  useFocusOnArrival('inbox');

  const move = (step: 1 | -1): void => {
    const links = [...(list.current?.querySelectorAll<HTMLAnchorElement>('a') ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    links[at === -1 ? (step === 1 ? 0 : links.length - 1) : at + step]?.focus();
  };
  useShortcuts([
    { key: 'j', does: t.keys.next, run: () => move(1) },
    { key: 'k', does: t.keys.previous, run: () => move(-1) },
    {
      key: 'Enter',
      does: t.keys.open,
      run: () => {
        const first = live.state === 'ready' ? live.value[0] : undefined;
        const focused = document.activeElement;
        if (focused instanceof HTMLAnchorElement) focused.click();
        else if (first !== undefined)
          void navigate({ to: '/a/$accountId/approvals/$approvalId', params: { accountId, approvalId: first.id } });
      },
    },
  ]);

  return (
    <div className={styles['page']}>
      <h1>{t.inbox.title}</h1>
      {live.state === 'loading' ? <Loading /> : null}
      {live.state === 'failed' ? <Problem error={live.error} /> : null}
      {live.state === 'ready' && live.value.length === 0 ? (
        <Empty icon="inbox" title={t.inbox.empty.title} text={t.inbox.empty.text} />
      ) : null}
      {live.state === 'ready' && live.value.length > 0 ? (
        <ul ref={list} className={styles['list']}>
          {live.value.map((item) => (
            <WaitingRow key={item.id} item={item} />
          ))}
        </ul>
      ) : null}
      {live.state === 'ready' && live.unreadable > 0 ? <p className="small soft">{t.common.unreadable(live.unreadable)}</p> : null}
      <details className={styles['earlier']} onToggle={(event) => setEarlier(event.currentTarget.open)}>
        <summary>{t.inbox.earlier}</summary>
        {earlier ? <Earlier /> : null}
      </details>
    </div>
  );
}

function WaitingRow({ item }: { readonly item: Item<ApprovalRecord> }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { value: approval } = item;
  const urgency = urgencyOf(approval.deadlineAt, useNow(60_000));
  return (
    <li data-urgency={urgency}>
      <Link to="/a/$accountId/approvals/$approvalId" params={{ accountId, approvalId: item.id }} className={styles['row']}>
        <span className={styles['what']}>
          <strong>{approval.title}</strong>
          {approval.effect === undefined ? null : <span className="soft">{approval.effect}</span>}
        </span>
        <span className={styles['when']}>
          {urgency === 'late' ? (
            <Badge tone="bad" icon="warn">
              {t.inbox.overdue}
            </Badge>
          ) : (
            <Due approval={approval} urgent={urgency === 'soon'} />
          )}
          {approval.quorum === '"any"' ? null : <OwnAnswer approval={approval} />}
          <StandIn approval={approval} />
          <span className="small soft">
            {approval.workflowId} · <Ago at={approval.requestedAt} />
          </span>
        </span>
        <Icon name="right" />
      </Link>
    </li>
  );
}

function Due({ approval, urgent }: { readonly approval: ApprovalRecord; readonly urgent: boolean }): ReactNode {
  const { t, format } = useText();
  const now = useNow(10_000);
  const text = t.inbox.dueSoon(format.relative(approval.deadlineAt, now));
  return (
    <span title={format.full(approval.deadlineAt)}>
      <Badge tone={urgent ? 'wait' : 'idle'} icon="clock">
        {text}
      </Badge>
    </span>
  );
}

/** Where several must agree, the reader's own answer shows that nothing is left to do for now. */
function OwnAnswer({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { t } = useText();
  const own = useLiveDoc(paths.decision(approval.accountId, approval.approvalId, useUser().uid), decisionShape);
  if (own.state !== 'ready' || own.value === undefined) return null;
  return (
    <Badge tone="good" icon="check">
      {t.inbox.youDecided(outcomeDone(t, own.value.value.outcome))}
    </Badge>
  );
}

function Earlier(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const live = useLiveList(queries.decided(accountId, useUser().uid), approvalShape);
  if (live.state === 'loading') return <Loading lines={2} />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  if (live.value.length === 0) return <p className="soft">{t.inbox.noEarlier}</p>;
  return (
    <ul className={styles['list']}>
      {live.value.map(({ id, value }) => (
        <li key={id}>
          <Link to="/a/$accountId/approvals/$approvalId" params={{ accountId, approvalId: id }} className={styles['row']}>
            <span className={styles['what']}>
              <span>{value.title}</span>
            </span>
            <span className={styles['when']}>
              <Badge tone="idle" icon={value.status === 'decided' ? 'check' : 'clock'}>
                {value.outcome === undefined ? t.statuses.approval[value.status] : outcomeDone(t, value.outcome)}
              </Badge>
              <span className="small soft">{value.endedAt === undefined ? null : <Moment at={value.endedAt} />}</span>
            </span>
            <Icon name="right" />
          </Link>
        </li>
      ))}
    </ul>
  );
}
