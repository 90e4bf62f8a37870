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

/** The newest first. Each filter has an index together with the time; Firestore merges them where several are given. */
export function runQuery(accountId: string, filter: RunFilter, limit: number, after?: RunCursor): Query {
  const { workflowId, status, businessState, businessKey, attribute, from, to } = filter;
  const where: Filter[] = [];
  if (workflowId !== undefined) where.push(['workflowId', '==', workflowId]);
  if (status !== undefined) where.push(['status', '==', status]);
  if (businessState !== undefined) where.push(['businessState', '==', businessState]);
  if (businessKey !== undefined) where.push(['businessKey', '==', businessKey]);
  if (attribute !== undefined) where.push(['tags', 'array-contains', tagOf(attribute.name, attribute.value)]);
  if (from !== undefined) where.push(['createdAt', '>=', from]);
  if (to !== undefined) where.push(['createdAt', '<', to]);
  const page = after === undefined ? {} : { startAfter: [after.createdAt, after.runId] };
  return { from: paths.runs(accountId), where, orderBy: [['createdAt', 'desc']], ...page, limit };
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

export async function searchRuns(store: Store, accountId: string, filter: RunFilter, after?: RunCursor): Promise<RunPage> {
  const { docs } = await store.query(runQuery(accountId, filter, PAGE + 1, after));
  const runs = docs.slice(0, PAGE).map((doc) => runRecordSchema.parse(doc.data));
  const last = runs.at(-1);
  return last === undefined || docs.length <= PAGE ? { runs } : { runs, next: { createdAt: last.createdAt, runId: last.runId } };
}
