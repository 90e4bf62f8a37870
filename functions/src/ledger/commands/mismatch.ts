import { paths } from '../../model/paths.ts';
import { dueField } from '../due.ts';
import { remove } from '../store.ts';
import { carryOut } from './order.ts';
import type { Order } from './order.ts';

/** The difference is accepted as it is: it leaves the exception queue. */
export async function acceptMismatch(order: Order): Promise<void> {
  const { ref, command } = order;
  await carryOut(order, (_tx, { runDoc, now }) =>
    Promise.resolve({
      result: 'The difference is accepted',
      writes: [
        { op: 'update', path: runDoc.path, data: { reconciliation: 'accepted' } },
        { op: 'update', path: paths.reconciliation(ref.accountId, ref.runId), data: { state: 'accepted', due: remove } },
        { op: 'update', path: paths.exception(ref.accountId, ref.runId), data: { state: 'accepted', by: command.by, endedAt: now } },
      ],
    }),
  );
}

/** The outcome is looked up again, for instance after somebody has put it right in the target system. */
export async function checkAgain(order: Order): Promise<void> {
  const { ref } = order;
  await carryOut(order, (_tx, { runDoc, now }) =>
    Promise.resolve({
      result: 'The outcome is looked up again',
      writes: [
        { op: 'update', path: runDoc.path, data: { reconciliation: 'pending' } },
        {
          op: 'update',
          path: paths.reconciliation(ref.accountId, ref.runId),
          data: { state: 'pending', giveUpAt: now, nextAt: now, due: dueField(ref.runId, now) },
        },
      ],
    }),
  );
}
