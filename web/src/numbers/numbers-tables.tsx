import type { ReactNode } from 'react';
import { useText } from '../text/text.tsx';
import type { Figures, SlowStep } from './adapter.ts';
import styles from './numbers-page.module.css';

interface TableProps {
  readonly title: string;
  readonly head: readonly string[];
  /** The first cell of a row is its heading. */
  readonly rows: readonly (readonly string[])[];
}

function Table({ title, head, rows }: TableProps): ReactNode {
  if (rows.length === 0) return null;
  return (
    <section className={styles['chart']}>
      <h2>{title}</h2>
      <TableBody head={head} rows={rows} />
    </section>
  );
}

function TableBody({ head, rows }: Omit<TableProps, 'title'>): ReactNode {
  return (
    <div className={styles['scroll']}>
      <table className={styles['table']}>
        <thead>
          <tr>
            {head.map((each) => (
              <th key={each} scope="col">
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name = '', ...cells]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {cells.map((cell, column) => (
                <td key={head[column + 1]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Bars show at a glance what the figures beside them say. */
export function SlowestSteps({ steps }: { readonly steps: readonly SlowStep[] }): ReactNode {
  const { t, format } = useText();
  const longest = steps[0]?.meanMs ?? 0;
  if (longest === 0) return null;
  const words = t.numbers;
  return (
    <section className={styles['chart']}>
      <h2>{words.charts.slowest}</h2>
      <p className="small soft">{words.slowestText}</p>
      <div className={styles['scroll']}>
        <table className={styles['table']}>
          <thead>
            <tr>
              <th scope="col">{words.step}</th>
              <th scope="col">{words.workflow}</th>
              <th scope="col">{words.mean}</th>
              <th scope="col">{words.count}</th>
              <th scope="col">{words.together}</th>
            </tr>
          </thead>
          <tbody>
            {steps.map(({ workflow, step, count, meanMs, totalMs }) => (
              <tr key={`${workflow} ${step}`}>
                <th scope="row">{step}</th>
                <td>{workflow}</td>
                <td>
                  <meter className={styles['meter']} aria-hidden="true" min={0} max={longest} value={meanMs} /> {format.duration(meanMs)}
                </td>
                <td>{format.number(count)}</td>
                <td>{format.duration(totalMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

export function Waits({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  const words = t.numbers;
  const kinds: Readonly<Record<string, string>> = words.waitKinds;
  const rows = figures.waits.map(({ kind, meanMs, count }) => [kinds[kind] ?? kind, format.duration(meanMs), format.number(count)]);
  return <Table title={words.charts.waits} head={[words.waitedFor, words.mean, words.count]} rows={rows} />;
}

export function StepTypes({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  const words = t.numbers;
  const rows = figures.stepTypes.map(({ type, ended, failed }) => [type, format.number(ended), format.number(failed)]);
  return <Table title={words.charts.steps} head={[words.step, words.count, words.failed]} rows={rows} />;
}

export function ByWorkflow({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  const words = t.numbers;
  const names = words.figures;
  const rows = figures.byWorkflow.map(({ workflow, ended, completed, meanMs, humanWaitMs, costUsd }) => [
    workflow,
    format.number(ended),
    ended === 0 ? '–' : format.percent(completed / ended),
    format.duration(meanMs),
    humanWaitMs === 0 ? '–' : format.duration(humanWaitMs),
    format.money(costUsd),
  ]);
  const head = [words.workflow, names.ended, names.completed, names.duration, names.humanWait, names.cost];
  return <Table title={words.charts.byWorkflow} head={head} rows={rows} />;
}

/** What the charts show, for those who do not see them. */
export function DayTable({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  const words = t.numbers;
  const head = [words.day, words.completed, words.failed, words.other, words.figures.duration, words.figures.humanWait, words.figures.cost];
  const rows = figures.days.map(({ day, completed, failed, other, meanMinutes, humanWaitMinutes, costUsd }) => [
    format.day(Date.parse(`${day}T12:00:00Z`)),
    format.number(completed),
    format.number(failed),
    format.number(other),
    format.duration(meanMinutes * 60_000),
    format.duration(humanWaitMinutes * 60_000),
    format.money(costUsd),
  ]);
  return (
    <details>
      <summary>{words.asTable}</summary>
      <TableBody head={head} rows={rows} />
    </details>
  );
}
