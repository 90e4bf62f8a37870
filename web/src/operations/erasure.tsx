import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactNode } from 'react';
import type { EraseJob, Subject } from '@model/job.ts';
import { useAccount, usePeople } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { jobShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toast.tsx';
import { subjectOf } from './subject.ts';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

/** Erases what is kept about one person, and reports what was done. */
export function Erasure(): ReactNode {
  const { t } = useText();
  const words = t.operations.settings.erasure;
  return (
    <section className={styles['section']}>
      <h2>{words.title}</h2>
      <p className="soft">{words.text}</p>
      <ErasureForm />
      <Reports />
    </section>
  );
}

function ErasureForm(): ReactNode {
  const { t } = useText();
  const people = usePeople();
  const words = t.operations.settings.erasure;
  const [fields, setFields] = useState({ uid: '', email: '', businessKey: '', attribute: '', value: '' });
  const [sure, setSure] = useState(false);
  const { busy, problem, run } = useCall();
  const subject: Subject | undefined = subjectOf(fields);
  const set = (next: Partial<typeof fields>): void => setFields({ ...fields, ...next });
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (subject === undefined || !(await run('erasePerson', subject))) return;
    setSure(false);
    toast('good', words.begun);
  };
  return (
    <form className={styles['form']} onSubmit={(event) => void send(event)}>
      <div className={styles['row']}>
        <NativeSelect
          label={words.member}
          value={fields.uid}
          onChange={(event) => {
            const uid = event.currentTarget.value;
            set({ uid, email: people.all.find((member) => member.uid === uid)?.email ?? fields.email });
          }}
          data={[{ value: '', label: words.noMember }, ...people.all.map(({ uid }) => ({ value: uid, label: people.nameOf(uid) }))]}
        />
        <TextInput label={words.email} value={fields.email} onChange={(event) => set({ email: event.currentTarget.value })} />
        <TextInput
          label={t.run.businessKey}
          value={fields.businessKey}
          onChange={(event) => set({ businessKey: event.currentTarget.value })}
        />
        <TextInput label={words.attribute} value={fields.attribute} onChange={(event) => set({ attribute: event.currentTarget.value })} />
        <TextInput label={words.value} value={fields.value} onChange={(event) => set({ value: event.currentTarget.value })} />
      </div>
      <Checkbox label={words.sure} checked={sure} onChange={(event) => setSure(event.currentTarget.checked)} />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <div className={styles['actions']}>
        <Button type="submit" color="red" loading={busy} disabled={!sure || subject === undefined}>
          {words.start}
        </Button>
      </div>
    </form>
  );
}

function Reports(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const live = useLiveList(queries.jobs(accountId), jobShape);
  if (live.state === 'failed') return <Problem error={live.error} compact />;
  const jobs = live.state === 'ready' ? live.value.flatMap(({ value }) => (value.kind === 'erase' ? [value] : [])) : [];
  if (jobs.length === 0) return <p className="soft">{t.operations.settings.erasure.none}</p>;
  return (
    <ul className={styles['list']}>
      {jobs.map((job) => (
        <Report key={job.jobId} job={job} />
      ))}
    </ul>
  );
}

/** What was erased, without saying whose it was. */
function Report({ job }: { readonly job: EraseJob }): ReactNode {
  const { t, format } = useText();
  const { accountId } = useAccount();
  const people = usePeople();
  const words = t.operations.settings.erasure;
  const { report } = job;
  const counts = [
    [words.counts.runs, report.runs],
    [words.counts.decisions, report.decisions],
    [words.counts.notifications, report.notifications],
    [words.counts.mails, report.mails],
  ] as const;
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <Badge tone={job.state === 'running' ? 'run' : 'good'} icon={job.state === 'running' ? 'spark' : 'check'}>
            {t.operations.bulk.states[job.state]}
          </Badge>
          <code>{job.jobId}</code>
          <span className="small soft">
            {people.nameOf(job.by)} · <Ago at={job.createdAt} />
          </span>
        </div>
        <p>{counts.map(([name, count]) => `${name}: ${format.number(count)}`).join(' · ')}</p>
        {report.member === 'none' ? null : <p className="small soft">{words.memberIs[report.member]}</p>}
        {report.live.length === 0 ? null : (
          <p className="small">
            {words.live}{' '}
            {report.live.map((runId) => (
              <Link key={runId} to="/a/$accountId/runs/$runId" params={{ accountId, runId }}>
                {runId}{' '}
              </Link>
            ))}
          </p>
        )}
      </div>
    </li>
  );
}
