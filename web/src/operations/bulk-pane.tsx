import { Button, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { BulkJob, RunFilter } from '@model/job.ts';
import { runStatuses } from '@model/run.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { jobShape, workflowShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

const kinds = ['pause', 'resume', 'cancel', 'retry', 'compensate'] as const;

export function BulkPane(): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  if (!can('operate')) return <Empty icon="ban" title={t.operations.only} />;
  return (
    <div className={styles['stack']}>
      <p className="soft">{t.operations.bulk.text}</p>
      <StartForm />
      <Jobs />
    </div>
  );
}

function Jobs(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const live = useLiveList(queries.jobs(accountId), jobShape);
  if (live.state === 'loading') return <Loading lines={2} />;
  if (live.state === 'failed') return <Problem error={live.error} compact />;
  const { none } = t.operations.bulk;
  const jobs = live.value.flatMap(({ value }) => (value.kind === 'bulk' ? [value] : []));
  if (jobs.length === 0) return <Empty icon="list" title={none.title} text={none.text} />;
  return (
    <ul className={styles['list']}>
      {jobs.map((job) => (
        <JobRow key={job.jobId} job={job} />
      ))}
    </ul>
  );
}

/** A job walks from the newest run to the oldest, without knowing how many there are: it says how far it has come. */
function JobRow({ job }: { readonly job: BulkJob }): ReactNode {
  const { t } = useText();
  const { busy, problem, run } = useCall();
  const words = t.operations.bulk;
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <Badge
            tone={job.state === 'running' ? 'run' : job.state === 'done' ? 'good' : 'idle'}
            icon={job.state === 'running' ? 'spark' : job.state === 'done' ? 'check' : 'ban'}
          >
            {words.states[job.state]}
          </Badge>
          <strong>{t.commands.name[job.request.command]}</strong>
          <span className="small soft">
            {words.commanded(job.commanded)} · <Ago at={job.createdAt} />
          </span>
        </div>
        <p className="small">{job.request.reason}</p>
        <p className="small soft">
          <FilterText filter={job.request.filter} />
        </p>
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
      {job.state === 'running' ? (
        <Button variant="default" loading={busy} onClick={() => void run('cancelJob', { jobId: job.jobId })}>
          {words.stop}
        </Button>
      ) : null}
    </li>
  );
}

/** What the runs have in common. */
function FilterText({ filter }: { readonly filter: RunFilter }): ReactNode {
  const { t, format } = useText();
  const { runs, statuses } = t;
  const { workflowId, status, businessState, businessKey, attribute, from, to } = filter;
  const parts: readonly (readonly [string, string | undefined])[] = [
    [runs.workflow, workflowId],
    [runs.status, status === undefined ? undefined : statuses.run[status]],
    [runs.state, businessState],
    [runs.key, businessKey],
    [attribute?.name ?? '', attribute?.value],
    [runs.from, from === undefined ? undefined : format.day(from)],
    [runs.until, to === undefined ? undefined : format.day(to)],
  ];
  return parts.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`])).join(' · ');
}

function StartForm(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { busy, problem, run } = useCall();
  const workflows = useLiveList(queries.workflows(accountId), workflowShape);
  const [kind, setKind] = useState<(typeof kinds)[number]>(kinds[0]);
  const [reason, setReason] = useState('');
  const [filter, setFilter] = useState<RunFilter>({});
  const words = t.operations.bulk;
  const set = (name: keyof typeof filter, value: string | number | undefined): void =>
    setFilter(Object.fromEntries(Object.entries({ ...filter, [name]: value }).filter(([, each]) => each !== undefined && each !== '')));
  const narrowed = Object.keys(filter).length > 0;
  const day = (text: string): number | undefined => (text === '' ? undefined : new Date(`${text}T00:00`).getTime());
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        void run('startBulk', { command: kind, reason: reason.trim(), filter });
      }}
    >
      <div className={styles['row']}>
        <NativeSelect
          label={words.command}
          value={kind}
          onChange={(event) => setKind(kinds.find((each) => each === event.currentTarget.value) ?? kinds[0])}
          data={kinds.map((each) => ({ value: each, label: t.commands.name[each] }))}
        />
        <NativeSelect
          label={t.runs.workflow}
          onChange={(event) => set('workflowId', event.currentTarget.value)}
          data={[{ value: '', label: t.runs.anyWorkflow }, ...(workflows.state === 'ready' ? workflows.value.map((item) => item.id) : [])]}
        />
        <NativeSelect
          label={t.runs.status}
          onChange={(event) => set('status', event.currentTarget.value)}
          data={[
            { value: '', label: t.runs.anyStatus },
            ...runStatuses.map((status) => ({ value: status, label: t.statuses.run[status] })),
          ]}
        />
        <TextInput type="date" label={t.runs.from} onChange={(event) => set('from', day(event.currentTarget.value))} />
        <TextInput type="date" label={t.runs.until} onChange={(event) => set('to', day(event.currentTarget.value))} />
      </div>
      <Textarea
        label={t.commands.reason}
        required
        autosize
        minRows={1}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {narrowed ? null : <p className="small soft">{words.needsFilter}</p>}
      {problem === undefined ? null : <Problem error={problem} compact />}
      <div className={styles['actions']}>
        <Button type="submit" loading={busy} disabled={!narrowed || reason.trim() === ''}>
          {words.start}
        </Button>
      </div>
    </form>
  );
}
