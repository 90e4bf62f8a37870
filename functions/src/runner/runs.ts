import { parseDuration } from '../engine/duration.ts';
import { canonicalJson, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { Problem } from '../engine/problem.ts';
import { endRun } from '../ledger/end-run.ts';
import { pin } from '../ledger/definitions.ts';
import { newRunWrites, startKeyPath } from '../ledger/new-run.ts';
import type { NewRun } from '../ledger/new-run.ts';
import { initialState, overdueWatch } from '../ledger/business-states.ts';
import { dueField } from '../ledger/due.ts';
import { releaseRunSlots } from '../ledger/limits.ts';
import { loadPayload } from '../ledger/payloads.ts';
import { tellEnd } from '../ledger/run-history.ts';
import { completionWrite } from '../ledger/runs.ts';
import { HIDDEN } from '../ledger/sensitive.ts';
import { createStep, heldStep, marked } from '../ledger/steps.ts';
import { remove, StoreConflict } from '../ledger/store.ts';
import type { Snapshot, Write } from '../ledger/store.ts';
import type { Outcome } from '../ledger/transitions.ts';
import type { Definition } from '../model/definition.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { completionRecordSchema } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunRecord, RunStatus } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import { declaredOf } from './declared.ts';
import { describedBy } from './described.ts';
import { finishWait } from './finish-wait.ts';
import { inputSecrecy } from './input-secrecy.ts';
import { preflightRun } from './preflight-run.ts';
import { amended, queueRun, turnOf, withPlaces } from './queue.ts';
import type { Turn } from './queue.ts';
import { resolveContext } from './run-context.ts';
import type { ContextFound } from './run-context.ts';
import type { Runtime } from './runtime.ts';

/** What to do when a start key was used before. */
export interface StartPolicy {
  /** Default true: a run that still runs is the answer. */
  readonly reuseRunning?: boolean;
  /** Default true: a run that completed is the answer. */
  readonly reuseSucceeded?: boolean;
  /** Default true: a run that failed, was rejected or cancelled is started again. */
  readonly restartFailed?: boolean;
}

export interface StartRequest extends Omit<NewRun, 'pinned' | 'input' | 'now' | 'runId'> {
  readonly input: Json;
  readonly runId?: string;
  readonly version?: number;
  readonly policy?: StartPolicy;
}

export interface Started {
  readonly runId: string;
  readonly reused: boolean;
}

/** Starts a run. With a start key, the same key never starts a second run beside one that its policy accepts. */
export async function startRun(runtime: Runtime, request: StartRequest): Promise<Started> {
  const pinned = await pin(runtime.definitions, request);
  const input = canonicalJson(request.input);
  const sensitive = await inputSecrecy(runtime.definitions, request, pinned);
  const { startKey, policy, runId = runtime.token(), version: _version, ...rest } = request;
  const writesFor = (id: string): readonly Write[] =>
    newRunWrites({
      ...rest,
      runId: id,
      pinned,
      input,
      sensitive,
      now: runtime.clock.now(),
      ...(startKey === undefined ? {} : { startKey }),
    });
  if (startKey === undefined) {
    await runtime.store.commit(writesFor(runId));
    return { runId, reused: false };
  }
  const keyPath = startKeyPath(request, startKey);
  return runtime.store.transaction(async (tx) => {
    const { docs } = await tx.get([keyPath]);
    const before = docs[0] === undefined ? undefined : String(docs[0].data['runId']);
    if (before !== undefined) {
      const run = (await tx.get([paths.run(request.accountId, before)])).docs[0];
      if (run !== undefined && reuses(runRecordSchema.parse(run.data).status, policy ?? {})) return { runId: before, reused: true };
    }
    for (const write of writesFor(runId)) tx.write(write);
    tx.write({ op: 'set', path: keyPath, data: { v: 1, runId, workflowId: request.workflowId, at: runtime.clock.now() } });
    return { runId, reused: false };
  });
}

function reuses(status: RunStatus, policy: StartPolicy): boolean {
  if (!terminalRunStatuses.has(status)) return policy.reuseRunning ?? true;
  return status === 'completed' ? (policy.reuseSucceeded ?? true) : !(policy.restartFailed ?? true);
}

/** Looks at a run as it is: checks and begins it, or goes on ending it. Called by its trigger and the reconciler. */
export async function attendRun(runtime: Runtime, ref: RunRef): Promise<void> {
  if (await runtime.control.halted()) return;
  const { docs } = await runtime.store.get([paths.run(ref.accountId, ref.runId)]);
  if (docs[0] === undefined) return;
  const run = runRecordSchema.parse(docs[0].data);
  if (run.status === 'cancelling' && run.ending !== undefined) await endRun(runtime, ref, run.ending);
  else if (run.status === 'pending') await beginRun(runtime, run, docs[0]);
  else if (run.deadlineAt !== undefined && runtime.clock.now() >= run.deadlineAt && isUnderWay(run.status)) {
    const error = toErrorRecord(new KilnError('run.deadline', 'the wall-clock deadline passed'));
    if (run.kind === 'code') return runtime.code.expire(runtime, ref, error);
    const { definition } = await runtime.definitions.get(run.accountId, run.workflowId, run.version);
    await endRun(runtime, ref, { status: failedStatus(definition), error });
  }
}

/** Undoing a run takes as long as it takes. */
function isUnderWay(status: RunStatus): boolean {
  return !terminalRunStatuses.has(status) && status !== 'compensating' && status !== 'needs_resolution';
}

/** What becomes of a run that fails. */
export function failedStatus({ onError }: Pick<Definition, 'onError'>): 'failed' | 'compensating' {
  return onError === 'compensate' ? 'compensating' : 'failed';
}

async function beginRun(runtime: Runtime, run: RunRecord, snapshot: Snapshot): Promise<void> {
  const input = parseJson(await loadPayload(runtime.store, run, run.input));
  // While it waits for its turn, nothing else is checked: that would be done again when the turn comes.
  const looked = run.queuedFor === undefined ? undefined : await turnFor(runtime, run, input);
  if (looked?.kind === 'later') return queueRun(runtime, run, snapshot, looked);
  const prepared = await prepare(runtime, run, input);
  const turn = prepared.problems.length > 0 ? undefined : (looked ?? (await turnFor(runtime, run, input)));
  if (turn?.kind === 'later') return queueRun(runtime, run, snapshot, turn);
  const problems = turn?.kind === 'never' ? [turn.problem] : prepared.problems;
  const writes =
    turn?.kind === 'now'
      ? withPlaces(await firstWrites(runtime, run, snapshot, input), snapshot.path, turn)
      : rejectedWrites(runtime, run, snapshot, problems);
  const { context } = prepared;
  try {
    await runtime.store.commit(context === undefined ? writes : amended(writes, snapshot.path, { context: canonicalJson(context) }));
  } catch (error) {
    // Somebody else began it between our read and now.
    if (!(error instanceof StoreConflict)) throw error;
  }
}

/** Everything that can be known before the first step: what is wrong, and what holds for the whole run. */
async function prepare(runtime: Runtime, run: RunRecord, input: Json): Promise<ContextFound> {
  const problems = await preflightRun(runtime, run, input);
  if (problems.length > 0 || run.kind === 'code') return { problems };
  return resolveContext(runtime, run, await runtime.definitions.get(run.accountId, run.workflowId, run.version));
}

/** A key that cannot be filled in is the input's fault, not a reason to wait. */
async function turnFor(
  runtime: Runtime,
  run: RunRecord,
  input: Json,
): Promise<Turn | { readonly kind: 'never'; readonly problem: Problem }> {
  try {
    const declared = await declaredOf(runtime, run);
    return declared === undefined ? { kind: 'now', places: [], held: [] } : await turnOf(runtime, run, declared.declared, input);
  } catch (error) {
    if (!(error instanceof KilnError)) throw error;
    return { kind: 'never', problem: { path: 'concurrency.key', code: error.code, message: error.message } };
  }
}

/** The end of a run that never begins, with everything that was found. */
export function rejectedWrites(runtime: Runtime, run: RunRecord, snapshot: Snapshot, problems: readonly Problem[]): readonly Write[] {
  const now = runtime.clock.now();
  const shown = problems.slice(0, 200).map((problem) => (isSecretProblem(run, problem) ? { ...problem, message: HIDDEN } : problem));
  const error = toErrorRecord(new KilnError('preflight.failed', `${problems.length} problem(s): ${shown[0]?.message ?? ''}`));
  const data = { status: 'rejected', problems: JSON.stringify(shown), error, endedAt: now, due: remove };
  return [{ op: 'update', path: snapshot.path, data, ifUpdateTime: snapshot.updateTime }, completionWrite(run, 'rejected', now)];
}

/** What is wrong with an input that is kept from members may repeat it. */
function isSecretProblem({ input }: RunRecord, { path }: Problem): boolean {
  return input.sensitive === true && path.startsWith('input');
}

async function firstWrites(runtime: Runtime, run: RunRecord, snapshot: Snapshot, input: Json): Promise<readonly Write[]> {
  const now = runtime.clock.now();
  if (run.kind === 'code') return runtime.code.start(runtime, run, snapshot, input);
  const { definition, sensitivity } = await runtime.definitions.get(run.accountId, run.workflowId, run.version);
  const deadlineAt = definition.deadline === undefined ? undefined : run.createdAt + parseDuration(definition.deadline, 'deadline');
  const initial = definition.states === undefined ? undefined : initialState(run, definition.states, now);
  const begun = {
    status: 'running',
    startedAt: now,
    ...(deadlineAt === undefined ? { due: remove } : { deadlineAt, due: dueField(run.runId, deadlineAt) }),
    ...initial?.fields,
    ...describedBy(definition, run, input),
  };
  const update: Write = { op: 'update', path: snapshot.path, data: begun, ifUpdateTime: snapshot.updateTime };
  const first = definition.steps[0];
  const also = [...(initial?.writes ?? []), ...overdueWatch(run, definition.alerts, run.createdAt)];
  if (first === undefined) return [update, ...also];
  return [
    update,
    firstStep(run, { stepId: first.id, type: first.type, sensitive: sensitivity.steps.has(first.id) }, deadlineAt, now),
    ...also,
  ];
}

/** The first step has no step before it: it takes what it inherits from the run. */
export function firstStep(
  run: RunRecord,
  step: { stepId: string; type: string; sensitive?: boolean },
  deadlineAt: number | undefined,
  now: number,
): Write {
  const seed = { key: step.stepId, stepId: step.stepId, type: step.type, loops: [], ...marked(step.sensitive === true) };
  return createStep(seed, { from: beforeFirst(run, deadlineAt), seq: 0, activeMs: 0, now });
}

/** What the first steps inherit, as if it were a step before them. */
export function beforeFirst(run: RunRecord, deadlineAt: number | undefined): StepRecord {
  return {
    v: 1,
    accountId: run.accountId,
    runId: run.runId,
    key: '',
    stepId: '',
    type: '',
    kind: run.kind,
    workflowId: run.workflowId,
    version: run.version,
    state: 'succeeded',
    gate: 'open',
    loops: [],
    seq: 0,
    activeMs: 0,
    attempt: 0,
    attempts: [],
    createdAt: run.createdAt,
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
    ...(run.traceparent === undefined ? {} : { traceparent: run.traceparent }),
    ...(run.sensitive === undefined ? {} : { sensitive: run.sensitive }),
  };
}

/** Everything that follows a run's end, at least once: the parent's step, then the followers. */
export async function attendCompletion(runtime: Runtime, ref: RunRef): Promise<void> {
  const completion = paths.completion(ref.accountId, ref.runId);
  const { docs } = await runtime.store.get([paths.run(ref.accountId, ref.runId), completion]);
  if (docs[0] === undefined || docs[1] === undefined) return;
  const run = runRecordSchema.parse(docs[0].data);
  await tellEnd(runtime, run, completionRecordSchema.parse(docs[1].data));
  if (run.parent !== undefined) await wakeParent(runtime, run, run.parent);
  if (run.slots !== undefined) await releaseRunSlots(runtime, run.runId, run.slots);
  for (const follow of runtime.followers) await follow(runtime, run);
  await runtime.store.commit([{ op: 'update', path: completion, data: { due: remove } }]);
}

async function wakeParent(runtime: Runtime, child: RunRecord, parent: NonNullable<RunRecord['parent']>): Promise<void> {
  const outcome = await childOutcome(runtime, child);
  await runtime.store.transaction(async (tx) => {
    const { docs } = await tx.get([paths.step(child.accountId, parent.runId, parent.stepKey)]);
    if (docs[0] === undefined) return;
    const held = heldStep(docs[0]);
    const { state, wait } = held.record;
    if (state !== 'waiting' || wait?.kind !== 'run' || wait.runId !== child.runId) return;
    for (const write of await finishWait(runtime, held, outcome, tx)) tx.write(write);
    // What the child read from outside is in its output.
    if (child.tainted === true) tx.write({ op: 'update', path: paths.run(child.accountId, parent.runId), data: { tainted: true } });
  });
}

async function childOutcome(runtime: Runtime, child: RunRecord): Promise<Outcome> {
  if (child.status === 'completed') {
    return { kind: 'succeeded', output: child.output === undefined ? 'null' : await loadPayload(runtime.store, child, child.output) };
  }
  const cause = child.error;
  const failed = toErrorRecord(
    new KilnError('step.child_failed', `the child run ended as ${child.status}${cause === undefined ? '' : `: ${cause.message}`}`, {
      data: { runId: child.runId, cause },
    }),
  );
  return { kind: 'failed', error: cause?.class === 'business' ? { ...failed, class: 'business', code: cause.code } : failed };
}
