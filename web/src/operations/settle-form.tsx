import { Button, Textarea } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useAccount } from '../data/account.tsx';
import { useText } from '../text/text.tsx';
import { Problem } from '../ui/states.tsx';
import styles from './operations.module.css';

interface Choice {
  readonly label: string;
  readonly run: (reason: string) => void;
}

interface SettleFormProps {
  readonly choices: readonly Choice[];
  readonly busy: boolean;
  readonly problem: unknown;
}

/** What can be done about something, each with a reason. Only for those who may. */
export function SettleForm({ choices, busy, problem }: SettleFormProps): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const [reason, setReason] = useState('');
  if (!can('operate')) return null;
  return (
    <details>
      <summary>{t.commands.title}</summary>
      <div className={styles['form']}>
        <Textarea
          label={t.operations.exceptions.note}
          required
          autosize
          minRows={2}
          maxLength={1_000}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <div className={styles['actions']}>
          {choices.map(({ label, run }) => (
            <Button key={label} variant="default" loading={busy} disabled={reason.trim() === ''} onClick={() => run(reason.trim())}>
              {label}
            </Button>
          ))}
        </div>
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
    </details>
  );
}
