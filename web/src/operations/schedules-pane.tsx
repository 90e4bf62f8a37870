import { Button, Textarea } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { ScheduleRecord } from '@model/schedule.ts';
import { useAccount } from '../data/account.tsx';
import { fromText } from '../data/knowledge-shape.ts';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { scheduleShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useNow } from '../ui/now.ts';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { toast } from '../ui/toast.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

const fresh = JSON.stringify(
  {
    scheduleId: 'every-morning',
    workflowId: 'my-workflow',
    cron: '0 7 * * 1-5',
    timeZone: 'Europe/Zurich',
    input: {},
    overlap: 'skip',
    catchUp: 'latest',
    active: true,
  },
  null,
  2,
);

/** What a person edits of a schedule. */
function asText({ scheduleId, workflowId, cron, timeZone, input, overlap, catchUp, active, jitterMs }: ScheduleRecord): string {
  return JSON.stringify(
    { scheduleId, workflowId, cron, timeZone, input: JSON.parse(input) as Json, jitter: jitterMs, overlap, catchUp, active },
    null,
    2,
  );
}

export function SchedulesPane(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
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
          <ScheduleRow key={id} schedule={value} onEdit={() => setEditing(asText(value))} />
        ))}
      </ul>
      {can('start') ? (
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

function ScheduleRow({ schedule, onEdit }: { readonly schedule: ScheduleRecord; readonly onEdit: () => void }): ReactNode {
  const { t, format } = useText();
  const { can } = useAccount();
  const now = useNow(60_000);
  const words = t.operations.schedules;
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <strong>{schedule.scheduleId}</strong>
          <Badge tone={schedule.active ? 'good' : 'idle'} icon={schedule.active ? 'check' : 'minus'}>
            {schedule.active ? t.operations.webhooks.active : t.operations.webhooks.inactive}
          </Badge>
          <span>{schedule.workflowId}</span>
          <code>{schedule.cron}</code>
          <span className="small soft">{schedule.timeZone}</span>
        </div>
        {schedule.active ? <p className="small soft">{words.next(format.moment(schedule.nextAt, now))}</p> : null}
        {schedule.error === undefined ? null : <p className="small">{schedule.error}</p>}
      </div>
      {can('start') ? (
        <Button variant="default" size="compact-sm" onClick={onEdit}>
          {words.edit}
        </Button>
      ) : null}
    </li>
  );
}

function ScheduleForm({ initial, onDone }: { readonly initial: string; readonly onDone: () => void }): ReactNode {
  const { t } = useText();
  const [text, setText] = useState(initial);
  const { busy, problem, run } = useCall();
  const schedule = fromText(text);
  const save = async (): Promise<void> => {
    if (schedule === undefined || !(await run('schedules.put', schedule))) return;
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
