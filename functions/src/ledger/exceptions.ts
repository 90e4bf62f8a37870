import { canonicalJson } from '../engine/json.ts';
import { paths } from '../model/paths.ts';
import type { ExceptionRecord } from '../model/reconciliation.ts';
import type { RunRecord } from '../model/run.ts';
import { raiseAlert } from './alerts.ts';
import { StoreConflict } from './store.ts';
import type { Ledger } from './transitions.ts';

const SHOWN_CHARS = 50_000;

/** A run that ended by a business exception nobody handled goes to the exception queue: a person decides what becomes of it. */
export async function queueBusinessException(ledger: Ledger, run: RunRecord): Promise<void> {
  const { accountId, runId, workflowId, error, status } = run;
  const failed = status === 'failed' || status === 'compensated';
  if (!failed || error?.class !== 'business') return;
  const data = error.data === undefined ? undefined : canonicalJson(error.data);
  const record: ExceptionRecord = {
    v: 1,
    accountId,
    id: runId,
    kind: 'business',
    runId,
    workflowId,
    code: error.code,
    text: error.message,
    ...(data === undefined || data.length > SHOWN_CHARS ? {} : { found: data }),
    state: 'open',
    openedAt: run.endedAt ?? ledger.clock.now(),
  };
  try {
    await ledger.store.commit([{ op: 'create', path: paths.exception(accountId, runId), data: record }]);
  } catch (conflict) {
    if (!(conflict instanceof StoreConflict)) throw conflict;
  }
}

/** Tells people that a run failed, where its workflow asks for it. */
export async function alertFailure(ledger: Ledger, run: RunRecord, asked: boolean): Promise<void> {
  if (!asked || run.status !== 'failed') return;
  const { accountId, runId, workflowId, version, error } = run;
  const stepKey = error?.stepKey === undefined || error.stepKey === '' ? {} : { stepKey: error.stepKey };
  const breach = { accountId, runId, workflowId, version, kind: 'failed', breach: 'failed', ...stepKey } as const;
  const title = `${workflowId} ${run.businessKey ?? runId} has failed`;
  await raiseAlert(ledger.store, { ...breach, title, text: error?.message ?? 'The run has failed.' }, ledger.clock.now());
}
