import { canonicalJson } from '../engine/json.ts';
import { heldStep, stepPath } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreConflict, StoreRefusal } from '../ledger/store.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { activeLimit } from '../runner/guards.ts';
import { claimStep, LEASE_MARGIN_MS } from '../runner/perform.ts';
import type { Runtime } from '../runner/runtime.ts';
import { recordOutcome, timeoutOf } from './attempt.ts';
import { decodeBaton } from './baton.ts';
import type { Work } from './call.ts';
import { stepErrorRecord } from './errors.ts';
import type { Ready, Replayer } from './replayer.ts';
import { CollectingTransaction } from './step-transaction.ts';
import { commitOutcome } from './turns.ts';

/** What the team's function threw, on its way out of the transaction. */
class FunctionThrew extends Error {
  readonly record: ErrorRecord;

  constructor(record: ErrorRecord) {
    super(record.message);
    this.record = record;
  }
}

/**
 * Runs the team's function and commits its writes, the step's result and the next step together. Nothing is claimed: the step's own
 * state is the fence, and an attempt that dies has written nothing.
 */
export async function performTransaction(
  replayer: Replayer,
  runtime: Runtime,
  held: Held,
  ready: Ready,
  work: Extract<Work, { kind: 'transaction' }>,
): Promise<void> {
  const timeoutMs = timeoutOf(work.options, activeLimit(ready.execution.workflow) - held.record.activeMs);
  // In `journal/head` the journal may have moved on; an execution that was handed a result cannot be handed another.
  let unused = decodeBaton(held.record).at === 'here' ? ready : undefined;
  try {
    await runtime.store.transaction(async (tx) => {
      // Sent twice by the client library, or overtaken by another: the writes belong to the step as it was held, and to no other.
      const { docs } = await tx.get([stepPath(held.record)]);
      if (docs[0]?.updateTime !== held.updateTime) throw new StoreConflict(`"${held.record.key}" has gone on`);
      const own = new CollectingTransaction(tx);
      const output = await outputOf(runtime, replayer.functionOf(held.record, work.fn), own, timeoutMs);
      const mine = unused;
      unused = undefined;
      const writes = await replayer.outcomeWrites(runtime, [{ held, outcome: { kind: 'succeeded', output } }], tx, mine);
      for (const write of [...own.writes, ...writes]) tx.write(write);
    });
  } catch (error) {
    const record = await failureOf(runtime, held, error);
    // Only a failure is worth a claim: it counts the attempt and fences what follows.
    const claimed = await claimStep(runtime, held, LEASE_MARGIN_MS, undefined);
    await recordOutcome(runtime, claimed, { kind: 'error', error: record }, (now, outcome) =>
      commitOutcome(replayer, runtime, { held: now, outcome }),
    );
  }
}

async function outputOf(
  runtime: Runtime,
  fn: (tx: CollectingTransaction) => unknown,
  own: CollectingTransaction,
  timeoutMs: number,
): Promise<string> {
  try {
    return canonicalJson(
      await runtime.limitTime(
        timeoutMs,
        async () => fn(own),
        () => Promise.resolve(true),
      ),
    );
  } catch (error) {
    throw new FunctionThrew(stepErrorRecord(error, runtime.clock.now()));
  }
}

/** Whose failure it is: the function's, the data's, or that of a step which somebody else moved. */
async function failureOf(runtime: Runtime, held: Held, error: unknown): Promise<ErrorRecord> {
  if (error instanceof FunctionThrew) return error.record;
  if (error instanceof StoreRefusal)
    return toErrorRecord(new KilnError('payload.unsupported', `the database refused the writes: ${error.message}`));
  if (!(error instanceof StoreConflict)) throw error;
  const { docs } = await runtime.store.get([stepPath(held.record)]);
  const now = docs[0] === undefined ? undefined : heldStep(docs[0]);
  if (now?.updateTime !== held.updateTime) throw error;
  return {
    code: 'step.failed',
    class: 'retryable',
    message: `the writes could not be committed: ${error.message}. A document that "create" names exists already, one that "update" names does not, or others write the same documents`,
  };
}
