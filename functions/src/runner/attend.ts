import { dueOf } from '../engine/due.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { decideAfterFailure, retryPolicySchema } from '../engine/retry.ts';
import { placeOf } from '../engine/definition-index.ts';
import { stateFault } from '../ledger/business-states.ts';
import { endRun } from '../ledger/end-run.ts';
import { matchBufferedEvent } from '../ledger/events.ts';
import { COMPENSATE, heldStep, UNDO } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreConflict } from '../ledger/store.ts';
import { finish, leaveUnresolved, loseAttempt } from '../ledger/transitions.ts';
import { BusinessException, KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { StepRef } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import { beginCondition, beginJoin, beginLoop, beginParallel } from './containers.ts';
import { guarded } from './guards.ts';
import { performAttempt } from './perform.ts';
import { RUN_KEY } from './queue.ts';
import { attendRun } from './runs.ts';
import { runOutputOf } from './run-output.ts';
import type { Runtime } from './runtime.ts';
import { failedStatus } from './runs.ts';
import { beginCompensate, beginUndo, undoLost } from './undo.ts';
import { beginCompute, beginWait, wakeWait } from './waiting.ts';

/** Who called: only a doorbell arms another ring, only a trigger brings a snapshot. */
export type Caller =
  | { readonly kind: 'trigger'; readonly held?: Held }
  | { readonly kind: 'doorbell'; readonly hop: number }
  | { readonly kind: 'reconciler' };

/** A transition that lost its fence looks again; after this many times somebody else is making progress. */
const LOOKS = 5;

const AHEAD_MS = 2_000;
const AHEAD_HOPS = 3;

/**
 * The one entry point of triggers, doorbells and the reconciler: looks at the step as it is now and does the one thing that is
 * due, or nothing. Calling it twice, late or for nothing is harmless.
 */
export async function attend(runtime: Runtime, ref: StepRef, caller: Caller): Promise<void> {
  if (await runtime.control.halted()) return;
  if (ref.key === RUN_KEY) return attendRun(runtime, ref);
  let held = caller.kind === 'trigger' ? caller.held : undefined;
  for (let look = 0; look < LOOKS; look += 1) {
    held ??= await readStep(runtime, ref);
    if (look === 0 && caller.kind === 'doorbell') await ringAgainIfAhead(runtime, ref, held, caller.hop);
    if (held === undefined) return;
    try {
      await act(runtime, held, caller);
      return;
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      held = undefined;
    }
  }
}

/**
 * Armed before the commit that it belongs to, a short doorbell may ring before it: nothing waits yet, and what begins to wait would
 * find the name used. So the ring comes again, under a fresh name.
 */
async function ringAgainIfAhead(runtime: Runtime, ref: StepRef, held: Held | undefined, hop: number): Promise<void> {
  const ahead = held === undefined || held.record.state === 'ready';
  if (ahead && hop < AHEAD_HOPS) await runtime.doorbells.arm(ref, runtime.clock.now() + AHEAD_MS, hop + 1);
}

export async function readStep(runtime: Runtime, ref: StepRef): Promise<Held | undefined> {
  const { docs } = await runtime.store.get([paths.step(ref.accountId, ref.runId, ref.key)]);
  return docs[0] === undefined ? undefined : heldStep(docs[0]);
}

async function act(runtime: Runtime, held: Held, caller: Caller): Promise<void> {
  const due = dueOf(held.record, runtime.clock.now());
  switch (due.kind) {
    case 'nothing':
      return;
    case 'early':
      if (caller.kind === 'doorbell') await runtime.doorbells.arm(held.record, due.at, freshHop(caller));
      // Called again although it waits: whoever let it wait may have died before looking for the events that came before it.
      else if (held.record.wait?.kind === 'event') await matchBufferedEvent(runtime, held.record, held.record.wait.waitId);
      return;
    case 'begin':
      return begin(runtime, held);
    case 'lost':
      return attemptLost(runtime, held, freshHop(caller));
    case 'wake': {
      const again = held.record.wait?.kind === 'retry' || held.record.wait?.kind === 'slot';
      return again ? begin(runtime, held) : wake(runtime, held);
    }
  }
}

/** The name of the ring that has called is used up; whoever armed it may have died before the commit that it belonged to. */
function freshHop(caller: Caller): number {
  return caller.kind === 'doorbell' ? caller.hop + 1 : 0;
}

async function begin(runtime: Runtime, step: Held): Promise<void> {
  const { record } = step;
  if (record.kind === 'code') return runtime.code.begin(runtime, step);
  const index = await runtime.definitions.get(record.accountId, record.workflowId, record.version);
  if (record.type === COMPENSATE) return beginCompensate(runtime, step, index);
  if (record.type === UNDO) return beginUndo(runtime, step, index);
  const { held, guard } = await guarded(runtime, step, index.definition);
  if (guard !== undefined) {
    await endRun(runtime, record, { status: failedStatus(index.definition), error: guard, failedStep: record.key });
    return;
  }
  if (record.type === '$join') return beginJoin(runtime, held, index);
  try {
    await checkState(runtime, held, index);
    await beginType(runtime, held, index);
  } catch (error) {
    const expected = error instanceof BusinessException || (error instanceof KilnError && error.code !== 'internal');
    if (!expected) throw error;
    const outcome = { kind: 'failed', error: toErrorRecord(error) } as const;
    await finish(runtime, held, { index, outcome, runOutput: runOutputOf(runtime, held, index) });
  }
}

/** A step whose end sets a business state does nothing when the run cannot enter it. One read, for such steps only. */
async function checkState(runtime: Runtime, { record }: Held, index: DefinitionIndex): Promise<void> {
  const { states } = index.definition;
  const { setsState } = placeOf(index, record.stepId).step;
  if (states === undefined || setsState === undefined) return;
  const { docs } = await runtime.store.get([paths.run(record.accountId, record.runId)]);
  const fault = docs[0] === undefined ? undefined : stateFault(states, runRecordSchema.parse(docs[0].data), setsState);
  if (fault !== undefined) throw fault;
}

async function beginType(runtime: Runtime, held: Held, index: DefinitionIndex): Promise<void> {
  const { record } = held;
  switch (record.type) {
    case 'condition':
      return beginCondition(runtime, held, index);
    case 'loop':
      return beginLoop(runtime, held, index);
    case 'parallel':
      return beginParallel(runtime, held, index);
    default: {
      const type = runtime.stepTypes.get(record.type);
      if (type.kind === 'effect') return performAttempt(runtime, held, index, type);
      return type.kind === 'compute' ? beginCompute(runtime, held, index, type) : beginWait(runtime, held, index, type);
    }
  }
}

async function wake(runtime: Runtime, held: Held): Promise<void> {
  if (held.record.kind === 'code') return runtime.code.begin(runtime, held);
  const index = await runtime.definitions.get(held.record.accountId, held.record.workflowId, held.record.version);
  await wakeWait(runtime, held, index);
}

/** The lease ran out. What happened to the attempt nobody knows; what to do depends on whether repeating is harmless. */
async function attemptLost(runtime: Runtime, held: Held, hop: number): Promise<void> {
  const { record } = held;
  runtime.observe({ kind: 'attempt_lost', step: record });
  const index = record.kind === 'graph' ? await runtime.definitions.get(record.accountId, record.workflowId, record.version) : undefined;
  if (index !== undefined && record.type === UNDO) return undoLost(runtime, held, index, lostError(record.attempt));
  const step = index === undefined ? undefined : placeOf(index, record.stepId).step;
  const idempotent = index === undefined ? runtime.code.idempotent(record) : (step?.idempotent ?? isIdempotent(runtime, record.type, step));
  const policy = retryPolicySchema.parse(index === undefined ? runtime.code.retry(record) : (step?.retry ?? {}));
  const error = lostError(record.attempt);
  // With a way to look it up, the next attempt begins by looking.
  const settlesItself = idempotent || step?.confirm !== undefined;
  if (!settlesItself) return leaveUnresolved(runtime, held, error);
  const decision = decideAfterFailure({
    error: { ...error, class: 'retryable' },
    attempt: record.attempt,
    policy,
    idempotent: settlesItself,
    random: runtime.random,
  });
  if (decision.kind !== 'retry') {
    if (!idempotent) return leaveUnresolved(runtime, held, error);
    const exceeded = toErrorRecord(
      new KilnError('step.exceeds_limit', `${record.attempt} attempts of "${record.key}" ended without an answer`),
    );
    if (index === undefined) return runtime.code.fail(runtime, held, exceeded);
    const outcome = { kind: 'failed', error: exceeded } as const;
    return finish(runtime, held, { index, outcome, runOutput: runOutputOf(runtime, held, index) });
  }
  const at = runtime.clock.now() + decision.delayMs;
  await runtime.doorbells.arm(record, at, hop);
  await loseAttempt(runtime, held, error, at);
}

function isIdempotent(runtime: Runtime, type: string, step: object | undefined): boolean {
  const known = runtime.stepTypes.get(type);
  return known.kind === 'effect' && (known.isIdempotent?.(step ?? {}, runtime.services) ?? known.idempotent);
}

function lostError(attempt: number): ErrorRecord {
  return toErrorRecord(new KilnError('step.lost', `attempt ${attempt} ended without an answer: its process died or was too slow`));
}
