import { commandDocument } from '../model/client-documents.ts';
import { KilnError } from '../model/errors.ts';
import { bulkRequestSchema, jobRecordSchema } from '../model/job.ts';
import type { BulkJob } from '../model/job.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { Runtime } from '../runner/runtime.ts';
import { changeAudited } from './history.ts';
import { dueField } from './due.ts';
import { isEmptyFilter, matches, runQuery } from './run-search.ts';
import { remove, StoreConflict } from './store.ts';
import type { Write } from './store.ts';

/** The reconciler comes by once a minute, so this is also the rate. */
const TICK_MS = 60_000;

/**
 * Begins a command over many runs: all that the filter finds and that had been asked for by now. Never over everything: an empty
 * filter is refused.
 *
 * @throws KilnError `request.invalid`
 */
export async function startBulk(runtime: Runtime, accountId: string, by: string, input: unknown): Promise<{ readonly jobId: string }> {
  const request = bulkRequestSchema.parse(input);
  if (isEmptyFilter(request.filter))
    throw new KilnError('request.invalid', 'name at least one thing that the runs have in common; all runs at once is never meant');
  const now = runtime.clock.now();
  const jobId = `job-${runtime.token()}`;
  const job: BulkJob = {
    v: 1,
    accountId,
    jobId,
    kind: 'bulk',
    by,
    state: 'running',
    request,
    commanded: 0,
    repeated: 0,
    createdAt: now,
    due: dueField(jobId, now),
  };
  const text = `${by} began "${request.command}" over ${JSON.stringify(request.filter)}: ${request.reason}`;
  await changeAudited(runtime, { accountId, uid: by }, { kind: 'bulk', text, data: { jobId } }, (tx) =>
    tx.write({ op: 'create', path: paths.job(accountId, jobId), data: job }),
  );
  return { jobId };
}

/** The next runs of a job get their command. What was cut off goes on where it stood: no run gets the command twice. */
export async function attendBulk(runtime: Runtime, job: BulkJob): Promise<void> {
  const { accountId, jobId, request } = job;
  // Runs that begin while the job is under way are not meant.
  const filter = { ...request.filter, to: Math.min(request.filter.to ?? Infinity, job.createdAt + 1) };
  const { docs } = await runtime.store.query(runQuery(accountId, filter, request.rate, job.cursor));
  const meant = docs.filter((doc) => matches(runRecordSchema.parse(doc.data), filter));
  let commanded = 0;
  for (const doc of meant) if (await command(runtime, job, doc.id)) commanded += 1;
  const now = runtime.clock.now();
  const progress = { commanded: job.commanded + commanded, repeated: job.repeated + meant.length - commanded };
  const last = docs.at(-1);
  const over = last === undefined || docs.length < request.rate;
  const next = over
    ? { state: 'done', endedAt: now, due: remove }
    : { cursor: { createdAt: Number(last.data['createdAt']), runId: last.id }, due: dueField(jobId, now + TICK_MS) };
  await advance(runtime, job, { ...progress, ...next });
}

/** False when the run has it from an earlier try. */
async function command(runtime: Runtime, { accountId, jobId, by, request }: BulkJob, runId: string): Promise<boolean> {
  const { command: kind, reason, argument } = request;
  const data = commandDocument({
    accountId,
    runId,
    by,
    at: runtime.clock.now(),
    kind,
    reason,
    ...(argument === undefined ? {} : { argument }),
  });
  try {
    await runtime.store.commit([{ op: 'create', path: paths.command(accountId, runId, jobId), data }]);
    return true;
  } catch (error) {
    if (error instanceof StoreConflict) return false;
    throw error;
  }
}

/** A cancelled job stays so. */
async function advance(runtime: Runtime, { accountId, jobId }: BulkJob, data: object): Promise<void> {
  await runtime.store.transaction(async (tx) => {
    const path = paths.job(accountId, jobId);
    const { docs } = await tx.get([path]);
    if (docs[0] === undefined || jobRecordSchema.parse(docs[0].data).state !== 'running') return;
    tx.write({ op: 'update', path, data });
  });
}

/** What has been commanded stays commanded; the rest is left alone. */
export async function cancelJob(runtime: Runtime, accountId: string, jobId: string): Promise<boolean> {
  return runtime.store.transaction(async (tx) => {
    const path = paths.job(accountId, jobId);
    const { docs } = await tx.get([path]);
    if (docs[0] === undefined || jobRecordSchema.parse(docs[0].data).state !== 'running') return false;
    const end: Write = { op: 'update', path, data: { state: 'cancelled', endedAt: runtime.clock.now(), due: remove } };
    tx.write(end);
    return true;
  });
}
