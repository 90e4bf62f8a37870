import type { ReactNode } from 'react';
import type { RunRecord } from '@model/run.ts';
import { useAccount, usePeople } from '../data/account.tsx';
import { call } from '../data/api.ts';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { commandShape, historyShape } from '../data/shapes.ts';
import { VerifyChain } from '../operations/verify-chain.tsx';
import { useText } from '../text/text.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Moment } from '../ui/time.tsx';
import { millisOf } from './timestamp.ts';
import styles from './run-page.module.css';

interface Line {
  readonly id: string;
  readonly at: number;
  readonly text: string;
  readonly note: string;
}

/** What people did and what was decided, the latest first. */
export function RunHistory({ run }: { readonly run: RunRecord }): ReactNode {
  const { t } = useText();
  const people = usePeople();
  const { can } = useAccount();
  const history = useLiveList(queries.history(run.accountId, run.runId), historyShape);
  const commands = useLiveList(queries.commands(run.accountId, run.runId), commandShape);
  if (history.state === 'failed') return <Problem error={history.error} />;
  if (history.state === 'loading') return <Loading />;
  const entries: Line[] = history.value.map(({ id, value }) => ({
    id,
    at: value.at,
    text: value.text,
    note: value.by === 'system' ? '' : people.nameOf(value.by),
  }));
  const asked: Line[] = (commands.state === 'ready' ? commands.value : []).map(({ id, value }) => ({
    id,
    at: millisOf(value.at),
    text: `${t.run.history.command(t.commands.name[value.kind])}${value.stepKey === undefined ? '' : ` (${value.stepKey})`}: ${value.reason}`,
    note: `${people.nameOf(value.by)} · ${t.run.history[value.status]}${value.result === undefined ? '' : `: ${value.result}`}`,
  }));
  const lines = [...entries, ...asked].sort((a, b) => b.at - a.at);
  if (lines.length === 0) return <Empty icon="clock" title={t.run.tabs.history} text={t.run.history.empty} />;
  return (
    <div className={styles['sections']}>
      <ol className={styles['history']}>
        {lines.map((line) => (
          <li key={line.id}>
            <span className="small soft">
              <Moment at={line.at} />
            </span>
            <div>
              <p>{line.text}</p>
              {line.note === '' ? null : <p className="small soft">{line.note}</p>}
            </div>
          </li>
        ))}
      </ol>
      {can('operate') ? <VerifyChain verify={() => call('verifyHistory', run.accountId, { runId: run.runId })} /> : null}
    </div>
  );
}
