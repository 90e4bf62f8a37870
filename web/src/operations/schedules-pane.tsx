import { Button, Textarea } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { asText, fromText, scheduleShape } from '../data/loose-shapes.ts';
import { queries } from '../data/queries.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useNow } from '../ui/now.ts';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

const fresh = JSON.stringify(
  { id: 'every-morning', workflowId: 'my-workflow', cron: '0 7 * * 1-5', zone: 'Europe/Zurich', input: {}, overlap: 'skip' },
  null,
  2,
);

export function SchedulesPane(): ReactNode {
  const { t, format } = useText();
  const { accountId, can } = useAccount();
  const now = useNow(60_000);
  const live = useLiveList(queries.schedules(accountId), scheduleShape);
  const [editing, setEditing] = useState<string>();
  const words = t.operations.schedules;
  if (live.state === 'loading') return <Loading lines={3} />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  return (
    <div className={styles['stack']}>
      {live.value.length === 0 ? <Empty icon="clock" title={words.none.title} text={words.none.text} /> : null}
      <ul className={styles['list']}>
        {live.value.map(({ id, value }) => (
          <li key={id}>
            <div className={styles['main']}>
              <div className={styles['line']}>
                <strong>{id}</strong>
                <span>{value.workflowId}</span>
                <code>{value.cron}</code>
                <span className="small soft">{value.zone}</span>
              </div>
              {value.nextAt === undefined ? null : <p className="small soft">{words.next(format.moment(value.nextAt, now))}</p>}
            </div>
            {can('author') ? (
              <Button variant="default" size="compact-sm" onClick={() => setEditing(asText({ id, ...value }))}>
                {words.edit}
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
      {can('author') ? (
        <div className={styles['actions']}>
          <Button variant="default" onClick={() => setEditing(fresh)}>
            {words.create}
          </Button>
        </div>
      ) : null}
      <Dialog open={editing !== undefined} onClose={() => setEditing(undefined)} title={words.edit}>
        {editing === undefined ? null : <ScheduleForm initial={editing} onDone={() => setEditing(undefined)} />}
      </Dialog>
    </div>
  );
}

function ScheduleForm({ initial, onDone }: { readonly initial: string; readonly onDone: () => void }): ReactNode {
  const { t } = useText();
  const [text, setText] = useState(initial);
  const { busy, problem, run } = useCall();
  const schedule = fromText(text);
  const save = async (): Promise<void> => {
    if (schedule === undefined || !(await run('saveSchedule', { schedule }))) return;
    toast('good', t.operations.schedules.saved);
    onDone();
  };
  return (
    <div className={styles['form']}>
      <Textarea
        label={t.operations.schedules.edit}
        autosize
        minRows={8}
        spellCheck={false}
        value={text}
        error={schedule === undefined ? t.workflows.editor.notJson : undefined}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <Button loading={busy} disabled={schedule === undefined} onClick={() => void save()}>
        {t.operations.schedules.save}
      </Button>
    </div>
  );
}
