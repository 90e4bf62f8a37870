import { z } from 'zod';
import { canonicalJson } from '../engine/json.ts';
import { KilnError } from '../model/errors.ts';
import { idPattern, paths } from '../model/paths.ts';
import { exceptionRecordSchema } from '../model/reconciliation.ts';
import type { ExceptionRecord } from '../model/reconciliation.ts';
import type { RunRecord } from '../model/run.ts';
import { raiseAlert } from './alerts.ts';
import { appendAudit } from './history.ts';
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

export const settleExceptionInput = z.strictObject({
  id: z.string().regex(idPattern),
  state: z.enum(['accepted', 'fixed']),
  reason: z.string().min(1).max(2_000),
});

/** A person has dealt with a business exception. A difference has commands of its own, since the run knows about it. */
export async function settleException(
  ledger: Ledger,
  actor: { readonly accountId: string; readonly uid: string },
  { id, state, reason }: z.infer<typeof settleExceptionInput>,
): Promise<void> {
  const path = paths.exception(actor.accountId, id);
  await ledger.store.transaction(async (tx) => {
    const { docs } = await tx.get([path]);
    if (docs[0] === undefined) throw new KilnError('request.invalid', 'there is no such exception in this account');
    const exception = exceptionRecordSchema.parse(docs[0].data);
    if (exception.kind === 'mismatch')
      throw new KilnError('request.invalid', 'accept the difference, or have it looked up again, by a command to its run');
    if (exception.state !== 'open') throw new KilnError('request.invalid', `${exception.by ?? 'somebody'} has settled it already`);
    const now = ledger.clock.now();
    const text = `${actor.uid} settled the exception of run ${exception.runId} (${state}): ${reason}`;
    const audit = await appendAudit(tx, actor.accountId, [{ kind: 'exception_settled', by: actor.uid, text, data: { id, state } }], now);
    tx.write({ op: 'update', path, data: { state, by: actor.uid, endedAt: now } });
    for (const write of audit) tx.write(write);
  });
}
