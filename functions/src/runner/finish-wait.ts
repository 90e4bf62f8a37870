import { undoFailedWrites } from '../ledger/compensation.ts';
import { UNDO } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import type { Transaction, Write } from '../ledger/store.ts';
import { finishWrites } from '../ledger/transitions.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { runOutputOf } from './run-output.ts';
import type { Runtime } from './runtime.ts';
import { settledUndo } from './undo-settling.ts';

/**
 * The writes that end a waiting step from outside (an event, a decision, a child run), whichever planner the run has.
 * Reads what it needs through `tx`; the caller writes afterwards.
 */
export async function finishWait(runtime: Runtime, held: Held, outcome: string | Outcome, tx: Transaction): Promise<readonly Write[]> {
  const result: Outcome = typeof outcome === 'string' ? { kind: 'succeeded', output: outcome } : outcome;
  const { record } = held;
  if (record.kind === 'code') return runtime.code.settle(runtime, held, result, tx);
  const index = await runtime.definitions.get(record.accountId, record.workflowId, record.version);
  if (record.type === UNDO) {
    return result.kind === 'failed' ? undoFailedWrites(runtime, held, result.error, tx) : settledUndo(runtime, held, index, result, tx);
  }
  return finishWrites(runtime, held, { index, outcome: result, runOutput: runOutputOf(runtime, held, index) }, tx);
}
