import { tagOf } from '../engine/tags.ts';
import { paths } from '../model/paths.ts';
import type { RunFilter } from '../model/job.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import type { Filter, Query, Store } from './store.ts';

const PAGE = 50;

/** A run as the place where a page ended. */
export interface RunCursor {
  readonly createdAt: number;
  readonly runId: string;
}

/**
 * The newest first. Each filter has an index together with the time; Firestore merges them where several are given. Only an
 * attribute goes with nothing else: what else is asked for is then looked at by `matches`.
 */
export function runQuery(accountId: string, filter: RunFilter, limit: number, after?: RunCursor): Query {
  const { workflowId, status, businessState, businessKey, attribute, from, to } = filter;
  const where: Filter[] = [];
  if (attribute !== undefined) where.push(['tags', 'array-contains', tagOf(attribute.name, attribute.value)]);
  else {
    if (workflowId !== undefined) where.push(['workflowId', '==', workflowId]);
    if (status !== undefined) where.push(['status', '==', status]);
    if (businessState !== undefined) where.push(['businessState', '==', businessState]);
    if (businessKey !== undefined) where.push(['businessKey', '==', businessKey]);
  }
  if (from !== undefined) where.push(['createdAt', '>=', from]);
  if (to !== undefined) where.push(['createdAt', '<', to]);
  const page = after === undefined ? {} : { startAfter: [after.createdAt, after.runId] };
  return { from: paths.runs(accountId), where, orderBy: [['createdAt', 'desc']], ...page, limit };
}

/** Whether a run that the query found is one that was asked for. */
export function matches(run: RunRecord, { workflowId, status, businessState, businessKey }: RunFilter): boolean {
  return (
    (workflowId === undefined || run.workflowId === workflowId) &&
    (status === undefined || run.status === status) &&
    (businessState === undefined || run.businessState === businessState) &&
    (businessKey === undefined || run.businessKey === businessKey)
  );
}

/** A filter that leaves nothing out is a mistake where it decides what happens to runs. */
export function isEmptyFilter(filter: RunFilter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}

export interface RunPage {
  readonly runs: readonly RunRecord[];
  /** Hand it in for the next page; absent at the end. */
  readonly next?: RunCursor;
}

/** Pages that one search looks through when few of the runs that it finds fit. */
const PAGES_MAX = 10;

export async function searchRuns(store: Store, accountId: string, filter: RunFilter, after?: RunCursor): Promise<RunPage> {
  const runs: RunRecord[] = [];
  let cursor = after;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { docs } = await store.query(runQuery(accountId, filter, PAGE, cursor));
    const found = docs.map((doc) => runRecordSchema.parse(doc.data));
    for (const run of found) {
      if (!matches(run, filter)) continue;
      if (runs.length === PAGE) return { runs, ...nextOf(runs) };
      runs.push(run);
    }
    if (found.length < PAGE) return { runs };
    cursor = cursorOf(found.at(-1));
  }
  return { runs, ...(cursor === undefined ? {} : { next: cursor }) };
}

function cursorOf(run: RunRecord | undefined): RunCursor | undefined {
  return run === undefined ? undefined : { createdAt: run.createdAt, runId: run.runId };
}

function nextOf(runs: readonly RunRecord[]): Pick<RunPage, 'next'> {
  const next = cursorOf(runs.at(-1));
  return next === undefined ? {} : { next };
}
