import { canonicalJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { exceptionRecordSchema, reconciliationRecordSchema } from '../model/reconciliation.ts';
import type { ExceptionRecord, ReconciliationRecord } from '../model/reconciliation.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { alertOnce } from './alerts.ts';
import { dueField } from './due.ts';
import { HIDDEN } from './sensitive.ts';
import { remove, StoreConflict } from './store.ts';
import type { Transaction, Write } from './store.ts';
import type { Ledger } from './transitions.ts';

/** How much of each side is kept for people; the run's output lies with the run. */
const SHOWN_CHARS = 50_000;
const NIGHT_MS = 24 * 60 * 60_000;
/** A nightly check goes on for so long after the run. */
const NIGHTS_MS = 30 * NIGHT_MS;

export interface Schedule {
  readonly afterMs: number;
  readonly retryEveryMs: number;
  readonly giveUpAfterMs: number;
  readonly nightly: boolean;
}

/** A completed run is to be checked: its document and the run's mark are one commit. Doing it again changes nothing. */
export async function openReconciliation(ledger: Ledger, run: RunRecord, schedule: Schedule): Promise<void> {
  const { accountId, runId, workflowId, version } = run;
  const now = ledger.clock.now();
  const at = (run.endedAt ?? now) + schedule.afterMs;
  const record: ReconciliationRecord = {
    v: 1,
    accountId,
    runId,
    workflowId,
    version,
    state: 'pending',
    attempt: 0,
    giveUpAt: at + schedule.giveUpAfterMs,
    nextAt: at,
    due: dueField(runId, at),
  };
  try {
    await ledger.store.commit([
      { op: 'create', path: paths.reconciliation(accountId, runId), data: record },
      { op: 'update', path: paths.run(accountId, runId), data: { reconciliation: 'pending' } },
    ]);
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
  }
}

/** A check that is ours to make; undefined when none is due, or somebody else makes it. */
export async function claimCheck(
  ledger: Ledger,
  accountId: string,
  runId: string,
  leaseMs: number,
): Promise<ReconciliationRecord | undefined> {
  const path = paths.reconciliation(accountId, runId);
  const { docs } = await ledger.store.get([path]);
  if (docs[0] === undefined) return undefined;
  const record = reconciliationRecordSchema.parse(docs[0].data);
  const now = ledger.clock.now();
  const open = record.state === 'pending' || (record.state === 'reconciled' && record.nextAt !== undefined);
  if (!open || now < (record.nextAt ?? 0) || now < (record.leaseUntil ?? 0)) return undefined;
  const leaseUntil = now + leaseMs;
  const taken = { attempt: record.attempt + 1, leaseUntil, due: dueField(runId, leaseUntil) };
  try {
    await ledger.store.commit([{ op: 'update', path, data: taken, ifUpdateTime: docs[0].updateTime }]);
    return { ...record, ...taken };
  } catch (error) {
    if (error instanceof StoreConflict) return undefined;
    throw error;
  }
}

/** What a check came to. */
export type Finding =
  | { readonly kind: 'agrees'; readonly found: Json }
  | { readonly kind: 'differs'; readonly found: Json }
  | { readonly kind: 'unknown'; readonly error: ErrorRecord };

export interface Checked {
  readonly record: ReconciliationRecord;
  readonly finding: Finding;
  /** What the run did, for the person who compares. */
  readonly expected: Json;
  /** The condition, in words of the definition. */
  readonly expect: string;
  readonly schedule: Schedule;
  /** What a sensitive check found is compared, and shown to nobody. */
  readonly sensitive: boolean;
  /** So is what the run says of its outcome. */
  readonly hidesOutput: boolean;
}

/** Where the run stands after a check, if that is final for now. */
export type Verdict = 'reconciled' | 'mismatch' | undefined;

/**
 * Records a check: the run is reconciled; or it is checked again later; or the difference goes to a person. `also` is told where
 * the run stands when that is news.
 */
export async function recordCheck(
  ledger: Ledger,
  checked: Checked,
  also: (tx: Transaction, verdict: Verdict) => Promise<readonly Write[]> = () => Promise.resolve([]),
): Promise<Verdict> {
  const { accountId, runId } = checked.record;
  return ledger.store.transaction(async (tx) => {
    const wanted = [paths.reconciliation(accountId, runId), paths.run(accountId, runId), paths.exception(accountId, runId)];
    const { docs } = await tx.get(wanted);
    if (docs[0] === undefined || docs[1] === undefined) return undefined;
    const record = reconciliationRecordSchema.parse(docs[0].data);
    // Accepted meanwhile, or somebody else's attempt by now: this one is late.
    if (record.attempt !== checked.record.attempt || record.state === 'accepted' || record.state === 'mismatch') return undefined;
    const run = runRecordSchema.parse(docs[1].data);
    const exception = docs[2] === undefined ? undefined : exceptionRecordSchema.parse(docs[2].data);
    const now = ledger.clock.now();
    const { verdict, writes } = outcomeOf(checked, record, now);
    const told = verdict === 'mismatch' ? await alertOnce(tx, breachOf(run, checked), now) : [];
    const more = [
      ...queueWrites(checked, verdict, exception, now),
      ...told,
      ...(await also(tx, verdict === run.reconciliation ? undefined : verdict)),
    ];
    const mark: Write[] =
      verdict === undefined ? [] : [{ op: 'update', path: paths.run(accountId, runId), data: { reconciliation: verdict } }];
    for (const write of [...writes, ...mark, ...more]) tx.write(write);
    return verdict;
  });
}

function outcomeOf(
  { finding, schedule, sensitive }: Checked,
  record: ReconciliationRecord,
  now: number,
): { verdict: Verdict; writes: readonly Write[] } {
  const path = paths.reconciliation(record.accountId, record.runId);
  const seen = {
    checkedAt: now,
    leaseUntil: remove,
    ...(finding.kind === 'unknown' ? { error: finding.error } : { found: shown(finding.found, sensitive), error: remove }),
  };
  const again = (at: number): object => ({ nextAt: at, due: dueField(record.runId, at) });
  const over = { nextAt: remove, due: remove };
  if (finding.kind === 'agrees') {
    const next = now + NIGHT_MS;
    const nightly = schedule.nightly && next < record.giveUpAt + NIGHTS_MS;
    return {
      verdict: 'reconciled',
      writes: [{ op: 'update', path, data: { ...seen, state: 'reconciled', ...(nightly ? again(next) : over) } }],
    };
  }
  const next = now + schedule.retryEveryMs;
  if (next <= record.giveUpAt) return { verdict: undefined, writes: [{ op: 'update', path, data: { ...seen, ...again(next) } }] };
  return { verdict: 'mismatch', writes: [{ op: 'update', path, data: { ...seen, state: 'mismatch', ...over } }] };
}

/** The exception queue: both sides for a person to compare. It is left when the systems agree again. */
function queueWrites(checked: Checked, verdict: Verdict, before: ExceptionRecord | undefined, now: number): readonly Write[] {
  const { record, finding, expected, expect, sensitive, hidesOutput } = checked;
  const path = paths.exception(record.accountId, record.runId);
  if (verdict === 'reconciled')
    return before?.state === 'open' && before.kind === 'mismatch' ? [{ op: 'update', path, data: { state: 'fixed', endedAt: now } }] : [];
  if (verdict !== 'mismatch') return [];
  const data: ExceptionRecord = {
    v: 1,
    accountId: record.accountId,
    id: record.runId,
    kind: 'mismatch',
    runId: record.runId,
    workflowId: record.workflowId,
    text: textOf(finding, expect),
    expected: shown(expected, hidesOutput),
    ...(finding.kind === 'unknown' ? {} : { found: shown(finding.found, sensitive) }),
    state: 'open',
    openedAt: now,
  };
  return [{ op: 'set', path, data }];
}

function breachOf(run: RunRecord, { record, finding, expect }: Checked): Parameters<typeof alertOnce>[1] {
  const { accountId, runId, workflowId, version } = run;
  return {
    accountId,
    runId,
    workflowId,
    version,
    kind: 'mismatch',
    breach: `check ${record.attempt}`,
    title: `The outcome of ${workflowId} differs in the target system`,
    text: textOf(finding, expect),
  };
}

function textOf(finding: Finding, expect: string): string {
  return finding.kind === 'unknown'
    ? `The outcome could not be looked up: ${finding.error.message}`
    : `The target system shows something else than the run did; "${expect}" does not hold`;
}

function shown(value: Json, sensitive = false): string {
  if (sensitive) return canonicalJson(HIDDEN);
  const text = canonicalJson(value);
  return text.length <= SHOWN_CHARS ? text : canonicalJson(`${text.slice(0, SHOWN_CHARS)}…`);
}
