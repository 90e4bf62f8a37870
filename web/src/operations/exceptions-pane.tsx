import { Button, Textarea } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { AlertRecord } from '@model/alert.ts';
import type { ExceptionRecord } from '@model/reconciliation.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { alertShape, exceptionShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

/** Everything that a person has to look at. */
export function ExceptionsPane(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const alerts = useLiveList(queries.openAlerts(accountId), alertShape);
  const exceptions = useLiveList(queries.openExceptions(accountId), exceptionShape);
  if (alerts.state === 'failed') return <Problem error={alerts.error} />;
  if (exceptions.state === 'failed') return <Problem error={exceptions.error} />;
  if (alerts.state === 'loading' || exceptions.state === 'loading') return <Loading />;
  const words = t.operations.exceptions;
  if (alerts.value.length + exceptions.value.length === 0) return <Empty icon="check" title={words.none.title} text={words.none.text} />;
  return (
    <ul className={styles['list']}>
      {exceptions.value.map(({ id, value }) => (
        <ExceptionRow key={id} id={id} exception={value} />
      ))}
      {alerts.value.map(({ id, value }) => (
        <AlertRow key={id} id={id} alert={value} />
      ))}
    </ul>
  );
}

function ExceptionRow({ id, exception }: { readonly id: string; readonly exception: ExceptionRecord }): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const { busy, problem, run } = useCall();
  const [note, setNote] = useState('');
  const words = t.operations.exceptions;
  const settle = (state: 'accepted' | 'fixed'): void => void run('exceptions.settle', { id, state, note: note.trim() });
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <Badge tone="bad" icon="warn">
            {words.kinds[exception.kind]}
          </Badge>
          <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: exception.runId }}>
            {exception.workflowId}
          </Link>
          <span className="small soft">
            <Ago at={exception.openedAt} />
          </span>
        </div>
        <p>{exception.text}</p>
        <div className={styles['sides']}>
          <Side title={words.expected} text={exception.expected} />
          <Side title={words.found} text={exception.found} />
        </div>
        {can('operate') ? (
          <details>
            <summary>{t.commands.title}</summary>
            <div className={styles['form']}>
              <Textarea
                label={words.note}
                required
                autosize
                minRows={2}
                value={note}
                onChange={(event) => setNote(event.currentTarget.value)}
              />
              <div className={styles['actions']}>
                <Button variant="default" loading={busy} disabled={note.trim() === ''} onClick={() => settle('accepted')}>
                  {words.accept}
                </Button>
                <Button variant="default" loading={busy} disabled={note.trim() === ''} onClick={() => settle('fixed')}>
                  {words.fixed}
                </Button>
              </div>
            </div>
          </details>
        ) : null}
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
    </li>
  );
}

function Side({ title, text }: { readonly title: string; readonly text: string | undefined }): ReactNode {
  if (text === undefined) return null;
  return (
    <div>
      <h3>{title}</h3>
      <JsonView value={JSON.parse(text) as Json} />
    </div>
  );
}

function AlertRow({ id, alert }: { readonly id: string; readonly alert: AlertRecord }): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const { busy, problem, run } = useCall();
  const words = t.operations.exceptions;
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <Badge tone={alert.level > 0 ? 'bad' : 'wait'} icon="warn">
            {words.kinds[alert.kind]}
          </Badge>
          <strong>{alert.title}</strong>
          <span className="small soft">
            <Ago at={alert.openedAt} />
          </span>
        </div>
        <p>{alert.text}</p>
        <Link
          to="/a/$accountId/runs/$runId"
          params={{ accountId, runId: alert.runId }}
          search={alert.stepKey === undefined ? {} : { step: alert.stepKey }}
        >
          {words.openRun}
        </Link>
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
      {can('operate') ? (
        <Button variant="default" loading={busy} onClick={() => void run('alerts.acknowledge', { alertId: id })}>
          {words.acknowledge}
        </Button>
      ) : null}
    </li>
  );
}
