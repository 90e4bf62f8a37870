import { commandDocument } from '../../model/client-documents.ts';
import type { ErrorRecord } from '../../model/errors.ts';
import { KilnError, toErrorRecord } from '../../model/errors.ts';
import { paths } from '../../model/paths.ts';
import type { RunRecord } from '../../model/run.ts';
import { endRun } from '../end-run.ts';
import type { Transaction, Write } from '../store.ts';
import { argumentOf, closeWrites, stand } from './order.ts';
import type { Order } from './order.ts';

/**
 * Ends the run with everything that it waits for, and its child runs. With `{"compensate": true}` what it did is undone
 * afterwards: by a command of its own, which is created with the end, so that the one never happens without the other.
 */
export async function cancel(order: Order): Promise<void> {
  const { runtime, ref, command, commandId } = order;
  const error = toErrorRecord(new KilnError('run.cancelled', `cancelled by ${command.by}: ${command.reason}`, { data: { commandId } }));
  const compensates = wantsCompensation(order);
  await endRun(
    runtime,
    ref,
    { status: 'cancelled', error },
    {
      check: (tx, run) => mayEnd(tx, order, run, compensates),
      last: async (tx) => {
        const result = `Cancelled${compensates ? '; what it did is undone next' : ''}`;
        const closing = await closeWrites(tx, order, { result }, runtime.clock.now());
        return [...closing, ...(compensates ? [compensateNext(order)] : [])];
      },
    },
  );
}

/** A cancel that was interrupted between two of its transactions goes on, and one that others finished is closed. */
async function mayEnd(tx: Transaction, order: Order, run: RunRecord, compensates: boolean): Promise<boolean> {
  const { ref, commandId } = order;
  const { docs } = await tx.get([paths.command(ref.accountId, ref.runId, commandId)]);
  if (docs[0]?.data['status'] !== 'pending') return false;
  if (run.status === 'cancelling' && isOurs(run.ending?.error, commandId)) return true;
  if (run.status === 'cancelled' && isOurs(run.error, commandId)) {
    const closing = await closeWrites(tx, order, { result: 'Cancelled' }, order.runtime.clock.now());
    for (const write of [...closing, ...(compensates ? [compensateNext(order)] : [])]) tx.write(write);
    return false;
  }
  return (await stand(tx, order)) !== undefined;
}

function isOurs(error: Pick<ErrorRecord, 'data'> | undefined, commandId: string): boolean {
  const data = error?.data;
  return typeof data === 'object' && data !== null && 'commandId' in data && data.commandId === commandId;
}

function wantsCompensation(order: Order): boolean {
  const argument = argumentOf(order);
  return typeof argument === 'object' && argument !== null && !Array.isArray(argument) && argument['compensate'] === true;
}

function compensateNext({ runtime, ref, command, commandId }: Order): Write {
  const { by, reason } = command;
  const data = commandDocument({ ...ref, by, reason, kind: 'compensate', at: runtime.clock.now() });
  return { op: 'set', path: paths.command(ref.accountId, ref.runId, `${commandId}-compensate`), data };
}
