import { nextAfter, nextAfterFailure } from '../engine/graph-planner.ts';
import type { Continuation, Next } from '../engine/graph-planner.ts';
import { placeOf } from '../engine/definition-index.ts';
import { didNothing } from '../engine/harmless.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import type { Definition } from '../model/definition.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { Attempt, StepRecord, Wait } from '../model/step.ts';
import { alertWrites } from './alerts.ts';
import { activeTime, closeAttempt } from './attempts.ts';
import { enterState } from './business-states.ts';
import type { Breach } from './alerts.ts';
import type { DatabaseClock } from './clock.ts';
import { effectDoubtWrites, effectEndWrites } from './effects.ts';
import { countLane, joinEarly } from './joins.ts';
import { dueField } from './due.ts';
import { storePayload } from './payloads.ts';
import type { StoredPayload } from './payloads.ts';
import { completeRunWrites, failRunWrites } from './runs.ts';
import { guardOf, outputGuard, shownEnd, shownError } from './sensitive.ts';
import { createNext, stepPath } from './steps.ts';
import type { Held, Inherited } from './steps.ts';
import { remove, StoreConflict } from './store.ts';
import type { CommitResult, Reader, Store, Transaction, Write } from './store.ts';

/** Attempts kept on a step document; older ones are dropped, the count stays in `attempt`. */
const ATTEMPTS_KEPT = 25;

export interface Ledger {
  readonly store: Store;
  readonly clock: DatabaseClock;
}

export type Outcome =
  | (Leavings & { readonly kind: 'succeeded'; readonly output: string })
  | (Leavings & { readonly kind: 'failed'; readonly error: ErrorRecord; readonly output?: string });

interface Leavings {
  readonly details?: string;
  /** Documents that come into being with the end, in the same commit. */
  readonly also?: readonly Write[];
}

export interface ClaimOptions {
  readonly token: string;
  readonly leaseMs: number;
  readonly input?: string;
  /** The effect that was claimed for this attempt. */
  readonly effect?: string;
}

/** Takes a step for one attempt. One write; the returned hold fences the result. */
export async function claim(ledger: Ledger, held: Held, options: ClaimOptions): Promise<Held> {
  const now = ledger.clock.now();
  const { record } = held;
  const attempt: Attempt = { n: record.attempt + 1, startedAt: now };
  const stored = options.input === undefined ? undefined : storePayload(record, `${record.key}~input`, options.input, guardOf(record));
  const patch = {
    state: 'running',
    attempt: attempt.n,
    attempts: [...record.attempts, attempt].slice(-ATTEMPTS_KEPT),
    lease: { token: options.token, until: now + options.leaseMs },
    due: dueField(record.runId, now + options.leaseMs),
    ...(record.startedAt === undefined ? { startedAt: now } : {}),
    ...(stored === undefined ? {} : { input: stored.payload }),
    ...(options.effect === undefined ? {} : { effect: options.effect }),
  } as const;
  const gone = {
    ...(record.wait === undefined ? {} : { wait: remove, wakeAt: remove }),
    ...(record.progress === undefined ? {} : { progress: remove }),
  };
  const result = await ledger.store.commit([
    { op: 'update', path: stepPath(record), data: { ...patch, ...gone }, ifUpdateTime: held.updateTime },
    ...(stored?.writes ?? []),
  ]);
  const { wait: _wait, wakeAt: _wakeAt, progress: _progress, ...kept } = record;
  return { record: { ...kept, ...patch }, updateTime: result.updateTime };
}

/** Lets a step wait, with the documents that it waits for, in one commit. */
export function suspend(ledger: Ledger, held: Held, options: SuspendOptions): Promise<CommitResult> {
  return ledger.store.commit(suspendWrites(ledger, held, options));
}

export interface SuspendOptions {
  readonly wait: Wait;
  readonly wakeAt?: number;
  /** The attempt failed; the step begins again later. */
  readonly error?: ErrorRecord;
  /** The attempt is over, though its step is not: what it waits for is no active time. */
  readonly attemptOver?: boolean;
  readonly input?: string;
  readonly details?: string;
  readonly also?: readonly Write[];
}

