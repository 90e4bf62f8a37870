import { Button, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useCallback, useEffect, useState, type ReactNode } from 'react';
import { runStatuses } from '@model/run.ts';
import { useAccount } from '../data/account.tsx';
import { call, type BulkJob } from '../data/api.ts';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { workflowShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

const kinds = ['pause', 'resume', 'cancel', 'retry', 'compensate'] as const;
const LOOK_AGAIN_MS = 5_000;

export function BulkPane(): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const { jobs, error, look } = useJobs();
  if (!can('operate')) return <Empty icon="ban" title={t.operations.only} />;
  const words = t.operations.bulk;
  return (
    <div className={styles['stack']}>
      <p className="soft">{words.text}</p>
      <StartForm onStarted={look} />
      {error === undefined ? null : <Problem error={error} compact />}
      {jobs === undefined && error === undefined ? <Loading lines={2} /> : null}
      {jobs?.length === 0 ? <Empty icon="list" title={words.none.title} text={words.none.text} /> : null}
      <ul className={styles['list']}>
        {(jobs ?? []).map((job) => (
          <JobRow key={job.jobId} job={job} onChanged={look} />
        ))}
      </ul>
    </div>
  );
}

/** The jobs, looked at again while one of them goes on. */
function useJobs(): { jobs: readonly BulkJob[] | undefined; error: unknown; look: () => void } {
  const { accountId, can } = useAccount();
  const operator = can('operate');
  const [jobs, setJobs] = useState<readonly BulkJob[]>();
  const [error, setError] = useState<unknown>();
  const look = useCallback(() => {
    if (operator) call('bulkList', accountId, {}).then((answer) => setJobs(answer.jobs), setError);
  }, [accountId, operator]);
  const goesOn = jobs?.some((job) => job.state === 'running') === true;
  useEffect(look, [look]);
  useEffect(() => {
    if (!goesOn) return;
    const timer = setInterval(look, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [goesOn, look]);
  return { jobs, error, look };
}

function JobRow({ job, onChanged }: { readonly job: BulkJob; readonly onChanged: () => void }): ReactNode {
  const { t } = useText();
  const { busy, problem, run } = useCall();
  const words = t.operations.bulk;
  const share = job.total === 0 ? 1 : (job.done + job.refused) / job.total;
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <strong>{job.kind}</strong>
          <span>{words.states[job.state]}</span>
          <span className="small soft">
            {words.progress(job.done, job.total)}
            {job.refused > 0 ? `, ${words.refused(job.refused)}` : ''}
          </span>
        </div>
        <div
          className={styles['bar']}
          role="progressbar"
          aria-label={job.kind}
          aria-valuemin={0}
          aria-valuemax={job.total}
          aria-valuenow={job.done + job.refused}
        >
          <i style={{ width: `${share * 100}%` }} />
        </div>
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
      {job.state === 'running' ? (
        <Button variant="default" loading={busy} onClick={() => void run('bulkCancel', { jobId: job.jobId }).then(onChanged)}>
          {words.stop}
        </Button>
      ) : null}
    </li>
  );
}

function StartForm({ onStarted }: { readonly onStarted: () => void }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { busy, problem, run } = useCall();
  const workflows = useLiveList(queries.workflows(accountId), workflowShape);
  const [kind, setKind] = useState<string>(kinds[0]);
  const [reason, setReason] = useState('');
  const [filter, setFilter] = useState<{ workflowId?: string; status?: string; from?: number; until?: number }>({});
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
        void run('bulkStart', { kind, reason: reason.trim(), filter }).then(onStarted);
      }}
    >
      <div className={styles['row']}>
        <NativeSelect
          label={words.command}
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value)}
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
        <TextInput type="date" label={t.runs.until} onChange={(event) => set('until', day(event.currentTarget.value))} />
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
