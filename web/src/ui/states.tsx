import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { describeProblem } from '../data/problem.ts';
import { useText } from '../text/text.tsx';
import { Icon, type IconName } from './icons.tsx';
import styles from './states.module.css';

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly text?: string;
  readonly children?: ReactNode;
}

/** Nothing to show; says what to do next. */
export function Empty({ icon, title, text, children }: EmptyProps): ReactNode {
  return (
    <div className={styles['state']}>
      <span className={styles['mark']}>
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {text === undefined ? null : <p>{text}</p>}
      {children === undefined ? null : <div className={styles['actions']}>{children}</div>}
    </div>
  );
}

interface ProblemProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  /** Beside other things instead of in their place. */
  readonly compact?: boolean;
}

/** What happened and what to do about it. */
export function Problem({ error, onRetry, compact = false }: ProblemProps): ReactNode {
  const { t } = useText();
  const { title, help, detail } = describeProblem(error, t);
  if (compact) {
    return (
      <p className={styles['note']} role="alert">
        <Icon name="warn" />
        <span>
          <strong>{title}.</strong> {help} {detail}
        </span>
      </p>
    );
  }
  return (
    <div className={`${styles['state']} ${styles['bad']}`} role="alert">
      <span className={styles['mark']}>
        <Icon name="warn" size={22} />
      </span>
      <h2>{title}</h2>
      {help === '' ? null : <p>{help}</p>}
      {detail === undefined ? null : <p className={styles['detail']}>{detail}</p>}
      {onRetry === undefined ? null : (
        <div className={styles['actions']}>
          <Button variant="default" onClick={onRetry}>
            {t.common.retry}
          </Button>
        </div>
      )}
    </div>
  );
}

export function Loading({ lines = 5 }: { readonly lines?: number }): ReactNode {
  const { t } = useText();
  return (
    <div role="status">
      <span className="unseen">{t.common.loading}</span>
      <div className={styles['lines']} aria-hidden="true">
        {Array.from({ length: lines }, (_, index) => (
          <div key={index} className={styles['line']} />
        ))}
      </div>
    </div>
  );
}
