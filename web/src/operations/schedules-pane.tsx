import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { ScheduleRecord } from '@model/schedule.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { scheduleShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useNow } from '../ui/now.ts';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { JsonForm, RemoveButton } from './json-form.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

const fresh = {
  scheduleId: 'every-morning',
  workflowId: 'my-workflow',
  cron: '0 7 * * 1-5',
  timeZone: 'Europe/Zurich',
  input: {},
  overlap: 'skip',
  catchUp: 'latest',
  active: true,
};

/** What a person edits of a schedule. */
function editable({ scheduleId, workflowId, cron, timeZone, input, overlap, catchUp, active, jitterMs }: ScheduleRecord) {
  return { scheduleId, workflowId, cron, timeZone, input: JSON.parse(input) as Json, jitter: jitterMs, overlap, catchUp, active };
}

export function SchedulesPane(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const live = useLiveList(queries.schedules(accountId), scheduleShape);
  const [editing, setEditing] = useState<Readonly<Record<string, Json>>>();
  const words = t.operations.schedules;
  if (live.state === 'loading') return <Loading lines={3} />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  return (
    <div className={styles['stack']}>
      {live.value.length === 0 ? <Empty icon="clock" title={words.none.title} text={words.none.text} /> : null}
      <ul className={styles['list']}>
        {live.value.map(({ id, value }) => (
          <ScheduleRow key={id} schedule={value} onEdit={() => setEditing(editable(value))} />
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
        {editing === undefined ? null : (
          <JsonForm op="schedules.put" initial={editing} help={words.help} onDone={() => setEditing(undefined)} />
        )}
      </Dialog>
    </div>
  );
}

function ScheduleRow({ schedule, onEdit }: { readonly schedule: ScheduleRecord; readonly onEdit: () => void }): ReactNode {
  const { t, format } = useText();
  const { can } = useAccount();
  const now = useNow(60_000);
  const { problem, run } = useCall();
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
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
      {can('start') ? (
        <div className={styles['actions']}>
          <Button variant="default" size="compact-sm" onClick={onEdit}>
            {words.edit}
          </Button>
          <RemoveButton
            question={words.removeSure(schedule.scheduleId)}
            onRemove={() => run('schedules.delete', { scheduleId: schedule.scheduleId })}
          />
        </div>
      ) : null}
    </li>
  );
}
