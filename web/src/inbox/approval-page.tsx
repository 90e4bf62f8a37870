import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount, usePeople } from '../data/account.tsx';
import { SchemaForm } from '../forms/schema-form.tsx';
import { faultsOf, type Fault } from '../forms/validate.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { useShortcuts } from '../ui/keys.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import { DeadlineSentence, Decisions, Result } from './approval-record.tsx';
import { DecisionBar } from './decision-bar.tsx';
import { EvidenceList } from './evidence.tsx';
import { Handover } from './handover.tsx';
import { PreviousSteps } from './previous-steps.tsx';
import type { Shown } from './shown.ts';
import { mayDecide } from './standing.ts';
import { StandIn } from './stand-in.tsx';
import { StandingNote } from './standing-note.tsx';
import { useApproval, useShown, type ApprovalView } from './use-approval.ts';
import { useInbox } from './use-inbox.ts';
import styles from './approval-page.module.css';

export function ApprovalPage(): ReactNode {
  const { t } = useText();
  const { approvalId } = useParams({ from: '/a/$accountId/approvals/$approvalId' });
  const live = useApproval(approvalId);
  useFocusOnArrival(approvalId);
  useNeighbours(approvalId);
  if (live.state === 'loading') return <Loading />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  if (live.value === undefined) return <Empty icon="question" title={t.approval.missing.title} text={t.approval.missing.text} />;
  return <Request key={approvalId} view={live.value} />;
}

/** j and k go through the inbox without going back to it. */
function useNeighbours(approvalId: string): string | undefined {
  const { t } = useText();
  const { accountId } = useAccount();
  const navigate = useNavigate();
  const { live } = useInbox();
  const ids = live.state === 'ready' ? live.value.map((item) => item.id) : [];
  const at = ids.indexOf(approvalId);
  const next = at === -1 ? ids.find((id) => id !== approvalId) : ids[at + 1];
  const go = (id: string | undefined): void => {
    if (id !== undefined) void navigate({ to: '/a/$accountId/approvals/$approvalId', params: { accountId, approvalId: id } });
  };
  useShortcuts([
    { key: 'j', does: t.keys.next, run: () => go(next) },
    { key: 'k', does: t.keys.previous, run: () => go(at > 0 ? ids[at - 1] : undefined) },
  ]);
  return next;
}

function Request({ view }: { readonly view: ApprovalView }): ReactNode {
  const { approval } = view;
  const shown = useShown(approval);
  const title = shown.state === 'ready' ? shown.shown.title : approval.title;
  usePageTitle(title);
  return (
    <article className={styles['page']}>
      <Head view={view} title={title} />
      <StandingNote view={view} />
      {shown.state === 'loading' ? <Loading /> : null}
      {shown.state === 'failed' ? <Problem error={shown.error} /> : null}
      {shown.state === 'ready' ? <Body view={view} shown={shown.shown} intact={shown.intact} /> : null}
    </article>
  );
}

function Head({ view, title }: { readonly view: ApprovalView; readonly title: string }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const people = usePeople();
  const { approval } = view;
  return (
    <header className={styles['head']}>
      <Link to="/a/$accountId/inbox" params={{ accountId }} className={styles['back']}>
        <Icon name="left" size={16} />
        {t.inbox.title}
      </Link>
      <h1>{title}</h1>
      <p className="small soft">
        {t.approval.asked} <Ago at={approval.requestedAt} /> {t.approval.by(approval.workflowId)}
        {approval.startedBy === '' ? null : ` · ${t.approval.startedBy(people.nameOf(approval.startedBy))}`}
      </p>
      {approval.status === 'pending' ? <DeadlineSentence view={view} /> : null}
      {approval.status === 'pending' ? <StandIn approval={approval} /> : null}
    </header>
  );
}

interface BodyProps {
  readonly view: ApprovalView;
  readonly shown: Shown;
  readonly intact: boolean;
}

function Body({ view, shown, intact }: BodyProps): ReactNode {
  const { t } = useText();
  const { approval, standing } = view;
  const [values, setValues] = useState<Json>(shown.values ?? null);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const able = intact && mayDecide(standing, approval);
  const changed = JSON.stringify(values) !== JSON.stringify(shown.values ?? null);
  const check = async (): Promise<boolean> => {
    if (shown.form === undefined || !changed) return true;
    const found = await faultsOf(shown.form, values);
    setFaults(found);
    return found.length === 0;
  };
  return (
    <>
      {intact ? null : (
        <p className={styles['alarm']} role="alert">
          <Icon name="warn" />
          {t.approval.tampered}
        </p>
      )}
      {shown.effect === undefined ? null : (
        <section className={styles['effect']} aria-label={t.approval.effect}>
          <h3>{t.approval.effect}</h3>
          <p>{shown.effect}</p>
        </section>
      )}
      <Result view={view} shown={shown} />
      <section className={styles['section']}>
        <h2>{t.approval.evidence}</h2>
        {shown.evidence.length === 0 ? <p className="soft">{t.approval.noEvidence}</p> : <EvidenceList evidence={shown.evidence} />}
        {shown.unreadable > 0 ? <p className={styles['alarm']}>{t.approval.unreadableEvidence}</p> : null}
      </section>
      {able && shown.form !== undefined ? (
        <section className={styles['section']}>
          <h2>{t.approval.corrections}</h2>
          <p className="small soft">{t.approval.correctionsText}</p>
          <SchemaForm schema={shown.form} value={values} onChange={setValues} faults={faults} />
        </section>
      ) : null}
      <PreviousSteps approval={approval} />
      <Decisions view={view} />
      <Handover view={view} />
      <p className="small soft">
        {t.approval.digest}: <code>{approval.digest.slice(0, 16)}</code>
      </p>
      {able ? (
        <DecisionBar
          view={view}
          original={shown.values ?? null}
          {...(changed ? { corrected: values } : {})}
          effect={shown.effect}
          check={check}
        />
      ) : (
        <NextRequest current={approval.approvalId} />
      )}
    </>
  );
}

/** When this one is done: the way on, in reach of the thumb. */
function NextRequest({ current }: { readonly current: string }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const navigate = useNavigate();
  const { live } = useInbox();
  const next = live.state === 'ready' ? live.value.find((item) => item.id !== current) : undefined;
  return (
    <div className={styles['bar']}>
      <Button
        variant="default"
        size="md"
        onClick={() =>
          void (next === undefined
            ? navigate({ to: '/a/$accountId/inbox', params: { accountId } })
            : navigate({ to: '/a/$accountId/approvals/$approvalId', params: { accountId, approvalId: next.id } }))
        }
      >
        {next === undefined ? t.approval.nothingNext : t.approval.next}
      </Button>
    </div>
  );
}
