import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { EffectRecord } from '@model/effect.ts';
import { useAccount } from '../data/account.tsx';
import { useText } from '../text/text.tsx';
import { Badge } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { SettleForm } from './settle-form.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

/** An effect whose step has ended without an answer: somebody looks in the target system, and says what is there. */
export function EffectRow({ id, effect }: { readonly id: string; readonly effect: EffectRecord }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { busy, problem, run } = useCall();
  const choices = [
    { label: t.commands.happened, run: (reason: string) => void run('effects.settle', { id, happened: true, reason }) },
    { label: t.commands.notHappened, run: (reason: string) => void run('effects.settle', { id, happened: false, reason }) },
  ];
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <Badge tone="bad" icon="warn">
            {t.operations.exceptions.kinds.unresolved}
          </Badge>
          <strong>{effect.key}</strong>
          <span className="small soft">
            <Ago at={effect.claimedAt} />
          </span>
        </div>
        <p>{t.operations.exceptions.effect}</p>
        <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: effect.runId }} search={{ step: effect.stepKey }}>
          {t.operations.exceptions.openRun}
        </Link>
        <SettleForm choices={choices} busy={busy} problem={problem} />
      </div>
    </li>
  );
}