export function suspendWrites(ledger: Ledger, held: Held, options: SuspendOptions): readonly Write[] {
  const now = ledger.clock.now();
  const { record } = held;
  const stored = options.input === undefined ? undefined : storePayload(record, `${record.key}~input`, options.input, guardOf(record));
  const failure = options.error === undefined ? undefined : shownError(record, options.error);
  // Until the next attempt, others may bring the effect about.
  const givesBack = record.effect !== undefined && options.error !== undefined && didNothing(options.error);
  const data = {
    state: 'waiting',
    wait: options.wait,
    wakeAt: options.wakeAt ?? remove,
    due: options.wakeAt === undefined ? remove : dueOnWaking(record, options.wait, options.wakeAt),
    lease: remove,
    ...(record.startedAt === undefined ? { startedAt: now } : {}),
    ...(record.progress === undefined ? {} : { progress: remove }),
    ...(stored === undefined ? {} : { input: stored.payload }),
    ...(options.details === undefined ? {} : { details: options.details }),
    ...(failure === undefined
      ? {}
      : { error: failure.error, attempts: closeAttempt(record, now, 'failed', failure.error, options.wakeAt) }),
    ...(options.attemptOver === true ? { attempts: closeAttempt(record, now, 'succeeded') } : {}),
    ...(givesBack ? { effect: remove } : {}),
  };
  return [
    { op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime },
    ...(givesBack ? effectEndWrites(record, { error: options.error }, now) : []),
    ...(stored?.writes ?? []),
    ...(failure?.writes ?? []),
    ...(options.also ?? []),
  ];
}

/** While it is paused, a step that would begin on waking is not due: resuming makes it due again. */
function dueOnWaking(record: StepRecord, wait: Wait, wakeAt: number): string | typeof remove {
  const begins = wait.kind === 'retry' || wait.kind === 'slot';
  return begins && record.gate === 'paused' ? remove : dueField(record.runId, wakeAt);
}

/** Nobody knows whether the attempt's effect happened: a person or a check settles it. */
export async function leaveUnresolved(ledger: Ledger, held: Held, failure: ErrorRecord): Promise<void> {
  const { record } = held;
  const { error, writes } = shownError(record, failure);
  const data = {
    state: 'unresolved',
    lease: remove,
    due: remove,
    error,
    attempts: closeAttempt(record, ledger.clock.now(), 'lost', error),
  };
  const alert = alertWrites(unresolvedBreach(held, error), ledger.clock.now());
  await ledger.store.commit([
    { op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime },
    ...effectDoubtWrites(record),
    ...alert,
    ...writes,
  ]);
}

/** Each time is one of its own: also a step that did not even begin, since another one's effect is in doubt, and was retried. */
function unresolvedBreach({ record, updateTime }: Held, error: ErrorRecord): Breach {
  const { accountId, runId, workflowId, version, key } = record;
  return {
    accountId,
    runId,
    workflowId,
    version,
    kind: 'unresolved',
    breach: `${key}@${updateTime}`,
    stepKey: key,
    title: `Somebody has to look: "${key}" of ${workflowId}`,
    text: `Nobody knows whether "${key}" took effect: ${error.message}. Look in the target system, then settle the step.`,
  };
}

/** Records that the holder of the lease is gone, and when the next attempt is due. */
export async function loseAttempt(ledger: Ledger, held: Held, error: ErrorRecord, retryAt: number): Promise<void> {
  const { record } = held;
  const wait = { kind: 'retry' } as const;
  const data = {
    state: 'waiting',
    wait,
    wakeAt: retryAt,
    due: dueOnWaking(record, wait, retryAt),
    lease: remove,
    error,
    attempts: closeAttempt(record, ledger.clock.now(), 'lost', error, retryAt),
  };
  await ledger.store.commit([{ op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime }]);
}

export interface FinishOptions {
  readonly index: DefinitionIndex;
  readonly outcome: Outcome;
  /** A container that ends by its join: the continuation is the owner's, the join step itself just succeeds. */
  readonly owner?: Held;
  /** Where to go instead of what the definition says (conditions choose a list). */
  readonly next?: Next;
  /** The run's output, when this step's end may be the run's end. */
  readonly runOutput?: (output: string) => Promise<string>;
  readonly also?: readonly Write[];
}

