import { z } from 'zod';
import { defaultRetention, expiryRecordSchema, expiryStages, retentionSchema } from '../model/job.ts';
import type { ExpiryRecord, Retention } from '../model/job.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { dueField } from './due.ts';
import { deleteRun, deleteSteps, erasePayloads } from './erase-run.ts';
import { readHistory } from './history.ts';
import { StoreConflict } from './store.ts';
import type { Snapshot, Store } from './store.ts';
import type { Ledger } from './transitions.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const EXPORTED = 'exported';

export async function retentionOf(store: Pick<Store, 'get'>, accountId: string): Promise<Retention> {
  const { docs } = await store.get([paths.setting(accountId, 'retention')]);
  return docs[0] === undefined ? defaultRetention : retentionSchema.parse(docs[0].data);
}

/** Follows a run's end: notes when the first of its parts is to go. */
export async function scheduleExpiry(ledger: Ledger, run: RunRecord): Promise<void> {
  const { accountId, runId } = run;
  const endedAt = run.endedAt ?? ledger.clock.now();
  const { payloadDays } = await retentionOf(ledger.store, accountId);
  const data: ExpiryRecord = { v: 1, accountId, runId, stage: 'payloads', endedAt, due: dueField(runId, endedAt + payloadDays * DAY_MS) };
  try {
    await ledger.store.commit([{ op: 'create', path: paths.expiry(accountId, runId), data }]);
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
  }
}

/**
 * Deletes what the account no longer keeps, stage after stage, by the settings as they are now. A run that is alive is never
 * touched, nor one that a living fork still reads from, nor, where the account asks for that, one that has not been exported.
 */
export async function attendExpiry(ledger: Ledger, snapshot: Snapshot): Promise<void> {
  const expiry = expiryRecordSchema.parse(snapshot.data);
  const { accountId, runId, stage, endedAt } = expiry;
  const retention = await retentionOf(ledger.store, accountId);
  const now = ledger.clock.now();
  const at = endedAt + daysOf(retention, stage) * DAY_MS;
  const run = await readRun(ledger.store, expiry);
  if (run === undefined) return finish(ledger, snapshot);
  if (now < at) return putOff(ledger, snapshot, at);
  if (!(await mayGo(ledger.store, run, retention))) return putOff(ledger, snapshot, now + DAY_MS);
  switch (stage) {
    case 'payloads':
      await erasePayloads(ledger.store, run, now);
      break;
    case 'steps':
      await deleteSteps(ledger.store, run);
      break;
    case 'audit':
      await deleteRun(ledger.store, run);
      break;
  }
  const next = expiryStages[expiryStages.indexOf(stage) + 1];
  if (next === undefined) return finish(ledger, snapshot);
  const due = dueField(runId, Math.max(now, endedAt + daysOf(retention, next) * DAY_MS));
  await ledger.store.commit([{ op: 'update', path: snapshot.path, data: { stage: next, due } }]);
}

function daysOf({ payloadDays, runDays, auditDays }: Retention, stage: ExpiryRecord['stage']): number {
  switch (stage) {
    case 'payloads':
      return payloadDays;
    case 'steps':
      return Math.max(payloadDays, runDays);
    case 'audit':
      return Math.max(payloadDays, runDays, auditDays);
  }
}

async function mayGo(store: Store, run: RunRecord, { exportFirst }: Retention): Promise<boolean> {
  if (!terminalRunStatuses.has(run.status) || run.reconciliation === 'pending') return false;
  const { accountId, runId } = run;
  if (exportFirst && (await store.get([paths.mark(accountId, runId, EXPORTED)])).docs[0] === undefined) return false;
  const forks = (await readHistory(store, paths.historyOf(accountId, runId))).flatMap(forkedTo);
  const { docs } = forks.length === 0 ? { docs: [] } : await store.get(forks.map((fork) => paths.run(accountId, fork)));
  return docs.every((doc) => doc === undefined || terminalRunStatuses.has(runRecordSchema.parse(doc.data).status));
}

const forkSchema = z.looseObject({ forkedTo: z.string().optional() });

function forkedTo(entry: Readonly<Record<string, unknown>>): string[] {
  const parsed = typeof entry['data'] === 'string' ? forkSchema.safeParse(JSON.parse(entry['data'])) : undefined;
  return parsed?.data?.forkedTo === undefined ? [] : [parsed.data.forkedTo];
}

async function readRun(store: Store, { accountId, runId }: ExpiryRecord): Promise<RunRecord | undefined> {
  const { docs } = await store.get([paths.run(accountId, runId)]);
  return docs[0] === undefined ? undefined : runRecordSchema.parse(docs[0].data);
}

async function putOff(ledger: Ledger, { path, id }: Snapshot, at: number): Promise<void> {
  await ledger.store.commit([{ op: 'update', path, data: { due: dueField(id, at) } }]);
}

async function finish(ledger: Ledger, { path }: Snapshot): Promise<void> {
  await ledger.store.commit([{ op: 'delete', path }]);
}

/** Says that a run has been kept elsewhere. */
export async function markExported(
  store: Store,
  { accountId, runId }: { accountId: string; runId: string },
  digest: string,
  now: number,
): Promise<void> {
  await store.commit([{ op: 'set', path: paths.mark(accountId, runId, EXPORTED), data: { v: 1, digest, at: now } }]);
}
