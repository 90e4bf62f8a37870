import { placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import type { Undo } from '../engine/compensation-plan.ts';
import { parseDuration } from '../engine/duration.ts';
import { undoneWrites } from '../ledger/compensation.ts';
import type { Quiet } from '../ledger/compensation.ts';
import type { Held } from '../ledger/steps.ts';
import type { Transaction, Write } from '../ledger/store.ts';
import type { Outcome } from '../ledger/transitions.ts';
import type { StepConfig } from '../model/definition.ts';
import { DEFAULT_STEP_TIMEOUT_MS, LEASE_MARGIN_MS, MAX_STEP_TIMEOUT_MS } from './perform.ts';
import type { Runtime } from './runtime.ts';

/** The writes that end an undoing, also from outside: a decision, a child run, a person's word. */
export async function settledUndo(
  runtime: Runtime,
  held: Held,
  index: DefinitionIndex,
  outcome: Outcome,
  tx: Transaction,
): Promise<readonly Write[]> {
  return undoneWrites(runtime, held, outcome, tx, quietFor(runtime, held, index));
}

export function quietFor(runtime: Runtime, { record }: Held, index: DefinitionIndex): Quiet {
  return { at: (undo) => quietAt(index, undo), arm: (key, at) => runtime.doorbells.arm({ ...record, key }, at, 0) };
}

/** When an attempt that nobody saw the end of has certainly ended: its lease is over by then. */
function quietAt(index: DefinitionIndex, { stepId, openSince }: Undo): number {
  if (openSince === undefined) return 0;
  return openSince + undoTimeout(placeOf(index, stepId).step) + LEASE_MARGIN_MS;
}

export function undoTimeout({ timeout, type }: Pick<StepConfig, 'timeout' | 'type'>): number {
  return timeout === undefined ? DEFAULT_STEP_TIMEOUT_MS : Math.min(parseDuration(timeout, `${type}.timeout`), MAX_STEP_TIMEOUT_MS);
}
