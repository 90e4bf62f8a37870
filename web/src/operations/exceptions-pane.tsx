import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { AlertRecord } from '@model/alert.ts';
import type { ExceptionRecord } from '@model/reconciliation.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { useUser } from '../data/session.tsx';
import { alertShape, effectShape, exceptionShape } from '../data/shapes.ts';
import { writeCommand } from '../data/writes.ts';
import { followCommand } from '../run/follow-command.ts';
import { useText } from '../text/text.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toast.tsx';
import { EffectRow } from './effect-row.tsx';
import { SettleForm } from './settle-form.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

/** Everything that a person has to look at. */
export function ExceptionsPane(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const alerts = useLiveList(queries.openAlerts(accountId), alertShape);
  const exceptions = useLiveList(queries.openExceptions(accountId), exceptionShape);
  // Others may not list effects.
  const effects = useLiveList(can('operate') ? queries.unknownEffects(accountId) : undefined, effectShape);
  const unknown = effects.state === 'ready' ? effects.value : [];
  for (const each of [alerts, exceptions, effects]) if (each.state === 'failed') return <Problem error={each.error} />;
  if (alerts.state !== 'ready' || exceptions.state !== 'ready') return <Loading />;
  const words = t.operations.exceptions;
  if (alerts.value.length + exceptions.value.length + unknown.length === 0)
    return <Empty icon="check" title={words.none.title} text={words.none.text} />;
  return (
    <ul className={styles['list']}>
      {exceptions.value.map(({ id, value }) => (
        <ExceptionRow key={id} id={id} exception={value} />
      ))}
      {unknown.map(({ id, value }) => (
        <EffectRow key={id} id={id} effect={value} />
      ))}
      {alerts.value.map(({ id, value }) => (
        <AlertRow key={id} id={id} alert={value} />
      ))}
    </ul>
  );
}

function ExceptionRow({ id, exception }: { readonly id: string; readonly exception: ExceptionRecord }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const words = t.operations.exceptions;
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
          <Side title={exception.kind === 'mismatch' ? words.found : words.details} text={exception.found} />
        </div>
        {exception.kind === 'mismatch' ? <Difference exception={exception} /> : <Business id={id} />}
      </div>
    </li>
  );
}

/** The run knows of a difference, so that it is settled by commands to the run. */
function Difference({ exception }: { readonly exception: ExceptionRecord }): ReactNode {
  const { t } = useText();
  const { uid } = useUser();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const { accountId, runId } = exception;
  const command = async (kind: 'accept_mismatch' | 'retry', name: string, reason: string): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const id = await writeCommand({ accountId, runId, kind, by: uid, reason });
      toast('good', t.commands.sent(name));
      followCommand(exception, id, (status, result) => toast(status === 'done' ? 'good' : 'bad', t.commands.result(name, result)));
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const { accept, lookAgain } = t.operations.exceptions;
  const choices = [
    { label: accept, run: (reason: string) => void command('accept_mismatch', accept, reason) },
    { label: lookAgain, run: (reason: string) => void command('retry', lookAgain, reason) },
  ];
  return <SettleForm choices={choices} busy={busy} problem={problem} />;
}

function Business({ id }: { readonly id: string }): ReactNode {
  const { t } = useText();
  const { busy, problem, run } = useCall();
  const words = t.operations.exceptions;
  const choices = [
    { label: words.fixed, run: (reason: string) => void run('settleException', { id, state: 'fixed', reason }) },
    { label: words.leave, run: (reason: string) => void run('settleException', { id, state: 'accepted', reason }) },
  ];
  return <SettleForm choices={choices} busy={busy} problem={problem} />;
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
        <Button variant="default" loading={busy} onClick={() => void run('acknowledgeAlert', { alertId: id })}>
          {words.acknowledge}
        </Button>
      ) : null}
    </li>
  );
}
