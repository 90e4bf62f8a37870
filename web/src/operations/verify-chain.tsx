import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Verification } from '../data/api.ts';
import { useText } from '../text/text.tsx';
import { Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import styles from './operations.module.css';

/** Has a chain of entries checked, and says what came of it. */
export function VerifyChain({ verify }: { readonly verify: () => Promise<Verification> }): ReactNode {
  const { t } = useText();
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<Verification>();
  const [error, setError] = useState<unknown>();
  const words = t.operations.audit;
  const ask = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      setAnswer(await verify());
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={styles['line']}>
      <Button variant="default" loading={busy} onClick={() => void ask()}>
        {words.verify}
      </Button>
      <span role="status">
        {answer === undefined ? null : (
          <Badge tone={answer.ok ? 'good' : 'bad'} icon={answer.ok ? 'check' : 'warn'}>
            {answer.ok ? words.intact(answer.entries) : `${words.broken}: ${answer.problem}`}
          </Badge>
        )}
      </span>
      {error === undefined ? null : <Problem error={error} compact />}
    </div>
  );
}
