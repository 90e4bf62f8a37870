import { Button } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useId, useMemo, useRef, type KeyboardEvent, type ReactNode } from 'react';
import { isLive, type StepRecord } from '@model/step.ts';
import type { RunRecord } from '@model/run.ts';
import { useText } from '../text/text.tsx';
import { useNow } from '../ui/now.ts';
import { activityOf } from './bars.ts';
import { StepRow } from './step-row.tsx';
import { timeScale, type TimeScale } from './time-scale.ts';
import type { Row } from './tree.ts';
import styles from './step-tree.module.css';

const ROW_HEIGHT = 32;
/** Reading on begins this many rows before the end is seen. */
const AHEAD = 40;

interface TreeProps {
  readonly rows: readonly Row[];
  readonly steps: readonly StepRecord[];
  readonly run: RunRecord;
  readonly selected: string | undefined;
  readonly onSelect: (key: string) => void;
  readonly onToggle: (key: string, open: boolean) => void;
  readonly more: boolean;
  readonly onMore: () => void;
}

/** The steps as a tree with a time line. Only the rows in sight are in the page, however many there are. */
export function StepTree(props: TreeProps): ReactNode {
  const { t, format } = useText();
  const { rows, selected, onToggle, more, onMore } = props;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const scale = useScale(props);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  const active = rows.findIndex((row) => row.node.key === selected);

  useEffect(() => {
    // Only somebody who scrolls reads on: a closed loop has few rows, and its pages would all be read for nothing.
    const scrolled = (scroller.current?.scrollTop ?? 0) > 0;
    if (more && scrolled && lastSeen >= rows.length - AHEAD) onMore();
  }, [lastSeen, more, onMore, rows.length]);
  useEffect(() => {
    if (active !== -1) virtual.scrollToIndex(active, { align: 'auto' });
    // A live update must not scroll; only another selection does.
  }, [selected]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const move = moveOf(event.key, active, rows);
    if (move === undefined) return;
    event.preventDefault();
    if (move.kind === 'toggle') onToggle(move.key, move.open);
    else selectRow(props, rows[move.to]);
  };

  return (
    <div className={styles['frame']}>
      <Axis scale={scale} />
      <div
        ref={scroller}
        role="tree"
        tabIndex={0}
        aria-label={t.run.tabs.steps}
        aria-activedescendant={active === -1 ? undefined : `${id}-${active}`}
        className={styles['scroller']}
        onKeyDown={onKeyDown}
      >
        <div style={{ height: virtual.getTotalSize() }} className={styles['rows']} role="presentation">
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <StepRow
                key={row.node.key}
                id={`${id}-${item.index}`}
                row={row}
                scale={scale}
                top={item.start}
                height={ROW_HEIGHT}
                selected={item.index === active}
                onSelect={() => selectRow(props, row)}
                onToggle={() => onToggle(row.node.key, row.open !== true)}
              />
            );
          })}
        </div>
      </div>
      <div className={styles['foot']}>
        <span role="status">{t.run.loadedSteps(format.number(props.steps.length))}</span>
        {more ? (
          <Button variant="subtle" size="compact-xs" onClick={onMore}>
            {t.run.loadMore}
          </Button>
        ) : null}
      </div>
    </div>
  );
}

/** Groups are opened, steps are looked at. */
function selectRow({ onSelect, onToggle }: TreeProps, row: Row | undefined): void {
  if (row === undefined) return;
  if (row.node.kind === 'step') onSelect(row.node.key);
  else onToggle(row.node.key, row.open !== true);
}

type Move = { readonly kind: 'go'; readonly to: number } | { readonly kind: 'toggle'; readonly key: string; readonly open: boolean };

function moveOf(key: string, active: number, rows: readonly Row[]): Move | undefined {
  const row = rows[active];
  switch (key) {
    case 'ArrowDown':
      return go(nextStep(rows, active, 1));
    case 'ArrowUp':
      return go(nextStep(rows, active, -1));
    case 'Home':
      return go(nextStep(rows, -1, 1));
    case 'End':
      return go(nextStep(rows, rows.length, -1));
    case 'ArrowRight':
      return row === undefined || row.open === undefined
        ? undefined
        : row.open
          ? go(nextStep(rows, active, 1))
          : { kind: 'toggle', key: row.node.key, open: true };
    case 'ArrowLeft':
      return row === undefined
        ? undefined
        : row.open === true
          ? { kind: 'toggle', key: row.node.key, open: false }
          : go(parentOf(rows, active));
    default:
      return undefined;
  }
}

function go(to: number | undefined): Move | undefined {
  return to === undefined ? undefined : { kind: 'go', to };
}

/** Groups have nothing to show: the arrows pass over them when they are open. */
function nextStep(rows: readonly Row[], from: number, direction: 1 | -1): number | undefined {
  for (let at = from + direction; at >= 0 && at < rows.length; at += direction) {
    if (rows[at]?.node.kind === 'step') return at;
  }
  return undefined;
}

function parentOf(rows: readonly Row[], from: number): number | undefined {
  const depth = rows[from]?.depth ?? 0;
  for (let at = from - 1; at >= 0; at -= 1) {
    const row = rows[at];
    if (row !== undefined && row.depth < depth && row.node.kind === 'step') return at;
  }
  return undefined;
}

function useScale({ steps, run }: TreeProps): TimeScale {
  const goesOn = run.endedAt === undefined;
  const now = useNow(5_000);
  const until = goesOn ? now : (run.endedAt ?? now);
  return useMemo(() => {
    const last = steps.reduce(
      (latest, step) => Math.max(latest, step.endedAt ?? (isLive(step.state) ? until : step.createdAt)),
      run.createdAt,
    );
    const activity = steps.flatMap((step) => activityOf(step, until));
    return timeScale(goesOn ? [...activity, { from: until, to: until }] : activity, { from: run.createdAt, to: goesOn ? until : last });
  }, [steps, run.createdAt, until, goesOn]);
}

function Axis({ scale }: { readonly scale: TimeScale }): ReactNode {
  const { t, format } = useText();
  return (
    <div className={styles['axis']} aria-hidden="true">
      <span>{t.run.step}</span>
      <div className={styles['line']}>
        <span className={styles['start']}>{format.clock(scale.from)}</span>
        {labelled(scale).map((gap) => (
          <span
            key={gap.from}
            className={styles['gapLabel']}
            style={{ left: `${(gap.left + gap.width / 2) * 100}%` }}
            title={t.run.pressed(format.duration(gap.to - gap.from))}
          >
            {format.duration(gap.to - gap.from)}
          </span>
        ))}
        <span className={styles['end']}>{format.clock(scale.to)}</span>
      </div>
    </div>
  );
}

const LABEL_WIDTH = 0.14;

/** The gaps whose label does not run into another, nor into the times at both ends; the others keep it as their title. */
function labelled(scale: TimeScale): TimeScale['gaps'] {
  let free = LABEL_WIDTH * 1.5;
  return scale.gaps.filter((gap) => {
    const middle = gap.left + gap.width / 2;
    if (middle - LABEL_WIDTH / 2 < free || middle + LABEL_WIDTH / 2 > 1 - LABEL_WIDTH * 1.3) return false;
    free = middle + LABEL_WIDTH / 2;
    return true;
  });
}
