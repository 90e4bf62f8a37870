import { Button, NativeSelect } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import { definitionSchema } from '@model/definition.ts';
import type { VersionRecord, WorkflowRecord } from '@model/definition.ts';
import { paths } from '@model/paths.ts';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount, usePeople } from '../data/account.tsx';
import { useLiveDoc, useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { versionShape, workflowShape } from '../data/shapes.ts';
import { Changes } from '../inbox/evidence.tsx';
import { StartDialog } from '../runs/start-dialog.tsx';
import { useText } from '../text/text.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Icon } from '../ui/icons.tsx';
import { diffJson } from '../ui/json-diff.ts';
import { JsonView } from '../ui/json-view.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { TabBar } from '../ui/tab-bar.tsx';
import { Moment } from '../ui/time.tsx';
import styles from './workflows.module.css';

const GraphView = lazy(() => import('../graph/graph-view.tsx').then((module) => ({ default: module.GraphView })));

export function WorkflowPage(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { workflowId } = useParams({ from: '/a/$accountId/workflows/$workflowId' });
  const live = useLiveDoc(paths.workflow(accountId, workflowId), workflowShape);
  usePageTitle(workflowId);
  useFocusOnArrival(workflowId);
  if (live.state === 'loading') return <Loading />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  if (live.value === undefined) return <Empty icon="flow" title={t.workflows.missing.title} text={t.workflows.missing.text} />;
  return <Workflow workflow={live.value.value} />;
}

const tabs = ['graph', 'text', 'versions'] as const;

function Workflow({ workflow }: { readonly workflow: WorkflowRecord }): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const { workflowId } = workflow;
  const navigate = useNavigate();
  const search = useSearch({ from: '/a/$accountId/workflows/$workflowId' });
  const [starting, setStarting] = useState(false);
  const shown = search.version ?? workflow.latest;
  const version = useLiveDoc(paths.version(accountId, workflowId, shown), versionShape);
  const current = tabs.find((tab) => tab === search.tab) ?? 'graph';
  const change = (next: { tab?: string; version?: number; against?: number }): void =>
    void navigate({ from: '/a/$accountId/workflows/$workflowId', to: '.', search: { ...search, ...next }, replace: true });
  return (
    <div className={styles['page']}>
      <p className="small soft">
        <Link to="/a/$accountId/workflows" params={{ accountId }}>
          {t.workflows.title}
        </Link>
      </p>
      <header className={styles['head']}>
        <div>
          <h1>{workflow.name === '' ? workflowId : workflow.name}</h1>
          {workflow.description === undefined ? null : <p className="soft">{workflow.description}</p>}
        </div>
        <div className={styles['actions']}>
          <Button
            variant="default"
            onClick={() => void navigate({ to: '/a/$accountId/runs', params: { accountId }, search: { workflow: workflowId } })}
          >
            {t.workflows.runs}
          </Button>
          {can('author') ? (
            <Button
              variant="default"
              onClick={() => void navigate({ to: '/a/$accountId/workflows/$workflowId/edit', params: { accountId, workflowId } })}
            >
              {t.workflows.edit}
            </Button>
          ) : null}
          {can('start') ? (
            <Button leftSection={<Icon name="play" />} onClick={() => setStarting(true)}>
              {t.workflows.start}
            </Button>
          ) : null}
        </div>
      </header>
      <TabBar
        label={t.workflows.title}
        tabs={tabs.map((tab) => ({ id: tab, label: t.workflows.tabs[tab] }))}
        current={current}
        onChange={(tab) => change({ tab })}
      >
        {current === 'versions' ? <Versions workflow={workflow} against={search.against} onChoose={change} /> : null}
        {current !== 'versions' && version.state === 'loading' ? <Loading /> : null}
        {current !== 'versions' && version.state === 'failed' ? <Problem error={version.error} /> : null}
        {current !== 'versions' && version.state === 'ready' && version.value !== undefined ? (
          <Shown version={version.value.value} as={current} />
        ) : null}
      </TabBar>
      <StartDialog open={starting} onClose={() => setStarting(false)} workflowId={workflowId} />
    </div>
  );
}

function Shown({ version, as }: { readonly version: VersionRecord; readonly as: 'graph' | 'text' }): ReactNode {
  const { t } = useText();
  const json = useMemo(() => JSON.parse(version.json) as Json, [version.json]);
  const definition = useMemo(() => definitionSchema.safeParse(json), [json]);
  return (
    <div className={styles['stack']}>
      <div className={styles['actions']}>
        <span className="small soft">{t.workflows.version(version.version)}</span>
        <CopyButton label={t.common.copyJson} text={() => JSON.stringify(json, null, 2)} />
      </div>
      {as === 'graph' && definition.success ? (
        <Suspense fallback={<Loading />}>
          <GraphView definition={definition.data} />
        </Suspense>
      ) : (
        <JsonView value={json} />
      )}
    </div>
  );
}

interface VersionsProps {
  readonly workflow: WorkflowRecord;
  readonly against: number | undefined;
  readonly onChoose: (next: { tab?: string; version?: number; against?: number }) => void;
}

function Versions({ workflow, against, onChoose }: VersionsProps): ReactNode {
  const { t } = useText();
  const people = usePeople();
  const { accountId } = useAccount();
  const { version: shown = workflow.latest } = useSearch({ from: '/a/$accountId/workflows/$workflowId' });
  const live = useLiveList(queries.versions(accountId, workflow.workflowId), versionShape);
  if (live.state === 'loading') return <Loading />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  const versions = live.value.map((item) => item.value);
  const newer = versions.find((version) => version.version === shown);
  const older = versions.find((version) => version.version === (against ?? shown - 1));
  return (
    <div className={styles['stack']}>
      <ul className={styles['list']}>
        {versions.map((version) => (
          <li key={version.version} className={styles['row']}>
            <span>
              <strong>{t.workflows.version(version.version)}</strong>
              <span>{version.note}</span>
              <span className="small soft">
                <Moment at={version.publishedAt} /> · {people.nameOf(version.publishedBy)}
              </span>
            </span>
            <Button
              variant={version.version === shown ? 'light' : 'default'}
              size="compact-sm"
              aria-pressed={version.version === shown}
              onClick={() => onChoose({ version: version.version })}
            >
              {t.common.open}
            </Button>
          </li>
        ))}
      </ul>
      {newer === undefined ? null : (
        <section className={styles['changes']}>
          <NativeSelect
            label={`${t.workflows.version(newer.version)}: ${t.workflows.compareWith}`}
            value={older === undefined ? '' : String(older.version)}
            onChange={(event) => onChoose({ against: Number(event.currentTarget.value) })}
            data={[
              { value: '', label: t.workflows.nothing },
              ...versions
                .filter((each) => each.version !== newer.version)
                .map((each) => ({ value: String(each.version), label: t.workflows.older(each.version) })),
            ]}
          />
          {older === undefined ? null : <Difference before={older} after={newer} />}
        </section>
      )}
    </div>
  );
}

function Difference({ before, after }: { readonly before: VersionRecord; readonly after: VersionRecord }): ReactNode {
  const { t } = useText();
  const changes = useMemo(() => diffJson(JSON.parse(before.json) as Json, JSON.parse(after.json) as Json), [before.json, after.json]);
  return changes.length === 0 ? (
    <p className="soft">{t.workflows.same}</p>
  ) : (
    <Changes changes={changes} title={t.workflows.differences(changes.length)} />
  );
}
