import { Button, Checkbox, TextInput } from '@mantine/core';
import { useState, type FormEvent, type ReactNode } from 'react';
import { defaultRetention, type Retention } from '@model/job.ts';
import { defaultLimits } from '@model/limit.ts';
import { paths } from '@model/paths.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveDoc } from '../data/live.ts';
import { limitsShape, retentionShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { Erasure } from './erasure.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

/** What holds for the whole account. */
export function SettingsPane(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const admin = can('administer');
  const retention = useLiveDoc(admin ? paths.setting(accountId, 'retention') : undefined, retentionShape);
  const account = useLiveDoc(admin ? paths.account(accountId) : undefined, limitsShape);
  if (!admin) return <Empty icon="ban" title={t.operations.settings.onlyAdmins} />;
  for (const each of [retention, account]) if (each.state === 'failed') return <Problem error={each.error} />;
  if (retention.state !== 'ready' || account.state !== 'ready') return <Loading />;
  return (
    <div className={styles['stack']}>
      <RetentionForm stored={retention.value?.value ?? defaultRetention} />
      <LimitsForm stored={{ ...defaultLimits, ...account.value?.value.limits }} />
      <Erasure />
    </div>
  );
}

const spans = ['payloadDays', 'runDays', 'auditDays'] as const;

function RetentionForm({ stored }: { readonly stored: Retention }): ReactNode {
  const { t } = useText();
  const words = t.operations.settings.retention;
  const [days, setDays] = useState<Record<(typeof spans)[number], number>>({ ...stored });
  const [exportFirst, setExportFirst] = useState(stored.exportFirst);
  const { busy, problem, run } = useCall();
  const sound = spans.every((span) => Number.isInteger(days[span]) && days[span] >= 1 && days[span] <= 36_500);
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const { payloadDays, runDays, auditDays } = days;
    const shorter = spans.some((span) => days[span] < stored[span]);
    if (shorter && !confirm(words.sure)) return;
    if (await run('setRetention', { payloadDays, runDays, auditDays, exportFirst })) toast('good', t.operations.json.saved);
  };
  return (
    <section className={styles['section']}>
      <h2>{words.title}</h2>
      <p className="soft">{words.text}</p>
      <form className={styles['form']} onSubmit={(event) => void save(event)}>
        <div className={styles['row']}>
          {spans.map((span) => (
            <TextInput
              key={span}
              type="number"
              min={1}
              max={36_500}
              required
              label={words[span]}
              defaultValue={stored[span]}
              onChange={(event) => setDays({ ...days, [span]: event.currentTarget.valueAsNumber })}
            />
          ))}
        </div>
        <Checkbox label={words.exportFirst} checked={exportFirst} onChange={(event) => setExportFirst(event.currentTarget.checked)} />
        {problem === undefined ? null : <Problem error={problem} compact />}
        <div className={styles['actions']}>
          <Button type="submit" loading={busy} disabled={!sound}>
            {t.common.save}
          </Button>
        </div>
      </form>
    </section>
  );
}

interface Limit {
  /** Stays the same while its name is typed. */
  readonly key: number;
  readonly name: string;
  readonly places: number;
}

function LimitsForm({ stored }: { readonly stored: Readonly<Record<string, number>> }): ReactNode {
  const { t } = useText();
  const words = t.operations.settings.limits;
  const [limits, setLimits] = useState<readonly Limit[]>(() =>
    Object.entries(stored).map(([name, places], key) => ({ key, name, places })),
  );
  const { busy, problem, run } = useCall();
  const change = (key: number, next: Partial<Limit>): void =>
    setLimits(limits.map((limit) => (limit.key === key ? { ...limit, ...next } : limit)));
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const all = Object.fromEntries(limits.map(({ name, places }) => [name.trim(), places]));
    if (await run('limits.put', { limits: all })) toast('good', t.operations.json.saved);
  };
  return (
    <section className={styles['section']}>
      <h2>{words.title}</h2>
      <p className="soft">{words.text}</p>
      <form className={styles['form']} onSubmit={(event) => void save(event)}>
        {limits.map(({ key, name, places }) => (
          <div key={key} className={styles['row']}>
            <TextInput label={words.name} required value={name} onChange={(event) => change(key, { name: event.currentTarget.value })} />
            <TextInput
              type="number"
              min={1}
              max={1_000}
              required
              label={words.places}
              defaultValue={places}
              onChange={(event) => change(key, { places: event.currentTarget.valueAsNumber })}
            />
            <Button variant="subtle" color="gray" onClick={() => setLimits(limits.filter((limit) => limit.key !== key))}>
              {t.forms.remove(name)}
            </Button>
          </div>
        ))}
        {problem === undefined ? null : <Problem error={problem} compact />}
        <div className={styles['actions']}>
          <Button
            variant="default"
            onClick={() => setLimits([...limits, { key: Math.max(-1, ...limits.map(({ key }) => key)) + 1, name: '', places: 1 }])}
          >
            {words.add}
          </Button>
          <Button type="submit" loading={busy}>
            {t.common.save}
          </Button>
        </div>
      </form>
    </section>
  );
}
