import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, type ReactNode } from 'react';
import { paths } from '@model/paths.ts';
import type { RunRecord } from '@model/run.ts';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount } from '../data/account.tsx';
import { useLiveDoc } from '../data/live.ts';
import { runShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { TabBar } from '../ui/tab-bar.tsx';
import { Compare } from './compare.tsx';
import { RunData } from './run-data.tsx';
import { RunHead } from './run-head.tsx';
import { RunHistory } from './run-history.tsx';
import { StepsPane } from './steps-pane.tsx';
import { useSteps, type Steps } from './use-steps.ts';
import { WaitingPanel } from './waiting-panel.tsx';
import styles from './run-page.module.css';

const GraphPane = lazy(() => import('./graph-pane.tsx').then((module) => ({ default: module.GraphPane })));

const tabs = ['steps', 'graph', 'history', 'data', 'compare'] as const;
export type RunTab = (typeof tabs)[number];

export function RunPage(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { runId } = useParams({ from: '/a/$accountId/runs/$runId' });
  const live = useLiveDoc(paths.run(accountId, runId), runShape);
  useFocusOnArrival(runId);
  if (live.state === 'loading') return <Loading lines={8} />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  if (live.value === undefined) return <Empty icon="question" title={t.run.missing.title} text={t.run.missing.text} />;
  return <Run key={runId} run={live.value.value} />;
}

function Run({ run }: { readonly run: RunRecord }): ReactNode {
  const { t } = useText();
  const search = useSearch({ from: '/a/$accountId/runs/$runId' });
  const navigate = useNavigate();
  const steps = useSteps(run, search.failed === true);
  usePageTitle(`${run.workflowId} ${run.businessKey ?? run.runId.slice(0, 8)}`);
  const shown = tabs.filter((tab) => (tab !== 'compare' || run.forkedFrom !== undefined) && (tab !== 'graph' || run.kind === 'graph'));
  const current = shown.find((tab) => tab === search.tab) ?? 'steps';
  return (
    <div className={styles['page']}>
      <RunHead run={run} />
      <WaitingPanel run={run} live={steps.live} />
      <TabBar
        label={t.run.step}
        tabs={shown.map((tab) => ({ id: tab, label: t.run.tabs[tab] }))}
        current={current}
        onChange={(tab) => void navigate({ from: '/a/$accountId/runs/$runId', to: '.', search: { ...search, tab }, replace: true })}
      >
        <Suspense fallback={<Loading />}>
          <Pane tab={current} run={run} steps={steps} />
        </Suspense>
      </TabBar>
    </div>
  );
}

function Pane({ tab, run, steps }: { readonly tab: RunTab; readonly run: RunRecord; readonly steps: Steps }): ReactNode {
  switch (tab) {
    case 'steps':
      return <StepsPane run={run} steps={steps} />;
    case 'graph':
      return <GraphPane run={run} steps={steps.steps} />;
    case 'history':
      return <RunHistory run={run} />;
    case 'data':
      return <RunData run={run} />;
    case 'compare':
      return <Compare run={run} steps={steps.steps} />;
  }
}