/** Ends a step and creates what follows, in one commit. */
export async function finish(ledger: Ledger, held: Held, options: FinishOptions): Promise<void> {
  const plan = planFinish(held, options);
  if (stateSetBy(plan.ending, options) !== undefined) {
    await ledger.store.transaction(async (tx) => {
      const writes = await finishWrites(ledger, held, options, tx);
      for (const write of writes) tx.write(write);
    });
    return;
  }
  for (let tries = 1; ; tries += 1) {
    try {
      await ledger.store.commit(await finishWrites(ledger, held, options, undefined));
      return;
    } catch (error) {
      const countedMeanwhile = error instanceof StoreConflict && endsLane(plan.continuation.next) && tries < JOIN_TRIES;
      if (!countedMeanwhile || !(await isAsHeld(ledger, held))) throw error;
    }
  }
}

/** In each round one of the lanes that end together gets its place; no node of the join has more writers than this. */
const JOIN_TRIES = 32;

function endsLane(next: Next): boolean {
  return next.kind === 'lane_end' || next.kind === 'early_join';
}

/** Whether the conflict was about something else than the step. */
async function isAsHeld({ store }: Ledger, { record, updateTime }: Held): Promise<boolean> {
  const { docs } = await store.get([stepPath(record)]);
  return docs[0]?.updateTime === updateTime;
}

interface FinishPlan {
  readonly continuation: Continuation;
  /** The step whose end this is: the held one, or the owner of a join. */
  readonly ending: Held;
}

function planFinish(held: Held, { index, outcome, owner, next }: FinishOptions): FinishPlan {
  const ending = owner ?? held;
  if (next !== undefined) return { continuation: { next }, ending };
  const place = placeOf(index, ending.record.stepId);
  const { loops } = ending.record;
  if (outcome.kind === 'succeeded') return { continuation: { next: nextAfter(index, place, loops) }, ending };
  return { continuation: nextAfterFailure(index, place, loops, outcome.error), ending };
}

/** The writes of an ending; a business state is set in a transaction only. The step's own update is fenced by the hold. */
export async function finishWrites(
  ledger: Ledger,
  held: Held,
  options: FinishOptions,
  tx: Transaction | undefined,
): Promise<readonly Write[]> {
  const state = stateSetBy(options.owner ?? held, options);
  if (state === undefined) return endWrites(ledger, held, options, tx);
  const { owner = held, next: _next, ...rest } = options;
  try {
    const entered = await enterState(required(tx), held.record, { ...state, stepKey: owner.record.key }, ledger.clock.now());
    return await endWrites(ledger, held, { ...options, also: [...(options.also ?? []), ...entered] }, tx);
  } catch (error) {
    if (!(error instanceof KilnError) || error.code !== 'state.not_allowed') throw error;
    // The run moved to another state while the step was at work. What the step did is known; that the run is where it should be is not.
    const { output } = rest.outcome;
    return endWrites(
      ledger,
      held,
      { ...rest, outcome: { kind: 'failed', error: toErrorRecord(error), ...(output === undefined ? {} : { output }) } },
      tx,
    );
  }
}

/** The business state that the run enters by this end. */
function stateSetBy(
  { record }: Held,
  { index, outcome }: FinishOptions,
): { states: NonNullable<Definition['states']>; state: string } | undefined {
  const { states } = index.definition;
  if (states === undefined || outcome.kind !== 'succeeded') return undefined;
  const state = placeOf(index, record.stepId).step.setsState;
  return state === undefined ? undefined : { states, state };
}

async function endWrites(ledger: Ledger, held: Held, wanted: FinishOptions, tx: Transaction | undefined): Promise<readonly Write[]> {
  const options = shownEnd((wanted.owner ?? held).record, wanted);
  const { continuation, ending } = planFinish(held, options);
  const now = ledger.clock.now();
  const { record } = held;
  const inherited = inheritedFrom(held, options.owner, now);
  const stored = storedOutput(ending.record, options.outcome);
  const writes: Write[] = [...endingWrites(ending, options.outcome, stored, now, ending === held ? held.updateTime : undefined)];
  if (ending !== held) {
    const data = { state: 'succeeded', endedAt: now, due: remove, ...(record.startedAt === undefined ? { startedAt: now } : {}) };
    writes.push({ op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime });
  }
  const { mark } = continuation;
  if (mark !== undefined) {
    writes.push({ op: 'set', path: paths.join(record.accountId, record.runId, `${mark.scope}:failed`), data: { v: 1, ...mark } });
  }
  writes.push(
    ...(options.also ?? []),
    ...(await nextWrites(tx ?? ledger.store, continuation, inherited, { ...options, stored, ending: ending.record })),
  );
  return writes;
}

