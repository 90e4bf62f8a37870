import { z } from 'zod';
import { nextLook } from '../../engine/agenda.ts';
import { parseDate, parseDuration } from '../../engine/duration.ts';
import { agendaSchema, approvalRecordSchema } from '../../model/approval.ts';
import { KilnError } from '../../model/errors.ts';
import { paths } from '../../model/paths.ts';
import { settleApproval } from '../approvals.ts';
import { dueField } from '../due.ts';
import { stepPath } from '../steps.ts';
import type { Held } from '../steps.ts';
import type { Transaction, Write } from '../store.ts';
import { argumentOf, carryOut } from './order.ts';
import type { Carried, Order, Standing } from './order.ts';

const argumentSchema = z.union([
  z.strictObject({ by: z.union([z.string(), z.number().positive()]) }),
  z.strictObject({ until: z.union([z.string(), z.number()]) }),
]);

/** Gives the run, a request for a decision or a wait for an event more time. */
export async function extendDeadline(order: Order): Promise<void> {
  const { runtime, ref } = order;
  const parsed = argumentSchema.safeParse(argumentOf(order));
  if (!parsed.success) throw new KilnError('command.refused', 'the argument is {"by": "2d"} or {"until": "2026-12-24T18:00:00Z"}');
  const later = (before: number): number => {
    const at = 'by' in parsed.data ? before + parseDuration(parsed.data.by, 'by') : parseDate(parsed.data.until, 'until');
    if (at <= before) throw new KilnError('command.refused', `the deadline is ${iso(before)}; name a later one`);
    return at;
  };
  let approvalId: string | undefined;
  const done = await carryOut(order, async (tx, standing) => {
    const { step } = standing;
    if (step === undefined) return extendRun(order, standing, later);
    const { wait } = step.record;
    if (wait?.kind === 'approval') {
      approvalId = wait.approvalId;
      return extendApproval(order, tx, step, wait.approvalId, later);
    }
    return extendEvent(order, step, later);
  });
  // Who may decide depends on the deadline (people stand in for others for a time).
  if (done && approvalId !== undefined) await settleApproval(runtime, { accountId: ref.accountId, approvalId });
}

/** The live steps keep the old deadline; one that meets it asks the run. */
function extendRun({ ref }: Order, { run, runDoc }: Standing, later: (before: number) => number): Carried {
  const deadlineAt = later(run.deadlineAt ?? 0);
  const data = { deadlineAt, due: dueField(ref.runId, deadlineAt) };
  return { result: `The run’s deadline is now ${iso(deadlineAt)}`, writes: [{ op: 'update', path: runDoc.path, data }] };
}

async function extendApproval(
  order: Order,
  tx: Transaction,
  held: Held,
  approvalId: string,
  later: (before: number) => number,
): Promise<Carried> {
  const path = paths.approval(order.ref.accountId, approvalId);
  const { docs } = await tx.get([path]);
  if (docs[0] === undefined) throw new KilnError('command.refused', 'the request does not exist');
  const approval = approvalRecordSchema.parse(docs[0].data);
  const deadlineAt = later(approval.deadlineAt);
  const wake = await wakeWrite(order, held, nextLook(agendaSchema.parse(JSON.parse(approval.schedule)), deadlineAt));
  return {
    result: `"${approval.title}" is open until ${iso(deadlineAt)}`,
    writes: [{ op: 'update', path, data: { deadlineAt } }, wake],
    data: { approvalId },
  };
}

async function extendEvent(order: Order, held: Held, later: (before: number) => number): Promise<Carried> {
  const until = later(held.record.wakeAt ?? 0);
  return { result: `"${held.record.key}" waits until ${iso(until)}`, writes: [await wakeWrite(order, held, until)] };
}

async function wakeWrite({ runtime }: Order, held: Held, wakeAt: number): Promise<Write> {
  // Before the commit it belongs to: a ring for a wake time that was never written finds nothing due.
  await runtime.doorbells.arm(held.record, wakeAt, 0);
  const data = { wakeAt, due: dueField(held.record.runId, wakeAt) };
  return { op: 'update', path: stepPath(held.record), data, ifUpdateTime: held.updateTime };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
