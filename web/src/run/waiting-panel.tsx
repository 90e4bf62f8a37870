import { Link } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { waitingReasons, type WaitingFacts, type WaitingKind, type WaitingReason } from '@engine/waiting-reason.ts';
import { paths } from '@model/paths.ts';
import type { RunRecord } from '@model/run.ts';
import type { StepRecord } from '@model/step.ts';
import { useAccount, usePeople } from '../data/account.tsx';
import { useLiveDoc } from '../data/live.ts';
import { approvalShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { useNow } from '../ui/now.ts';
import { sayReason } from './say-reason.ts';
import styles from './run-page.module.css';

const SHOWN = 4;
const MOMENT_MS = 5_000;

/** The first thing on a run that has not ended: what it waits for, since when, until when, and what happens then. */
export function WaitingPanel({ run, live }: { readonly run: RunRecord; readonly live: readonly StepRecord[] }): ReactNode {
  const { t } = useText();
  const people = usePeople();
  const asked = live.flatMap((step) => (step.wait?.kind === 'approval' ? [step.wait.approvalId] : []))[0];
  const approvals = useApproval(run.accountId, asked);
  const reasons = useMemo(() => waitingReasons({ run, steps: live, approvals, nameOf: people.nameOf }), [run, live, approvals, people]);
  const first = reasons[0];
  if (first === undefined) return null;
  return (
    <section className={styles['waiting']} data-tone={toneOf(first.kind)} aria-live="polite">
      <h2>{goesOn(first.kind) ? t.waiting.titleGoingOn : t.waiting.title}</h2>
      <ul className={styles['reasons']}>
        {reasons.slice(0, SHOWN).map((reason) => (
          <Reason key={reason.stepKey ?? ''} run={run} reason={reason} step={live.find((step) => step.key === reason.stepKey)} />
        ))}
      </ul>
      {reasons.length > SHOWN ? <p className="small soft">{t.waiting.more(reasons.length - SHOWN)}</p> : null}
    </section>
  );
}

function toneOf(kind: WaitingKind): 'bad' | 'wait' | 'run' {
  if (kind === 'unresolved' || kind === 'mismatch') return 'bad';
  return kind === 'approval' || kind === 'paused' ? 'wait' : 'run';
}

function goesOn(kind: WaitingKind): boolean {
  return kind === 'performing' || kind === 'beginning' || kind === 'undoing' || kind === 'ending' || kind === 'check';
}

/** The request that is waited for. */
function useApproval(accountId: string, approvalId: string | undefined): NonNullable<WaitingFacts['approvals']> {
  const live = useLiveDoc(approvalId === undefined ? undefined : paths.approval(accountId, approvalId), approvalShape);
  return useMemo(() => {
    const approval = live.state === 'ready' ? live.value?.value : undefined;
    return approval === undefined ? new Map() : new Map([[approval.approvalId, approval]]);
  }, [live]);
}

interface ReasonProps {
  readonly run: RunRecord;
  readonly reason: WaitingReason;
  readonly step: StepRecord | undefined;
}

function Reason({ run, reason, step }: ReasonProps): ReactNode {
  const { t, format } = useText();
  const { accountId } = useAccount();
  const now = useNow(1_000);
  const words = t.waiting;
  const lasted = now - reason.since;
  const late = reason.until === undefined ? 0 : now - reason.until;
  const parts = [
    sayReason(reason, t),
    lasted < MOMENT_MS ? words.sinceMoment : words.since(format.duration(lasted)),
    ...(reason.until === undefined ? [] : [words.until(format.moment(reason.until, now))]),
  ];
  const then = reason.then === undefined || reason.until === undefined ? '' : `; ${t.engine.say(reason.then)}`;
  return (
    <li>
      <span>
        {parts.join(', ')}
        {then}
        {'. '}
        {reason.stepKey === undefined ? null : (
          <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: run.runId }} search={{ step: reason.stepKey }}>
            {reason.stepKey}
          </Link>
        )}{' '}
        <Target step={step} />
      </span>
      {reason.lastError === undefined ? null : <span className="small soft">{reason.lastError.message}</span>}
      {late > LATE_MS ? <span className="small soft">{words.late(format.duration(late))}</span> : null}
    </li>
  );
}

/** Before that it is ordinary delay. */
const LATE_MS = 90_000;

/** The way to what is waited for. */
export function Target({ step }: { readonly step: StepRecord | undefined }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const wait = step?.wait;
  if (wait?.kind === 'approval') {
    return (
      <Link to="/a/$accountId/approvals/$approvalId" params={{ accountId, approvalId: wait.approvalId }}>
        {t.run.openApproval}
      </Link>
    );
  }
  if (wait?.kind === 'run') {
    return (
      <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: wait.runId }}>
        {t.run.openChild}
      </Link>
    );
  }
  return null;
}
