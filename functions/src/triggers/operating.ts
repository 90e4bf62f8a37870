import { z } from 'zod';
import { waitingReasons } from '../engine/waiting-reason.ts';
import { acknowledgeAlert } from '../ledger/alerts.ts';
import { cancelJob, startBulk } from '../ledger/bulk.ts';
import { exportRun } from '../ledger/erase-run.ts';
import { startErasure } from '../ledger/erasure.ts';
import { changeAudited } from '../ledger/history.ts';
import { markExported, retentionOf } from '../ledger/retention.ts';
import { liveSteps } from '../ledger/runs.ts';
import { searchRuns } from '../ledger/run-search.ts';
import { approvalRecordSchema } from '../model/approval.ts';
import { KilnError } from '../model/errors.ts';
import { retentionSchema, runFilterSchema } from '../model/job.ts';
import { memberRecordSchema } from '../model/member.ts';
import { idPattern, paths } from '../model/paths.ts';
import { roles } from '../model/member.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { Operation } from './api.ts';

const cursorSchema = z.strictObject({ createdAt: z.number(), runId: z.string() });
const searchInput = z.strictObject({ filter: runFilterSchema.default({}), after: cursorSchema.optional() });
const idSchema = z.string().regex(idPattern);
const runInput = z.strictObject({ runId: idSchema });
const jobInput = z.strictObject({ jobId: idSchema });
const alertInput = z.strictObject({ alertId: idSchema });
const retentionInput = retentionSchema.omit({ v: true }).partial();

/** An answer of the callable may not be larger than this; larger runs are exported with the Firestore export. */
const EXPORT_MAX_CHARS = 9_000_000;

/** What operators and admins do about runs, beside commands. */
export const operatingOperations: Readonly<Record<string, Operation>> = {
  searchRuns: {
    roles,
    run: (runtime, actor, data) => {
      const { filter, after } = searchInput.parse(data);
      return searchRuns(runtime.store, actor.accountId, filter, after);
    },
  },
  whyWaiting: {
    roles,
    run: async (runtime, actor, data) => whyWaiting(runtime, actor.accountId, runInput.parse(data).runId),
  },
  acknowledgeAlert: {
    roles: ['operator'],
    run: async (runtime, actor, data) => ({
      acknowledged: await acknowledgeAlert(runtime.store, actor.accountId, alertInput.parse(data).alertId, actor.uid),
    }),
  },
  startBulk: { roles: ['operator'], run: (runtime, actor, data) => startBulk(runtime, actor.accountId, actor.uid, data) },
  cancelJob: {
    roles: ['operator'],
    run: async (runtime, actor, data) => ({ cancelled: await cancelJob(runtime, actor.accountId, jobInput.parse(data).jobId) }),
  },
  exportRun: {
    roles: ['operator'],
    run: async (runtime, actor, data) => {
      const ref = { accountId: actor.accountId, runId: runInput.parse(data).runId };
      const run = await readRun(runtime, ref.accountId, ref.runId);
      const exported = await exportRun(runtime.store, run);
      if (exported.text.length > EXPORT_MAX_CHARS)
        throw new KilnError('payload.too_large', 'the run is too large for one answer; use the database’s own export');
      await markExported(runtime.store, ref, exported.digest, runtime.clock.now());
      return exported;
    },
  },
  erasePerson: { roles: [], run: (runtime, actor, data) => startErasure(runtime, actor.accountId, actor.uid, data) },
  setRetention: {
    roles: [],
    run: async (runtime, actor, data) => {
      const { accountId, uid } = actor;
      const changed = Object.fromEntries(Object.entries(retentionInput.parse(data)).filter(([, value]) => value !== undefined));
      const next = retentionSchema.parse({ ...(await retentionOf(runtime.store, accountId)), ...changed });
      const text = `${uid} set how long runs are kept: ${JSON.stringify(changed)}`;
      await changeAudited(runtime, actor, { kind: 'retention', text }, (tx) =>
        tx.write({ op: 'set', path: paths.setting(accountId, 'retention'), data: next }),
      );
      return next;
    },
  },
};

async function readRun(runtime: Runtime, accountId: string, runId: string): Promise<RunRecord> {
  const { docs } = await runtime.store.get([paths.run(accountId, runId)]);
  if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${runId} does not exist`);
  return runRecordSchema.parse(docs[0].data);
}

/** The same answer that the app shows, for scripts and other systems. */
async function whyWaiting(runtime: Runtime, accountId: string, runId: string): Promise<object> {
  const run = await readRun(runtime, accountId, runId);
  const live = await runtime.store.query(liveSteps(run, 50));
  const steps = live.docs.map((doc) => stepRecordSchema.parse(doc.data));
  const approvals = await approvalsOf(runtime, steps);
  const names = await namesOf(
    runtime,
    accountId,
    [...approvals.values()].flatMap(({ eligible }) => eligible),
  );
  return { status: run.status, reasons: waitingReasons({ run, steps, approvals, nameOf: (uid) => names.get(uid) ?? uid }) };
}

async function approvalsOf(runtime: Runtime, steps: readonly StepRecord[]) {
  const wanted = steps.flatMap(({ accountId, wait }) => (wait?.kind === 'approval' ? [paths.approval(accountId, wait.approvalId)] : []));
  const { docs } = wanted.length === 0 ? { docs: [] } : await runtime.store.get(wanted);
  return new Map(docs.flatMap((doc) => (doc === undefined ? [] : [[doc.id, approvalRecordSchema.parse(doc.data)] as const])));
}

async function namesOf(runtime: Runtime, accountId: string, uids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(uids)].slice(0, 100).map((uid) => paths.member(accountId, uid));
  const { docs } = wanted.length === 0 ? { docs: [] } : await runtime.store.get(wanted);
  return new Map(docs.flatMap((doc) => (doc === undefined ? [] : [[doc.id, memberRecordSchema.parse(doc.data).name] as const])));
}
