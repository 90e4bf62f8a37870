import { endRun } from '../ledger/end-run.ts';
import type { Held } from '../ledger/steps.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { Replayer } from './replayer.ts';
import { turnWrites } from './turn.ts';

/** A limit of the run was reached: it ends, whatever its code would do next, and compensates if it has what to undo. */
export async function endByGuard(replayer: Replayer, runtime: Runtime, held: Held, error: ErrorRecord): Promise<void> {
  const diverged = await runtime.store.transaction(async (tx) => {
    const { opened, execution } = await replayer.ready(runtime, tx, held);
    if (execution.divergence !== undefined) return true;
    execution.fault = error;
    const ended = [{ held, outcome: { kind: 'failed', error } as const }];
    for (const write of await turnWrites({ runtime, opened, execution, from: held.record, ended, reader: tx })) tx.write(write);
    return false;
  });
  if (diverged) await endRun(runtime, held.record, { status: 'failed', error, failedStep: held.record.key });
}
