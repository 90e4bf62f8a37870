import { commandRecordSchema } from '../model/command.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import { cancel } from './commands/cancel.ts';
import { compensate } from './commands/compensate.ts';
import { extendDeadline } from './commands/deadlines.ts';
import { fork, retryRun } from './commands/fork.ts';
import { setGate } from './commands/gate.ts';
import { acceptMismatch, checkAgain } from './commands/mismatch.ts';
import { refuse } from './commands/order.ts';
import type { Order } from './commands/order.ts';
import { overrideWait, resolveStep, retryStep, skipStep } from './commands/steps.ts';

/**
 * Carries out what an operator asked. What a command does and its answer are one commit: attended twice, or after its answer got
 * lost, it neither happens again nor says that it did not happen.
 */
export async function attendCommand(runtime: Runtime, ref: RunRef, commandId: string): Promise<void> {
  const path = paths.command(ref.accountId, ref.runId, commandId);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) return;
  const command = commandRecordSchema.parse(docs[0].data);
  if (command.status !== 'pending') return;
  const order = { runtime, ref, commandId, command };
  try {
    await dispatch(order);
  } catch (thrown) {
    if (!(thrown instanceof KilnError) || thrown.code === 'internal') throw thrown;
    await refuse(order, toErrorRecord(thrown).message);
  }
}

function dispatch(order: Order): Promise<void> {
  switch (order.command.kind) {
    case 'pause':
      return setGate(order, 'paused');
    case 'resume':
      return setGate(order, 'open');
    case 'cancel':
      return cancel(order);
    case 'retry':
      return retry(order);
    case 'skip':
      return skipStep(order);
    case 'override_wait':
      return overrideWait(order);
    case 'extend_deadline':
      return extendDeadline(order);
    case 'resolve':
      return resolveStep(order);
    case 'compensate':
      return compensate(order);
    case 'fork':
      return fork(order);
    case 'accept_mismatch':
      return acceptMismatch(order);
  }
}

/** A live step is tried again; a failed run goes on in a new one; a completed one has its outcome checked again. */
async function retry(order: Order): Promise<void> {
  const { docs } = await order.runtime.store.get([paths.run(order.ref.accountId, order.ref.runId)]);
  switch (docs[0]?.data['status']) {
    case 'failed':
      return retryRun(order);
    case 'completed':
      return checkAgain(order);
    default:
      return retryStep(order);
  }
}
