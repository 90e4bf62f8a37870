import { Button } from '@mantine/core';
import { useCallback, useEffect, useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import { useAccount } from '../data/account.tsx';
import { call } from '../data/api.ts';
import { useText } from '../text/text.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Loading, Problem } from '../ui/states.tsx';
import styles from './operations.module.css';

/** The reconciler's last tick and what it repaired. */
export function HealthPane(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const [health, setHealth] = useState<Json>();
  const [error, setError] = useState<unknown>();
  const look = useCallback(() => {
    setError(undefined);
    call('health', accountId, {}).then(setHealth, setError);
  }, [accountId]);
  useEffect(look, [look]);
  return (
    <div className={styles['stack']}>
      <p className="soft">{t.operations.health.text}</p>
      {error === undefined ? null : <Problem error={error} onRetry={look} />}
      {health === undefined && error === undefined ? <Loading lines={3} /> : null}
      {health === undefined ? null : (
        <>
          <JsonView value={health} />
          <div className={styles['actions']}>
            <Button variant="default" onClick={look}>
              {t.operations.health.reload}
            </Button>
          </div>
        </>
      )}
    </div>
  );
}
