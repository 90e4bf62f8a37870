import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { NativeSelect } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { rollupShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { figuresOf, type Day, type Figures, type Totals } from './adapter.ts';
import { ByWorkflow, DayTable, SlowestSteps, StepTypes, Waits } from './numbers-tables.tsx';
import styles from './numbers-page.module.css';

/** The table below the charts is what is read aloud and walked by keyboard; the charts are for the eye. */
const still = { accessibilityLayer: false } as const;
const quiet = { isAnimationActive: false } as const;

const periods = [7, 30, 90] as const;

export function NumbersPage(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const navigate = useNavigate();
  const { days = 30, workflow } = useSearch({ from: '/a/$accountId/numbers' });
  const live = useLiveList(queries.rollups(accountId, days), rollupShape);
  const figures = useMemo(
    () =>
      live.state === 'ready'
        ? figuresOf(
            live.value.map((item) => item.value),
            workflow,
          )
        : undefined,
    [live, workflow],
  );
  usePageTitle(t.numbers.title);
  useFocusOnArrival('numbers');
  const set = (next: { days?: number; workflow?: string }): void =>
    void navigate({ from: '/a/$accountId/numbers', to: '.', search: next, replace: true });
  return (
    <div className={styles['page']}>
      <h1>{t.numbers.title}</h1>
      <div className={styles['filters']}>
        <NativeSelect
          label={t.numbers.period}
          value={String(days)}
          onChange={(event) => set({ days: Number(event.currentTarget.value), ...(workflow === undefined ? {} : { workflow }) })}
          data={periods.map((each) => ({ value: String(each), label: t.numbers.days(each) }))}
        />
        <NativeSelect
          label={t.numbers.workflow}
          value={workflow ?? ''}
          onChange={(event) => set({ days, ...(event.currentTarget.value === '' ? {} : { workflow: event.currentTarget.value }) })}
          data={[{ value: '', label: t.numbers.all }, ...(figures?.workflows ?? [])]}
        />
      </div>
      {live.state === 'loading' ? <Loading /> : null}
      {live.state === 'failed' ? <Problem error={live.error} /> : null}
      {live.state === 'ready' && live.value.length === 0 ? (
        <Empty icon="chart" title={t.numbers.none.title} text={t.numbers.none.text} />
      ) : null}
      {figures !== undefined && figures.days.length > 0 ? <Shown figures={figures} workflow={workflow} /> : null}
    </div>
  );
}

interface ShownProps {
  readonly figures: Figures;
  readonly workflow: string | undefined;
}

function Shown({ figures, workflow }: ShownProps): ReactNode {
  const { t, format } = useText();
  const { charts, figures: words } = t.numbers;
  const days = figures.days.map((each) => ({ ...each, label: format.day(Date.parse(`${each.day}T12:00:00Z`)) }));
  const minutes = (value: number): string => format.duration(value * 60_000);
  return (
    <>
      <TotalsList totals={figures.totals} />
      <RunsChart days={days} />
      <div className={styles['three']}>
        <DayLine title={charts.duration} days={days} of="meanMinutes" label={t.numbers.mean} color="--bar-run" say={minutes} />
        <DayLine title={charts.humanWait} days={days} of="humanWaitMinutes" label={t.numbers.mean} color="--bar-wait" say={minutes} />
        <DayLine title={charts.cost} days={days} of="costUsd" label={words.cost} color="--bar-run" say={(value) => format.money(value)} />
      </div>
      <SlowestSteps steps={figures.slowest} />
      <div className={styles['two']}>
        <Waits figures={figures} />
        <StepTypes figures={figures} />
      </div>
      {workflow === undefined ? <ByWorkflow figures={figures} /> : null}
      <DayTable figures={figures} />
    </>
  );
}

type LabelledDay = Day & { readonly label: string };

function RunsChart({ days }: { readonly days: readonly LabelledDay[] }): ReactNode {
  const { t } = useText();
  return (
    <section className={styles['chart']}>
      <h2>{t.numbers.charts.runs}</h2>
      <div aria-hidden="true">
        <BarChart
          h={240}
          data={[...days]}
          dataKey="label"
          type="stacked"
          barChartProps={still}
          barProps={quiet}
          series={[
            { name: 'completed', label: t.numbers.completed, color: 'var(--bar-good)' },
            { name: 'failed', label: t.numbers.failed, color: 'var(--bar-bad)' },
            { name: 'other', label: t.numbers.other, color: 'var(--bar-idle)' },
          ]}
        />
        <p className={styles['legend']}>
          <span>{t.numbers.completed}</span>
          <span className={styles['failed']}>{t.numbers.failed}</span>
          <span className={styles['other']}>{t.numbers.other}</span>
        </p>
      </div>
    </section>
  );
}

interface LineProps {
  readonly title: string;
  readonly days: readonly LabelledDay[];
  readonly of: 'meanMinutes' | 'humanWaitMinutes' | 'costUsd';
  readonly label: string;
  readonly color: string;
  readonly say: (value: number) => string;
}

function DayLine({ title, days, of, label, color, say }: LineProps): ReactNode {
  return (
    <section className={styles['chart']}>
      <h2>{title}</h2>
      <div aria-hidden="true">
        <LineChart
          h={200}
          data={[...days]}
          dataKey="label"
          curveType="linear"
          withDots={false}
          lineChartProps={still}
          lineProps={quiet}
          series={[{ name: of, label, color: `var(${color})` }]}
          valueFormatter={say}
        />
      </div>
    </section>
  );
}

function TotalsList({ totals }: { readonly totals: Totals }): ReactNode {
  const { t, format } = useText();
  const words = t.numbers.figures;
  const lines: readonly (readonly [string, string])[] = [
    [words.ended, format.number(totals.ended)],
    [words.completed, totals.ended === 0 ? '–' : format.percent(totals.completed / totals.ended)],
    [words.failureRate, totals.ended === 0 ? '–' : format.percent(totals.failed / totals.ended)],
    [words.duration, format.duration(totals.meanMs)],
    [words.humanWait, format.duration(totals.humanWaitMs)],
    [words.retries, format.number(totals.retries)],
    [words.prevented, format.number(totals.prevented)],
    [words.business, format.number(totals.business)],
    [words.technical, format.number(totals.technical)],
    [words.escalations, format.number(totals.escalations)],
    [words.tokens, format.number(totals.tokens)],
    [words.cost, format.money(totals.costUsd)],
  ];
  return (
    <dl className={styles['totals']}>
      {lines.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
