import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { CorrectionRecord } from '@model/recipe.ts';
import { useAccount, usePeople } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { correctionShape } from '../data/shapes.ts';
import { Changes } from '../inbox/evidence.tsx';
import { useText } from '../text/text.tsx';
import { DownloadButton } from '../ui/download.tsx';
import { diffJson } from '../ui/json-diff.ts';
import { Loading, Problem } from '../ui/states.tsx';
import { Badge } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import styles from './workflows.module.css';

/** What people made of the answers of models: shown to operators, and saved as data to judge prompts by. */
export function Corrections(): ReactNode {
  const { t, format } = useText();
  const { accountId } = useAccount();
  const live = useLiveList(queries.corrections(accountId), correctionShape);
  if (live.state === 'failed') return <Problem error={live.error} compact />;
  if (live.state === 'loading') return <Loading lines={2} />;
  const words = t.recipes.corrections;
  const records = live.value.map(({ value }) => value);
  const changed = records.filter((record) => record.changed).length;
  return (
    <section className={styles['stack']}>
      <h2>{words.title}</h2>
      <p className="soft">{records.length === 0 ? words.none : words.share(format.number(changed), format.number(records.length))}</p>
      {records.length === 0 ? null : (
        <div>
          <DownloadButton
            label={words.save}
            name={`corrections-${accountId}.jsonl`}
            text={() => Promise.resolve(records.map((record) => `${JSON.stringify(record)}\n`).join(''))}
          />
        </div>
      )}
      <ul className={styles['list']}>
        {records.map((record) => (
          <Correction key={record.approvalId} record={record} />
        ))}
      </ul>
    </section>
  );
}

function Correction({ record }: { readonly record: CorrectionRecord }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const people = usePeople();
  const words = t.recipes.corrections;
  const before = jsonOf(record.answer);
  const after = jsonOf(record.accepted);
  return (
    <li className={styles['row']}>
      <span>
        <strong>
          {record.workflowId} · {record.stepKey}
        </strong>
        <span className="small soft">
          {record.by.map((uid) => people.nameOf(uid)).join(', ')} · <Ago at={record.at} />
        </span>
        {record.comments.map((comment) => (
          <span key={comment}>{comment}</span>
        ))}
        {record.changed && before !== undefined && after !== undefined ? (
          <Changes changes={diffJson(before, after)} title={words.changes} />
        ) : null}
      </span>
      <Badge tone={record.changed ? 'wait' : 'good'} icon={record.changed ? 'warn' : 'check'}>
        {record.changed ? words.changed : words.kept}
      </Badge>
      <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: record.runId }} search={{ step: record.stepKey }}>
        {t.operations.exceptions.openRun}
      </Link>
    </li>
  );
}

/** Undefined for what was too long to be kept whole. */
function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
