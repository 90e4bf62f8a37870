import { useNavigate } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { definitionSchema } from '@model/definition.ts';
import { paths } from '@model/paths.ts';
import type { RunRecord } from '@model/run.ts';
import type { StepRecord } from '@model/step.ts';
import { useLiveDoc } from '../data/live.ts';
import { versionShape } from '../data/shapes.ts';
import { GraphView } from '../graph/graph-view.tsx';
import { useText } from '../text/text.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { marksOf, standings } from './marks.ts';

/** The workflow as a graph, with what became of each step in this run. */
export function GraphPane({ run, steps }: { readonly run: RunRecord; readonly steps: readonly StepRecord[] }): ReactNode {
  const { t } = useText();
  const navigate = useNavigate();
  const version = useLiveDoc(paths.version(run.accountId, run.workflowId, run.version), versionShape);
  const definition = useMemo(() => {
    const json = version.state === 'ready' ? version.value?.value.json : undefined;
    const parsed = json === undefined ? undefined : definitionSchema.safeParse(JSON.parse(json));
    return parsed?.success === true ? parsed.data : undefined;
  }, [version]);
  const all = useMemo(() => standings(steps), [steps]);
  const marks = useMemo(() => marksOf(all, t), [all, t]);
  if (version.state === 'loading') return <Loading />;
  if (version.state === 'failed') return <Problem error={version.error} />;
  if (definition === undefined) return <Empty icon="flow" title={t.problems.missing.title} text={t.problems.missing.help} />;
  return (
    <>
      <p className="small soft">{t.run.graph.list}</p>
      <GraphView
        definition={definition}
        marks={marks}
        onPick={(stepId) => {
          const step = all.get(stepId)?.step.key;
          if (step !== undefined)
            void navigate({ from: '/a/$accountId/runs/$runId', to: '.', search: { tab: 'steps', step }, replace: true });
        }}
      />
    </>
  );
}
