import { Button, Checkbox } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { RunRecord } from '@model/run.ts';
import type { StepRecord } from '@model/step.ts';
import { useLiveList } from '../data/live.ts';
import { payloadText } from '../data/payload.ts';
import { pageSize, queries } from '../data/queries.ts';
import { stepShape } from '../data/shapes.ts';
import { Changes } from '../inbox/evidence.tsx';
import { useText } from '../text/text.tsx';
import { diffJson, type Change } from '../ui/json-diff.ts';
import { Loading, Problem } from '../ui/states.tsx';
import { Badge, StepBadge } from '../ui/status.tsx';
import { compareSteps, type Compared } from './compare-steps.ts';
import styles from './run-page.module.css';

/** A fork beside the run that it was forked from. */
export function Compare({ run, steps }: { readonly run: RunRecord; readonly steps: readonly StepRecord[] }): ReactNode {
  const { t } = useText();
  const [onlyDifferences, setOnlyDifferences] = useState(false);
  const original = useLiveList(
    run.forkedFrom === undefined ? undefined : queries.steps(run.accountId, run.forkedFrom.runId, undefined),
    stepShape,
  );
  if (original.state === 'failed') return <Problem error={original.error} />;
  if (original.state === 'loading') return <Loading />;
  const words = t.run.compare;
  const rows = compareSteps(
    original.value.map((item) => item.value),
    steps,
  ).filter((row) => !onlyDifferences || !row.same);
  return (
    <div className={styles['sections']}>
      <p>{words.text}</p>
      <Checkbox
        label={words.onlyDifferences}
        checked={onlyDifferences}
        onChange={(event) => setOnlyDifferences(event.currentTarget.checked)}
      />
      <table className={styles['compare']}>
        <thead>
          <tr>
            <th scope="col">{words.step}</th>
            <th scope="col">{words.there}</th>
            <th scope="col">{words.here}</th>
            <th scope="col" aria-label={t.run.output} />
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <CompareRow key={row.key} row={row} />
          ))}
        </tbody>
      </table>
      {original.value.length >= pageSize.firstSteps ? <p className="small soft">{words.firstSteps}</p> : null}
    </div>
  );
}

function CompareRow({ row }: { readonly row: Compared }): ReactNode {
  const { t } = useText();
  const [changes, setChanges] = useState<readonly Change[]>();
  const { there, here } = row;
  const words = t.run.compare;
  const show = async (): Promise<void> => {
    setChanges(diffJson(await outputOf(there), await outputOf(here)));
  };
  return (
    <tr>
      <th scope="row">{row.key}</th>
      <td>{there === undefined ? <span className="soft">{words.onlyHere}</span> : <StepBadge state={there.state} />}</td>
      <td>{here === undefined ? <span className="soft">{words.onlyThere}</span> : <StepBadge state={here.state} />}</td>
      <td>
        {there === undefined || here === undefined ? null : row.same ? (
          <Badge tone="idle" icon="check">
            {words.same}
          </Badge>
        ) : changes === undefined ? (
          <Button variant="default" size="compact-xs" onClick={() => void show()}>
            {words.showDifference}
          </Button>
        ) : (
          <Changes changes={changes} />
        )}
      </td>
    </tr>
  );
}

async function outputOf(step: StepRecord | undefined): Promise<Json | undefined> {
  return step?.output === undefined ? undefined : (JSON.parse(await payloadText(step, step.output)) as Json);
}
