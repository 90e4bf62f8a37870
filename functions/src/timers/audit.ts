import { z } from 'zod';
import { isStuck, wakerOf } from '../engine/liveness.ts';
import { raiseAlert } from '../ledger/alerts.ts';
import { dueField } from '../ledger/due.ts';
import { liveSteps } from '../ledger/runs.ts';
import { stepPath } from '../ledger/steps.ts';
import { StoreConflict } from '../ledger/store.ts';
import type { Query, Snapshot, Write } from '../ledger/store.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import { StoredByNewerCode } from '../model/upgrades.ts';
import type { StepRecord } from '../model/step.ts';
import type { Runtime } from '../runner/runtime.ts';

const EVERY_MS = 15 * 60_000;
/** A run is given this long before it is looked at. */
const GRACE_MS = 15 * 60_000;
const PAGE = 200;
/** Live steps that are looked at; of more than these, some will have a waker. */
const STEPS_SEEN = 50;

/** Where the walk through all runs that have not ended stands; part of the reconciler's document. */
export const auditStateSchema = z.object({ auditedAt: z.number().default(0), auditCursor: z.number().default(0) });
export type AuditState = z.infer<typeof auditStateSchema>;

export function auditedRuns(cursor: number, until: number): Query {
  return {
    from: { group: 'runs' },
    where: [
      ['status', 'in', ['pending', 'running', 'cancelling', 'compensating']],
      ['createdAt', '>', cursor],
      ['createdAt', '<=', until],
    ],
    orderBy: [['createdAt', 'asc']],
    limit: PAGE,
  };
}

/**
 * Each quarter of an hour, looks at every run that has not ended whether something will come and move it. It should never find
 * anything: each commit that leaves a run leaves a waker. What it finds it sets going again, and says so.
 */
export async function auditRuns(runtime: Runtime, state: AuditState, now: number): Promise<AuditState> {
  if (state.auditCursor === 0 && now - state.auditedAt < EVERY_MS) return state;
  const { docs } = await runtime.store.query(auditedRuns(state.auditCursor, now - GRACE_MS));
  let last: number | undefined;
  for (const doc of docs) {
    try {
      const run = runRecordSchema.parse(doc.data);
      last = run.createdAt;
      await auditRun(runtime, run, now);
    } catch (error) {
      // A run that cannot be read keeps nobody from looking at the others.
      if (!(error instanceof StoredByNewerCode || error instanceof z.ZodError)) throw error;
      runtime.observe({ kind: 'unreadable', path: doc.path, message: error.message });
    }
  }
  // More of them: the walk goes on with the next tick.
  if (docs.length === PAGE && last !== undefined) return { auditedAt: state.auditedAt, auditCursor: last };
  return { auditedAt: now, auditCursor: 0 };
}

async function auditRun(runtime: Runtime, run: RunRecord, now: number): Promise<void> {
  const live = await runtime.store.query(liveSteps(run, STEPS_SEEN));
  const steps = live.docs.map((doc) => stepRecordSchema.parse(doc.data));
  if (live.docs.length === STEPS_SEEN || !isStuck(run, steps)) return;
  // It may have ended, or gone on, between the two reads.
  const again = (await runtime.store.get([paths.run(run.accountId, run.runId)])).docs[0];
  const current = again === undefined ? undefined : runRecordSchema.parse(again.data);
  if (again === undefined || current?.status !== run.status || current.due !== run.due) return;
  const repaired = await setGoing(runtime, current, again, live.docs, steps, now);
  runtime.observe({ kind: 'repaired', what: repaired ? 'a run without a waker' : 'a stuck run', path: again.path });
  if (!repaired) await alertStuck(runtime, current, 'nothing is left that would move it on');
}

/** What only lacks the mark by which it is found gets it back. */
async function setGoing(
  runtime: Runtime,
  run: RunRecord,
  doc: Snapshot,
  docs: readonly Snapshot[],
  steps: readonly StepRecord[],
  now: number,
): Promise<boolean> {
  const dueAt = (at: number): string => dueField(run.runId, Math.max(now, at));
  const unfinished = run.status === 'pending' || run.status === 'cancelling';
  const writes = unfinished
    ? [{ op: 'update', path: doc.path, data: { due: dueAt(now) }, ifUpdateTime: doc.updateTime } as const]
    : steps.flatMap((step, i): Write[] =>
        wakerOf(step) === undefined
          ? [
              {
                op: 'update',
                path: stepPath(step),
                data: { due: dueAt(step.wakeAt ?? step.lease?.until ?? now) },
                ifUpdateTime: docs[i]?.updateTime ?? '',
              },
            ]
          : [],
      );
  if (writes.length === 0) return false;
  try {
    await runtime.store.commit(writes);
    return true;
  } catch (error) {
    // It is moving after all.
    if (error instanceof StoreConflict) return true;
    throw error;
  }
}

async function alertStuck(runtime: Runtime, run: RunRecord, why: string): Promise<void> {
  const { accountId, runId, workflowId, version } = run;
  const breach = { accountId, runId, workflowId, version, kind: 'stuck', breach: 'stuck' } as const;
  const title = `${workflowId} ${run.businessKey ?? runId} is stuck`;
  await raiseAlert(runtime.store, { ...breach, title, text: `The run stands still: ${why}.` }, runtime.clock.now());
}

/** A document of a run that cannot be attended: people are told once, since trying again has not helped. */
export async function alertUnattended(runtime: Runtime, path: string, error: unknown): Promise<void> {
  const [, accountId = '', collection, runId = ''] = path.split('/');
  if (collection !== 'runs' || error instanceof StoreConflict) return;
  const { docs } = await runtime.store.get([paths.run(accountId, runId)]);
  if (docs[0] === undefined) return;
  const run = runRecordSchema.parse(docs[0].data);
  if (terminalRunStatuses.has(run.status)) return;
  const message = error instanceof Error ? error.message : String(error);
  await alertStuck(runtime, run, `${path.split('/').slice(4).join(' ') || 'the run'} cannot be attended (${message})`);
}
