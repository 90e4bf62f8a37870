import { KilnError } from '../../model/errors.ts';
import { paths } from '../../model/paths.ts';
import { runRecordSchema } from '../../model/run.ts';
import { readPlan } from '../compensation.ts';
import { COMPENSATE, createCompensation } from '../steps.ts';
import { remove } from '../store.ts';
import type { Write } from '../store.ts';
import { carryOut } from './order.ts';
import type { Order } from './order.ts';

/** Undoes what a run that has ended did: the one change that an ended run still takes. */
export async function compensate(order: Order): Promise<void> {
  const { runtime, ref } = order;
  const { docs } = await runtime.store.get([paths.run(ref.accountId, ref.runId)]);
  const before = docs[0] === undefined ? undefined : runRecordSchema.parse(docs[0].data);
  if (before === undefined) throw new KilnError('run.not_found', `run ${ref.runId} does not exist`);
  if (before.kind === 'code') return compensateCode(order);
  const index = await runtime.definitions.get(ref.accountId, before.workflowId, before.version);
  // The steps of an ended run do not change, so the plan that is made here is the one that is made later.
  const plan = await readPlan(runtime.store, ref, index);
  await carryOut(order, async (tx, { run, runDoc, now }) => {
    const planned = await tx.get([paths.step(ref.accountId, ref.runId, COMPENSATE)]);
    if (planned.docs[0] !== undefined) throw new KilnError('command.refused', 'what the run did has been undone as far as it could be');
    if (plan.length === 0) throw new KilnError('command.refused', 'the run did nothing that says how it is undone');
    const from = { ...run, key: '', gate: 'open' as const };
    const update: Write = { op: 'update', path: runDoc.path, data: { status: 'compensating', endedAt: remove, due: remove } };
    return { result: `${plan.length} effect(s) are undone, the latest first`, writes: [update, createCompensation(from, 0, now)] };
  });
}

/** A code run says itself how it is undone. */
async function compensateCode(order: Order): Promise<void> {
  await carryOut(order, async (tx, { run }) => ({
    result: 'What the run did is undone, the latest first',
    writes: await order.runtime.code.compensate(order.runtime, run, tx),
  }));
}
