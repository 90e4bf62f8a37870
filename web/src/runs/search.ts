/** The filters of the run list, as they stand in the address. */
import { runStatuses } from '@model/run.ts';
import type { RunFilter } from '../data/queries.ts';

export interface RunsSearch {
  readonly status?: string;
  readonly workflow?: string;
  readonly state?: string;
  readonly key?: string;
  /** Days as YYYY-MM-DD, in the reader's zone; `until` is included. */
  readonly from?: string;
  readonly until?: string;
  /** Creation time and id of the run after which the page begins: `1799999999999~r1`. */
  readonly after?: string;
}

const AFTER = /^\d{1,15}~[A-Za-z0-9_-]{1,128}$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** What can be understood of an address; the rest is passed over. */
export function parseRunsSearch(search: Record<string, unknown>): RunsSearch {
  const text = (name: string): string | undefined => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;
  };
  const status = text('status');
  const from = text('from');
  const until = text('until');
  const after = text('after');
  const rest = { workflow: text('workflow'), state: text('state'), key: text('key') };
  return {
    ...(status !== undefined && isStatus(status) ? { status } : {}),
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    ...(from !== undefined && DAY.test(from) ? { from } : {}),
    ...(until !== undefined && DAY.test(until) ? { until } : {}),
    ...(after !== undefined && AFTER.test(after) ? { after } : {}),
  };
}

function isStatus(value: string): value is NonNullable<RunFilter['status']> {
  return value === 'waiting' || (runStatuses as readonly string[]).includes(value);
}

export function filterOf({ status, from, until, after, ...rest }: RunsSearch): RunFilter {
  const [createdAt, runId] = after?.split('~') ?? [];
  return {
    ...rest,
    ...(createdAt === undefined || runId === undefined ? {} : { after: { createdAt: Number(createdAt), runId } }),
    ...(status !== undefined && isStatus(status) ? { status } : {}),
    ...(from === undefined ? {} : { from: startOfDay(from, 0) }),
    ...(until === undefined ? {} : { until: startOfDay(until, 1) }),
  };
}

/** Midnight of a day in the zone of the browser. */
function startOfDay(day: string, later: number): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date + later).getTime();
}

/** A page is no filter. */
export function isFiltered({ after: _after, ...filters }: RunsSearch): boolean {
  return Object.keys(filters).length > 0;
}
