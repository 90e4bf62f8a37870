import { decideApproval } from '../ledger/approvals.ts';
import { declaredStateSchema, storeDeclaredSchedules } from '../ledger/declared-schedules.ts';
import { dueField, dueRanges } from '../ledger/due.ts';
import { attendCommand } from '../ledger/commands.ts';
import { attendEvent } from '../ledger/events.ts';
import { attendJob } from '../ledger/jobs.ts';
import { attendOutbox } from '../ledger/outbox.ts';
import { attendRequest } from '../ledger/requests.ts';
import { attendExpiry } from '../ledger/retention.ts';
import { attendWatch } from '../ledger/watches.ts';
import { attendSchedule } from '../ledger/schedules.ts';
import type { Snapshot } from '../ledger/store.ts';
import { paths } from '../model/paths.ts';
import { attend } from '../runner/attend.ts';
import { attendReconciliation } from '../runner/reconciliation.ts';
import { attendCompletion, attendRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { alertUnattended, auditRuns, auditStateSchema } from './audit.ts';
import { rollUp } from '../telemetry/metrics.ts';

/** Documents taken from one shard of one collection in one go. */
const PAGE = 200;
const AT_ONCE = 20;
const PUT_OFF_MS = 10 * 60_000;

/** How the documents of a collection group are attended. */
export type DueHandler = (runtime: Runtime, snapshot: Snapshot) => Promise<void>;

export interface Tick {
  readonly at: number;
  readonly repaired: number;
  readonly failed: number;
  /** True when a page was full: more is due than one tick takes. */
  readonly behind: boolean;
}

/** Every collection that carries `due`, and the door its documents go through. */
export const dueHandlers: Readonly<Record<string, DueHandler>> = {
  steps: (runtime, { path }) => {
    const [, accountId = '', , runId = '', , key = ''] = path.split('/');
    return attend(runtime, { accountId, runId, key }, { kind: 'reconciler' });
  },
  runs: (runtime, { path }) => {
    const [, accountId = '', , runId = ''] = path.split('/');
    return attendRun(runtime, { accountId, runId });
  },
  completions: (runtime, { path }) => {
    const [, accountId = '', , runId = ''] = path.split('/');
    return attendCompletion(runtime, { accountId, runId });
  },
  events: (runtime, { path }) => {
    const [, accountId = '', , eventId = ''] = path.split('/');
    return attendEvent(runtime, accountId, eventId);
  },
  outbox: (runtime, { path }) => {
    const [, accountId = '', , id = ''] = path.split('/');
    return attendOutbox(runtime, accountId, id);
  },
  requests: (runtime, { path }) => {
    const [, accountId = '', , id = ''] = path.split('/');
    return attendRequest(runtime, accountId, id);
  },
  decisions: (runtime, { path }) => {
    const [, accountId = '', , approvalId = '', , uid = ''] = path.split('/');
    return decideApproval(runtime, { accountId, approvalId, uid });
  },
  schedules: (runtime, { path }) => {
    const [, accountId = '', , scheduleId = ''] = path.split('/');
    return attendSchedule(runtime, accountId, scheduleId);
  },
  watches: attendWatch,
  jobs: attendJob,
  expiries: attendExpiry,
  metrics: rollUp,
  reconciliations: (runtime, { path }) => {
    const [, accountId = '', , runId = ''] = path.split('/');
    return attendReconciliation(runtime, accountId, runId);
  },
  commands: (runtime, { path }) => {
    const [, accountId = '', , runId = '', , commandId = ''] = path.split('/');
    return attendCommand(runtime, { accountId, runId }, commandId);
  },
};

/**
 * Finds what is due and attends it: lost triggers, lost doorbells, expired leases, deadlines. Reads only what is due. Running it
 * twice, or beside a trigger, is harmless, since it goes through the same doors.
 */
export async function reconcile(runtime: Runtime, handlers: Readonly<Record<string, DueHandler>> = dueHandlers): Promise<Tick> {
  // A read tells the database's time; only then is it known what is due.
  const before = (await runtime.store.get([paths.reconciler])).docs[0]?.data;
  const now = runtime.clock.now();
  const declared = await storeDeclaredSchedules(runtime, declaredStateSchema.parse(before ?? {}), now);
  let repaired = 0;
  let failed = 0;
  let behind = false;
  for (const [group, handle] of Object.entries(handlers)) {
    for (const { from, to } of dueRanges(now)) {
      const found = await runtime.store.query({
        from: { group },
        where: [
          ['due', '>=', from],
          ['due', '<=', to],
        ],
        orderBy: [['due', 'asc']],
        limit: PAGE,
      });
      behind ||= found.docs.length === PAGE;
      for (let i = 0; i < found.docs.length; i += AT_ONCE) {
        const results = await Promise.allSettled(found.docs.slice(i, i + AT_ONCE).map((doc) => repair(runtime, group, doc, handle)));
        for (const result of results) {
          if (result.status === 'fulfilled') repaired += 1;
          else failed += 1;
        }
      }
    }
  }
  const tick = { at: now, repaired, failed, behind };
  const audit = await auditRuns(runtime, auditStateSchema.parse(before ?? {}), now);
  await runtime.store.commit([{ op: 'set', path: paths.reconciler, data: { v: 1, ...tick, ...audit, ...declared } }]);
  return tick;
}

/** A document that cannot be attended is put off, so that it never keeps others from their turn. */
async function repair(runtime: Runtime, group: string, doc: Snapshot, handle: DueHandler): Promise<void> {
  runtime.observe({ kind: 'repaired', what: group, path: doc.path });
  try {
    await handle(runtime, doc);
  } catch (error) {
    await runtime.store.commit([
      { op: 'update', path: doc.path, data: { due: dueField(doc.id, runtime.clock.now() + PUT_OFF_MS) }, ifUpdateTime: doc.updateTime },
    ]);
    await alertUnattended(runtime, doc.path, error);
    throw error;
  }
}
