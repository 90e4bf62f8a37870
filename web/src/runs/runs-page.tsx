import { Button } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import type { RunRecord } from '@model/run.ts';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { pageSize, queries } from '../data/queries.ts';
import { runShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { useShortcuts } from '../ui/keys.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { RunBadge } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import { calm } from './calm-list.ts';
import { Starter, Took } from './run-facts.tsx';
import { RunFilters } from './run-filters.tsx';
import { filterOf, isFiltered } from './search.ts';
import { StartDialog } from './start-dialog.tsx';
import styles from './runs-page.module.css';

export function RunsPage(): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const [starting, setStarting] = useState(false);
  usePageTitle(t.runs.title);
  useFocusOnArrival('runs');
  return (
    <div className={styles['page']}>
      <header className={styles['head']}>
        <h1>{t.runs.title}</h1>
        {can('start') ? (
          <Button leftSection={<Icon name="play" />} onClick={() => setStarting(true)}>
            {t.runs.start}
          </Button>
        ) : null}
      </header>
      <RunFilters />
      <RunList onStart={() => setStarting(true)} />
      <StartDialog open={starting} onClose={() => setStarting(false)} />
    </div>
  );
}

function RunList({ onStart }: { readonly onStart: () => void }): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const search = useSearch({ from: '/a/$accountId/runs' });
  const live = useLiveList(queries.runs(accountId, filterOf(search)), runShape);
  const view = useCalm(JSON.stringify(search), live.state === 'ready' ? live.value : undefined);
  if (live.state === 'failed') return <Problem error={live.error} />;
  if (live.state === 'loading') return <Loading lines={8} />;
  if (view.rows.length === 0 && view.fresh === 0) {
    const words = isFiltered(search) ? t.runs.noMatch : t.runs.empty;
    return (
      <Empty icon="list" title={words.title} text={words.text}>
        {!isFiltered(search) && can('start') ? <Button onClick={onStart}>{t.runs.start}</Button> : null}
      </Empty>
    );
  }
  return (
    <>
      {view.fresh === 0 ? null : (
        <Button variant="light" className={styles['fresh'] ?? ''} onClick={view.refresh}>
          {t.runs.fresh(view.fresh)}
        </Button>
      )}
      <RunTable rows={view.rows} />
      {live.unreadable > 0 ? <p className="small soft">{t.common.unreadable(live.unreadable)}</p> : null}
      <Pages rows={view.rows} full={live.value.length >= pageSize.runs} />
    </>
  );
}

/** Shows the list as it was when it was opened, until the reader asks for what is new. */
function useCalm(
  question: string,
  live: readonly { readonly id: string; readonly value: RunRecord }[] | undefined,
): { rows: readonly RunRecord[]; fresh: number; refresh: () => void } {
  const [shown, setShown] = useState<{ question: string; ids: readonly string[] }>();
  const known = useRef(new Map<string, RunRecord>());
  useEffect(() => {
    if (live === undefined) return;
    for (const { id, value } of live) known.current.set(id, value);
    if (shown?.question !== question || shown.ids.length === 0) setShown({ question, ids: live.map((item) => item.id) });
  }, [live, question, shown]);
  return useMemo(() => {
    const items = live ?? [];
    const ids = shown?.question === question ? shown.ids : items.map((item) => item.id);
    return { ...calm(ids, known.current, items), refresh: () => setShown({ question, ids: items.map((item) => item.id) }) };
  }, [live, question, shown]);
}

function RunTable({ rows }: { readonly rows: readonly RunRecord[] }): ReactNode {
  const { t } = useText();
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (step: 1 | -1): void => {
    const links = [...(body.current?.querySelectorAll<HTMLAnchorElement>('th a') ?? [])];
    const at = links.findIndex((link) => link === document.activeElement);
    links[at === -1 ? 0 : at + step]?.focus();
  };
  useShortcuts([
    { key: 'j', does: t.keys.nextRun, run: () => move(1) },
    { key: 'k', does: t.keys.previousRun, run: () => move(-1) },
  ]);
  const { columns } = t.runs;
  return (
    <table className={styles['table']}>
      <thead>
        <tr>
          <th scope="col">{columns.workflow}</th>
          <th scope="col">{columns.status}</th>
          <th scope="col">{columns.state}</th>
          <th scope="col">{columns.by}</th>
          <th scope="col">{columns.started}</th>
          <th scope="col" className={styles['right']}>
            {columns.took}
          </th>
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((run) => (
          <RunRow key={run.runId} run={run} />
        ))}
      </tbody>
    </table>
  );
}

function RunRow({ run }: { readonly run: RunRecord }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  return (
    <tr>
      <th scope="row">
        <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: run.runId }}>
          {run.workflowId}
        </Link>
        <span className="small soft">
          {run.businessKey ?? run.runId.slice(0, 10)}
          {run.forkedFrom === undefined ? '' : ` · ${t.runs.forked}`}
        </span>
      </th>
      <td>
        <RunBadge status={run.status} waiting={run.pendingApprovals > 0} />
      </td>
      <td className="small">{run.businessState ?? ''}</td>
      <td className="small soft">
        <Starter run={run} />
      </td>
      <td className="small soft">
        <Ago at={run.createdAt} />
      </td>
      <td className={`small soft ${styles['right'] ?? ''}`}>
        <Took run={run} />
      </td>
    </tr>
  );
}

function Pages({ rows, full }: { readonly rows: readonly RunRecord[]; readonly full: boolean }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const navigate = useNavigate();
  const { after, ...search } = useSearch({ from: '/a/$accountId/runs' });
  const last = rows.at(-1);
  if (after === undefined && !full) return null;
  return (
    <div className={styles['pages']}>
      <Button
        variant="default"
        disabled={after === undefined}
        onClick={() => void navigate({ to: '/a/$accountId/runs', params: { accountId }, search })}
      >
        {t.runs.newest}
      </Button>
      <Button
        variant="default"
        disabled={!full || last === undefined}
        onClick={() =>
          void navigate({
            to: '/a/$accountId/runs',
            params: { accountId },
            search: { ...search, ...(last === undefined ? {} : { after: `${last.createdAt}~${last.runId}` }) },
          })
        }
      >
        {t.runs.older}
      </Button>
    </div>
  );
}
