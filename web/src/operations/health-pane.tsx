import { Button } from '@mantine/core';
import { useCallback, useEffect, useState, type ReactNode } from 'react';
import { useAccount } from '../data/account.tsx';
import { call, type Health } from '../data/api.ts';
import { useText } from '../text/text.tsx';
import { useNow } from '../ui/now.ts';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import styles from './operations.module.css';

/** It comes by once a minute. */
const LATE_MS = 5 * 60_000;

/** The reconciler's last tick and what it repaired. */
export function HealthPane(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const [health, setHealth] = useState<Health | null>();
  const [error, setError] = useState<unknown>();
  const allowed = can('operate');
  const look = useCallback(() => {
    setError(undefined);
    call('health', accountId, {}).then(setHealth, setError);
  }, [accountId]);
  useEffect(() => {
    if (allowed) look();
  }, [allowed, look]);
  const words = t.operations.health;
  if (!allowed) return <Empty icon="ban" title={t.operations.only} />;
  return (
    <div className={styles['stack']}>
      <p className="soft">{words.text}</p>
      {error === undefined ? null : <Problem error={error} onRetry={look} />}
      {health === undefined && error === undefined ? <Loading lines={3} /> : null}
      {health === null ? <Empty icon="clock" title={words.never.title} text={words.never.text} /> : null}
      {health === undefined || health === null ? null : <Tick health={health} />}
      <div className={styles['actions']}>
        <Button variant="default" onClick={look}>
          {words.reload}
        </Button>
      </div>
    </div>
  );
}

function Tick({ health }: { readonly health: Health }): ReactNode {
  const { t, format } = useText();
  const now = useNow(60_000);
  const words = t.operations.health;
  const late = now - health.at > LATE_MS;
  const well = !late && !health.behind && health.failed === 0;
  return (
    <>
      <p className={styles['line']}>
        <Badge tone={well ? 'good' : 'bad'} icon={well ? 'check' : 'warn'}>
          {late ? words.late : health.behind ? words.behind : health.failed > 0 ? words.failing : words.well}
        </Badge>
      </p>
      <dl className={styles['facts']}>
        <dt>{words.at}</dt>
        <dd>
          <Ago at={health.at} />
        </dd>
        <dt>{words.repaired}</dt>
        <dd>{format.number(health.repaired)}</dd>
        <dt>{words.failed}</dt>
        <dd>{format.number(health.failed)}</dd>
        {health.auditedAt === 0 ? null : (
          <>
            <dt>{words.audited}</dt>
            <dd>
              <Ago at={health.auditedAt} />
            </dd>
          </>
        )}
      </dl>
    </>
  );
}
