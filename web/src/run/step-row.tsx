import { memo, type ReactNode } from 'react';
import { isLive } from '@model/step.ts';
import type { Catalogue } from '../text/en/index.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { useNow } from '../ui/now.ts';
import { stepLook } from '../ui/status.tsx';
import { barsOf } from './bars.ts';
import type { TimeScale } from './time-scale.ts';
import type { ListNode, Row, StepNode } from './tree.ts';
import styles from './step-tree.module.css';

interface RowProps {
  readonly id: string;
  readonly row: Row;
  readonly scale: TimeScale;
  readonly top: number;
  readonly height: number;
  readonly selected: boolean;
  readonly onSelect: () => void;
  readonly onToggle: () => void;
}

export const StepRow = memo(function StepRow({ id, row, scale, top, height, selected, onSelect, onToggle }: RowProps): ReactNode {
  const { node, depth, open } = row;
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={selected}
      {...(open === undefined ? {} : { 'aria-expanded': open })}
      className={styles['row']}
      data-selected={selected}
      style={{ transform: `translateY(${top}px)`, height }}
      onClick={onSelect}
    >
      <span className={styles['name']} style={{ paddingLeft: `${depth * 1.125}rem` }}>
        {open === undefined ? (
          <span className={styles['leaf']} />
        ) : (
          <span
            className={styles['toggle']}
            onClick={(event) => {
              event.stopPropagation();
              onToggle();
            }}
          >
            <Icon name={open ? 'down' : 'right'} size={16} />
          </span>
        )}
        {node.kind === 'step' ? <StepName node={node} iteration={row.iteration} /> : <ListName node={node} />}
      </span>
      <span className={styles['line']} aria-hidden="true">
        {scale.gaps.map((gap) => (
          <i key={gap.from} className={styles['gap']} style={{ left: `${gap.left * 100}%`, width: `${gap.width * 100}%` }} />
        ))}
        {node.kind === 'step' ? <Bars node={node} scale={scale} /> : null}
      </span>
    </div>
  );
});

function StepName({ node, iteration }: { readonly node: StepNode; readonly iteration: number | undefined }): ReactNode {
  const { t } = useText();
  const { record } = node;
  const look = record === undefined ? undefined : stepLook(record.state);
  const attempts = record?.attempts.length ?? 0;
  return (
    <>
      <span className={styles['state']} data-tone={look?.tone ?? 'idle'}>
        <Icon name={look?.icon ?? 'dot'} size={15} />
      </span>
      <span className={styles['label']}>
        {iteration === undefined ? null : <span className="soft">{iteration + 1} · </span>}
        {node.id}
      </span>
      <span className="unseen">{record === undefined ? '' : t.statuses.step[record.state]}</span>
      {attempts > 1 ? <span className={styles['note']}>×{attempts}</span> : null}
      {record?.gate === 'paused' && isLive(record.state) ? <span className={styles['note']}>{t.run.paused}</span> : null}
    </>
  );
}

function ListName({ node }: { readonly node: ListNode }): ReactNode {
  const { t } = useText();
  const { counts } = node;
  const notes = [
    t.run.inside(counts.steps),
    ...(counts.live > 0 ? [t.run.insideLive(counts.live)] : []),
    ...(counts.failed > 0 ? [t.run.insideFailed(counts.failed)] : []),
  ];
  return (
    <>
      <span className={styles['label']}>{labelOf(node, t)}</span>
      <span className={styles['note']}>{notes.join(' · ')}</span>
    </>
  );
}

function labelOf({ part, steps }: ListNode, t: Catalogue): string {
  switch (part.kind) {
    case 'iteration': {
      const frame = steps[0]?.record?.loops.at(-1);
      return t.run.iteration(part.index, frame?.count);
    }
    case 'branch':
      return t.run.branch(part.name);
    case 'exception':
      return t.run.exception;
    case 'then':
    case 'else':
      return part.kind;
  }
}

function Bars({ node, scale }: { readonly node: StepNode; readonly scale: TimeScale }): ReactNode {
  const now = useNow(1_000);
  const { record } = node;
  if (record === undefined) return null;
  return barsOf(record, Math.min(now, scale.to)).map((bar, index) => {
    const left = scale.at(bar.from);
    return (
      <i
        key={index}
        className={styles['bar']}
        data-kind={bar.kind}
        style={{ left: `${left * 100}%`, width: `${Math.max(0, scale.at(bar.to) - left) * 100}%` }}
      />
    );
  });
}
