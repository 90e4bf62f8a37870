import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from 'react';
import { isLive, type StepRecord } from '@model/step.ts';
import { terminalRunStatuses, type RunRecord } from '@model/run.ts';
import { listen, useLiveList, type Item, type Live } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { stepShape } from '../data/shapes.ts';

export interface Steps {
  /** Loaded steps in the order of their creation, with what is live or asked for wherever it stands. */
  readonly steps: readonly StepRecord[];
  /** The live ones, whether their page is loaded or not. */
  readonly live: readonly StepRecord[];
  readonly state: 'loading' | 'ready';
  readonly error: unknown;
  /** More pages are there to be loaded. */
  readonly more: boolean;
  readonly loadMore: () => void;
}

interface Page {
  readonly limit: number;
  items: Live<readonly Item<StepRecord>[]>;
  stop: (() => void) | undefined;
}

/**
 * The steps of a run in pages of 300, the first of 100. A page is watched until it is full and everything in it has ended: from then on it cannot change,
 * so that a run of ten thousand steps costs what is looked at, not what there is.
 */
export function useSteps(run: RunRecord, failedOnly: boolean): Steps {
  const { accountId, runId } = run;
  const pages = useRef<Page[]>([]);
  const [version, changed] = useReducer((count: number) => count + 1, 0);
  const [beyond, setBeyond] = useState(false);
  const ended = terminalRunStatuses.has(run.status);
  // Only a run of more than one page has live steps that stand elsewhere, and they are asked for once there is something to look at.
  const live = useLiveList(beyond && !ended ? queries.liveSteps(accountId, runId) : undefined, stepShape);
  const failed = useLiveList(failedOnly ? queries.failedSteps(accountId, runId) : undefined, stepShape);

  const open = useCallback(() => {
    const before = pages.current.at(-1);
    const last = before?.items.state === 'ready' ? before.items.value.at(-1)?.value : undefined;
    if (before !== undefined && last === undefined) return;
    const query = queries.steps(accountId, runId, last === undefined ? undefined : { createdAt: last.createdAt, key: last.key });
    const page: Page = { limit: query.limit, items: { state: 'loading' }, stop: undefined };
    pages.current.push(page);
    page.stop = listen(query, stepShape, (items) => {
      page.items = items;
      if (isSettled(page)) page.stop?.();
      if (isFull(page)) setBeyond(true);
      changed();
    });
  }, [accountId, runId]);

  useEffect(() => {
    open();
    return () => {
      for (const page of pages.current) page.stop?.();
      pages.current = [];
    };
  }, [open]);

  return useMemo(() => {
    const loaded = pages.current.flatMap((page) => (page.items.state === 'ready' ? page.items.value : []));
    const lastPage = pages.current.at(-1);
    const byKey = new Map(loaded.map((item) => [item.value.key, item.value]));
    // What is live or has failed may stand on a page that nobody has opened.
    for (const step of [...valuesOf(failed), ...valuesOf(live)]) byKey.set(step.key, newer(byKey.get(step.key), step));
    const first = pages.current[0]?.items;
    const steps = [...byKey.values()];
    return {
      steps,
      live: steps.filter((step) => isLive(step.state)),
      state: first === undefined || first.state === 'loading' ? 'loading' : 'ready',
      error: first?.state === 'failed' ? first.error : undefined,
      more: lastPage !== undefined && isFull(lastPage),
      loadMore: open,
    } as const;
    // `version` stands for the pages, which are changed in place.
  }, [failed, live, open, version]);
}

function isFull({ items, limit }: Page): boolean {
  return items.state === 'ready' && items.value.length >= limit;
}

function isSettled(page: Page): boolean {
  const { items } = page;
  return isFull(page) && items.state === 'ready' && !items.fromCache && items.value.every((item) => !isLive(item.value.state));
}

function valuesOf(live: Live<readonly Item<StepRecord>[]>): readonly StepRecord[] {
  return live.state === 'ready' ? live.value.map((item) => item.value) : [];
}

/** Two listeners report the same step one after the other; an ended step never goes back. */
function newer(known: StepRecord | undefined, other: StepRecord): StepRecord {
  return known !== undefined && !isLive(known.state) ? known : other;
}
