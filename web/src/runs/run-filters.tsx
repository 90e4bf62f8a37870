import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { runStatuses } from '@model/run.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { workflowShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { isFiltered, type RunsSearch } from './search.ts';
import styles from './runs-page.module.css';

const TYPING_MS = 400;

/** The filters; the address is their only memory. */
export function RunFilters(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const navigate = useNavigate();
  const search = useSearch({ from: '/a/$accountId/runs' });
  const workflows = useLiveList(queries.workflows(accountId), workflowShape);
  const set = (change: Partial<Record<keyof RunsSearch, string>>): void => {
    const { after: _after, ...kept } = search;
    const next = Object.fromEntries(Object.entries({ ...kept, ...change }).filter(([, value]) => value !== ''));
    void navigate({ to: '/a/$accountId/runs', params: { accountId }, search: next, replace: true });
  };
  const ids = workflows.state === 'ready' ? workflows.value.map((item) => item.id) : [];
  const options = search.workflow === undefined || ids.includes(search.workflow) ? ids : [search.workflow, ...ids];
  return (
    <search className={styles['filters']} aria-label={t.runs.filters}>
      <NativeSelect
        size="xs"
        label={t.runs.status}
        value={search.status ?? ''}
        onChange={(event) => set({ status: event.currentTarget.value })}
        data={[
          { value: '', label: t.runs.anyStatus },
          ...(['waiting', ...runStatuses] as const).map((status) => ({ value: status, label: t.statuses.run[status] })),
        ]}
      />
      <NativeSelect
        size="xs"
        label={t.runs.workflow}
        value={search.workflow ?? ''}
        onChange={(event) => set({ workflow: event.currentTarget.value })}
        data={[{ value: '', label: t.runs.anyWorkflow }, ...options]}
      />
      <TypedFilter label={t.runs.key} value={search.key ?? ''} onChange={(key) => set({ key })} />
      <TypedFilter label={t.runs.state} value={search.state ?? ''} onChange={(state) => set({ state })} />
      <TextInput
        size="xs"
        type="date"
        label={t.runs.from}
        value={search.from ?? ''}
        onChange={(event) => set({ from: event.currentTarget.value })}
      />
      <TextInput
        size="xs"
        type="date"
        label={t.runs.until}
        value={search.until ?? ''}
        onChange={(event) => set({ until: event.currentTarget.value })}
      />
      {isFiltered(search) ? (
        <Button
          size="xs"
          variant="subtle"
          color="gray"
          onClick={() => void navigate({ to: '/a/$accountId/runs', params: { accountId }, search: {}, replace: true })}
        >
          {t.runs.clear}
        </Button>
      ) : null}
    </search>
  );
}

/** A text that is looked for once the typing stops. */
function TypedFilter({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return <TextInput size="xs" type="search" label={label} value={text} onChange={(event) => setText(event.currentTarget.value)} />;
}
