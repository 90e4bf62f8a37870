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
import { figuresOf, type Figures } from './adapter.ts';
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
      {figures !== undefined && figures.days.length > 0 ? <Shown figures={figures} /> : null}
    </div>
  );
}

function Shown({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  const { charts } = t.numbers;
  const days = figures.days.map((each) => ({ ...each, label: format.day(Date.parse(`${each.day}T12:00:00Z`)) }));
  return (
    <>
      <Totals figures={figures} />
      <section className={styles['chart']}>
        <h2>{charts.runs}</h2>
        <div aria-hidden="true">
          <BarChart
            h={240}
            data={days}
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
      <div className={styles['two']}>
        <section className={styles['chart']}>
          <h2>{charts.duration}</h2>
          <div aria-hidden="true">
            <LineChart
              h={200}
              data={days}
              dataKey="label"
              curveType="linear"
              withDots={false}
              lineChartProps={still}
              lineProps={quiet}
              series={[{ name: 'meanMinutes', label: t.numbers.mean, color: 'var(--bar-run)' }]}
              valueFormatter={(value) => format.number(value, 1)}
            />
          </div>
        </section>
        <section className={styles['chart']}>
          <h2>{charts.cost}</h2>
          <div aria-hidden="true">
            <LineChart
              h={200}
              data={days}
              dataKey="label"
              curveType="linear"
              withDots={false}
              lineChartProps={still}
              lineProps={quiet}
              series={[{ name: 'costUsd', label: t.numbers.figures.cost, color: 'var(--bar-wait)' }]}
              valueFormatter={(value) => format.money(value)}
            />
          </div>
        </section>
      </div>
      <div className={styles['two']}>
        <Waits figures={figures} />
        <StepTypes figures={figures} />
      </div>
      <DayTable figures={figures} />
    </>
  );
}

function Totals({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  const words = t.numbers.figures;
  const totals: readonly (readonly [string, string])[] = [
    [words.ended, format.number(figures.ended)],
    [words.completed, figures.ended === 0 ? '–' : format.percent(figures.completed / figures.ended)],
    [words.failureRate, figures.ended === 0 ? '–' : format.percent(figures.failed / figures.ended)],
    [words.duration, format.duration(figures.meanMs)],
    [words.humanWait, format.duration(figures.humanWaitMs)],
    [words.retries, format.number(figures.retries)],
    [words.prevented, format.number(figures.prevented)],
    [words.business, format.number(figures.business)],
    [words.technical, format.number(figures.technical)],
    [words.escalations, format.number(figures.escalations)],
    [words.tokens, format.number(figures.tokens)],
    [words.cost, format.money(figures.costUsd)],
  ];
  return (
    <dl className={styles['totals']}>
      {totals.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Waits({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  if (figures.waits.length === 0) return null;
  const kinds: Readonly<Record<string, string>> = t.numbers.waitKinds;
  return (
    <section className={styles['chart']}>
      <h2>{t.numbers.charts.waits}</h2>
      <table className={styles['table']}>
        <thead>
          <tr>
            <th scope="col">{t.numbers.waitedFor}</th>
            <th scope="col">{t.numbers.mean}</th>
            <th scope="col">{t.numbers.count}</th>
          </tr>
        </thead>
        <tbody>
          {figures.waits.map((wait) => (
            <tr key={wait.kind}>
              <th scope="row">{kinds[wait.kind] ?? wait.kind}</th>
              <td>{format.duration(wait.meanMs)}</td>
              <td>{format.number(wait.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function StepTypes({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  if (figures.stepTypes.length === 0) return null;
  return (
    <section className={styles['chart']}>
      <h2>{t.numbers.charts.steps}</h2>
      <table className={styles['table']}>
        <thead>
          <tr>
            <th scope="col">{t.numbers.step}</th>
            <th scope="col">{t.numbers.count}</th>
            <th scope="col">{t.numbers.failed}</th>
            <th scope="col">{t.numbers.figures.retries}</th>
          </tr>
        </thead>
        <tbody>
          {figures.stepTypes.map((step) => (
            <tr key={step.type}>
              <th scope="row">{step.type}</th>
              <td>{format.number(step.ended)}</td>
              <td>{format.number(step.failed)}</td>
              <td>{format.number(step.retries)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What the charts show, for those who do not see them. */
function DayTable({ figures }: { readonly figures: Figures }): ReactNode {
  const { t, format } = useText();
  return (
    <details>
      <summary>{t.numbers.asTable}</summary>
      <table className={styles['table']}>
        <thead>
          <tr>
            <th scope="col">{t.numbers.day}</th>
            <th scope="col">{t.numbers.completed}</th>
            <th scope="col">{t.numbers.failed}</th>
            <th scope="col">{t.numbers.other}</th>
            <th scope="col">{t.numbers.figures.duration}</th>
            <th scope="col">{t.numbers.figures.cost}</th>
          </tr>
        </thead>
        <tbody>
          {figures.days.map((day) => (
            <tr key={day.day}>
              <th scope="row">{day.day}</th>
              <td>{day.completed}</td>
              <td>{day.failed}</td>
              <td>{day.other}</td>
              <td>{format.duration(day.meanMinutes * 60_000)}</td>
              <td>{format.money(day.costUsd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
