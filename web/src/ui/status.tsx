import type { ReactNode } from 'react';
import type { RunStatus } from '@model/run.ts';
import type { StepState } from '@model/step.ts';
import { useText } from '../text/text.tsx';
import { Icon, type IconName } from './icons.tsx';
import styles from './status.module.css';

export type Tone = 'good' | 'bad' | 'wait' | 'run' | 'idle';

interface Look {
  readonly tone: Tone;
  readonly icon: IconName;
}

const runLooks: Readonly<Record<RunStatus | 'waiting', Look>> = {
  pending: { tone: 'idle', icon: 'clock' },
  running: { tone: 'run', icon: 'spark' },
  waiting: { tone: 'wait', icon: 'person' },
  paused: { tone: 'wait', icon: 'pause' },
  cancelling: { tone: 'idle', icon: 'ban' },
  compensating: { tone: 'wait', icon: 'undo' },
  completed: { tone: 'good', icon: 'check' },
  failed: { tone: 'bad', icon: 'cross' },
  cancelled: { tone: 'idle', icon: 'ban' },
  rejected: { tone: 'bad', icon: 'ban' },
  compensated: { tone: 'idle', icon: 'undo' },
  needs_resolution: { tone: 'bad', icon: 'warn' },
  diverged: { tone: 'bad', icon: 'fork' },
};

const stepLooks: Readonly<Record<StepState, Look>> = {
  ready: { tone: 'run', icon: 'dot' },
  running: { tone: 'run', icon: 'spark' },
  waiting: { tone: 'wait', icon: 'clock' },
  unresolved: { tone: 'bad', icon: 'question' },
  succeeded: { tone: 'good', icon: 'check' },
  failed: { tone: 'bad', icon: 'cross' },
  skipped: { tone: 'idle', icon: 'skip' },
  cancelled: { tone: 'idle', icon: 'ban' },
};

export function stepLook(state: StepState): Look {
  return stepLooks[state];
}

interface BadgeProps {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly children: ReactNode;
  readonly pill?: boolean;
}

/** Icon, word and colour: never colour alone. */
export function Badge({ tone, icon, children, pill = false }: BadgeProps): ReactNode {
  return (
    <span className={`${styles['status']} ${styles[tone] ?? ''} ${pill ? styles['pill'] : ''}`}>
      <Icon name={icon} size={15} />
      {children}
    </span>
  );
}

/** A running run that waits for people says so. */
export function RunBadge({
  status,
  waiting = false,
  pill = false,
}: {
  readonly status: RunStatus;
  readonly waiting?: boolean;
  readonly pill?: boolean;
}): ReactNode {
  const { t } = useText();
  const shown = waiting && status === 'running' ? 'waiting' : status;
  return (
    <Badge {...runLooks[shown]} pill={pill}>
      {t.statuses.run[shown]}
    </Badge>
  );
}

export function StepBadge({ state, pill = false }: { readonly state: StepState; readonly pill?: boolean }): ReactNode {
  const { t } = useText();
  return (
    <Badge {...stepLooks[state]} pill={pill}>
      {t.statuses.step[state]}
    </Badge>
  );
}
