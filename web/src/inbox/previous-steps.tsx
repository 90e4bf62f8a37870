import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import type { ApprovalRecord } from '@model/approval.ts';
import type { StepRecord } from '@model/step.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { stepShape } from '../data/shapes.ts';
import { factsOf } from '../run/step-facts.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { PayloadView } from '../ui/payload-view.tsx';
import { Loading, Problem } from '../ui/states.tsx';
import { StepBadge } from '../ui/status.tsx';
import styles from './approval-page.module.css';

/** The steps before the question, read when somebody wants to see them. */
export function PreviousSteps({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const [open, setOpen] = useState(false);
  return (
    <details className={styles['previous']} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" size={16} />
        {t.approval.previousSteps}
      </summary>
      {open ? <Steps approval={approval} /> : null}
      <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: approval.runId }} search={{ step: approval.stepKey }}>
        {t.approval.run}
      </Link>
    </details>
  );
}

function Steps({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const live = useLiveList(queries.stepsBefore(approval.accountId, approval.runId, approval.requestedAt), stepShape);
  if (live.state === 'loading') return <Loading lines={3} />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  const steps = live.value.map((item) => item.value).filter((step) => step.key !== approval.stepKey && step.join === undefined);
  return (
    <ol className={styles['steps']}>
      {steps.map((step) => (
        <PreviousStep key={step.key} step={step} />
      ))}
    </ol>
  );
}

function PreviousStep({ step }: { readonly step: StepRecord }): ReactNode {
  const { t } = useText();
  const model = factsOf(step.details).model;
  return (
    <li>
      <div className={styles['decision']}>
        <strong>{step.key}</strong>
        <StepBadge state={step.state} />
        {model === undefined ? null : <span className="small soft">{t.approval.model(model)}</span>}
      </div>
      {step.output === undefined ? null : <PayloadView run={step} payload={step.output} />}
    </li>
  );
}