async function nextWrites(
  reader: Reader,
  { next, mark }: Continuation,
  inherited: Inherited,
  options: FinishOptions & { readonly stored: StoredPayload | undefined; readonly ending: StepRecord },
): Promise<readonly Write[]> {
  switch (next.kind) {
    case 'step':
      return [createNext(next, inherited)];
    case 'lane_end':
      return countLane(reader, next.lane, inherited);
    case 'early_join':
      return joinEarly(reader, next.lane, { reason: next.reason, ...(mark === undefined ? {} : { mark: mark.scope }) }, inherited);
    case 'run_end': {
      const output = options.outcome.kind === 'succeeded' ? options.outcome.output : errorOutput(options.outcome.error);
      const runOutput = options.runOutput === undefined ? output : await options.runOutput(output);
      // A large output is stored once: run and step then name the same parts.
      const same = runOutput === output ? options.stored?.payload : undefined;
      const guard = outputGuard(options.index, options.ending);
      return completeRunWrites(inherited.from, runOutput, inherited.now, { same, guard });
    }
    case 'run_failed': {
      const error = options.outcome.kind === 'failed' ? options.outcome.error : undefined;
      return failRunWrites(inherited.from, error, inherited.now, next.compensate ? { seq: inherited.seq } : undefined);
    }
  }
}

function required(tx: Transaction | undefined): Transaction {
  if (tx === undefined) throw new Error('a business state is set in a transaction');
  return tx;
}

function inheritedFrom(held: Held, owner: Held | undefined, now: number): Inherited {
  const { record } = held;
  const join = record.join;
  if (owner === undefined || join === undefined) {
    return { from: record, seq: record.seq, activeMs: record.activeMs + activeTime(record, now), now };
  }
  const seq = join.seqSum - (join.lanes - 1) * owner.record.seq;
  return { from: { ...record, key: owner.record.key }, seq: Math.max(seq, owner.record.seq), activeMs: record.activeMs, now };
}

/** The end of one step, without what follows. */
export function storedOutput(record: StepRecord, { output }: Outcome): StoredPayload | undefined {
  return output === undefined ? undefined : storePayload(record, `${record.key}~output`, output, guardOf(record));
}

export function endingWrites(
  { record }: Held,
  outcome: Outcome,
  stored: StoredPayload | undefined,
  now: number,
  ifUpdateTime: string | undefined,
): readonly Write[] {
  const data = {
    state: outcome.kind,
    endedAt: now,
    ...(record.startedAt === undefined ? { startedAt: now } : {}),
    due: remove,
    ...(record.lease === undefined ? {} : { lease: remove }),
    ...(record.wakeAt === undefined ? {} : { wakeAt: remove }),
    ...(record.progress === undefined ? {} : { progress: remove }),
    ...(stored === undefined ? {} : { output: stored.payload }),
    ...(outcome.details === undefined ? {} : { details: outcome.details }),
    ...(outcome.kind === 'failed' ? { error: outcome.error } : record.error === undefined ? {} : { error: remove }),
    ...(record.attempts.length === 0
      ? {}
      : { attempts: closeAttempt(record, now, outcome.kind, outcome.kind === 'failed' ? outcome.error : undefined) }),
  };
  const update: Write =
    ifUpdateTime === undefined
      ? { op: 'update', path: stepPath(record), data }
      : { op: 'update', path: stepPath(record), data, ifUpdateTime };
  const end = outcome.kind === 'failed' ? { error: outcome.error } : stored === undefined ? undefined : { result: stored.payload };
  const effect = end === undefined ? [] : effectEndWrites(record, end, now);
  return [update, ...(stored?.writes ?? []), ...effect, ...(outcome.also ?? [])];
}

/** What later steps see of a failed step that was passed over. */
function errorOutput(error: ErrorRecord): string {
  return JSON.stringify({ error: { code: error.code, message: error.message } });
}
