import { planFork } from '../engine/fork-plan.ts';
import type { Begun, ForkPlan } from '../engine/fork-plan.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { parseDuration } from '../engine/duration.ts';
import type { Payload } from '../model/payload.ts';
import { paths } from '../model/paths.ts';
import type { RunRecord } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import { allSteps } from './compensation.ts';
import { runTraceparent } from '../engine/trace-context.ts';
import { initialState, overdueWatch } from './business-states.ts';
import { dueField } from './due.ts';
import { countedNodes } from './joins.ts';
import { startEntry } from './run-history.ts';
import { createStep, marked } from './steps.ts';
import type { Inherited } from './steps.ts';
import type { Store, Write } from './store.ts';

/** Documents read, and characters written, at once. */
const READ_PAGE = 200;
const COMMIT_CHARS = 1_000_000;

export interface ForkRequest {
  readonly run: RunRecord;
  /** The definition that the new run goes on with. */
  readonly index: DefinitionIndex;
  readonly pinned: Pick<RunRecord, 'version' | 'hash'>;
  readonly from: StepRecord | undefined;
  readonly by: string;
  readonly runId: string;
  readonly now: number;
}

export interface PreparedFork {
  readonly plan: ForkPlan;
  /** What is taken over and means nothing before the run exists: written ahead, in any number of commits. */
  readonly ahead: readonly Write[];
  /** What makes the run exist and begin; one commit. */
  readonly last: readonly Write[];
}

/**
 * Prepares a new run that goes on from a point of another. The other is not changed. Steps done anew have new idempotency keys:
 * what they did in the other run, they do again.
 */
export async function prepareFork(store: Store, request: ForkRequest): Promise<PreparedFork> {
  const { run, index, from } = request;
  const steps = new Map((await allSteps(store, run)).map((step) => [step.key, step] as const));
  const failures = await recordedFailures(store, run, [...steps.values()]);
  const plan = planFork({ index, steps, failures: new Set(failures.keys()) }, from);
  const taken = [
    ...plan.kept.map((key) => keptStep(request, steps.get(key))),
    ...plan.reopened.map((key) => reopenedStep(request, steps.get(key))),
  ];
  const written = taken.filter((step) => step !== undefined);
  const payloads = [run.input, ...written.flatMap(({ input, output }) => [input, output])];
  return {
    plan,
    ahead: [...written.map((step) => setStep(step)), ...(await partWrites(store, request, payloads))],
    last: [
      ...runWrites(request, written),
      ...plan.begun.map((begun) => beginStep(request, begun)),
      ...plan.counted.flatMap(({ ownerKey, lanes, ended }) =>
        countedNodes(ownerKey, lanes, ended).map(({ id, node }): Write => setJoin(request, id, node)),
      ),
      ...plan.marks.flatMap((scope) => (failures.has(scope) ? [setJoin(request, `${scope}:failed`, failures.get(scope) ?? {})] : [])),
    ],
  };
}

/** Writes what is taken over, in commits of bearable size. Repeated after a crash, it writes the same again. */
export async function writeAhead(store: Store, writes: readonly Write[]): Promise<void> {
  let batch: Write[] = [];
  let chars = 0;
  for (const write of writes) {
    const size = write.op === 'delete' ? 0 : JSON.stringify(write.data).length;
    if (batch.length > 0 && (chars + size > COMMIT_CHARS || batch.length >= READ_PAGE)) {
      await store.commit(batch);
      batch = [];
      chars = 0;
    }
    batch.push(write);
    chars += size;
  }
  if (batch.length > 0) await store.commit(batch);
}

/** The recorded failures of iterations and branches: scopes around the steps that failed. */
async function recordedFailures(store: Store, run: RunRecord, steps: readonly StepRecord[]): Promise<ReadonlyMap<string, object>> {
  const scopes = new Set(steps.filter(({ state }) => state === 'failed').flatMap(({ key }) => scopesAround(key)));
  const found = new Map<string, object>();
  await inPages([...scopes], async (page) => {
    const { docs } = await store.get(page.map((scope) => paths.join(run.accountId, run.runId, `${scope}:failed`)));
    docs.forEach((doc, i) => {
      const scope = page[i];
      if (doc !== undefined && scope !== undefined) found.set(scope, doc.data);
    });
  });
  return found;
}

function scopesAround(key: string): readonly string[] {
  const parts = key.split('.');
  return parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join('.'));
}

async function inPages<T>(all: readonly T[], work: (page: readonly T[]) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += READ_PAGE) await work(all.slice(from, from + READ_PAGE));
}

function keptStep({ runId, pinned }: ForkRequest, step: StepRecord | undefined): StepRecord | undefined {
  if (step === undefined) return undefined;
  const { due: _due, expiresAt: _expiresAt, effect: _effect, ...kept } = step;
  return { ...kept, runId, version: pinned.version };
}

/** A container as it was when its lanes began. */
function reopenedStep(request: ForkRequest, step: StepRecord | undefined): StepRecord | undefined {
  const kept = keptStep(request, step);
  if (kept === undefined) return undefined;
  const { output: _output, error: _error, endedAt: _endedAt, lease: _lease, wakeAt: _wakeAt, deadlineAt: _deadlineAt, ...rest } = kept;
  const deadlineAt = deadlineOf(request);
  return { ...rest, state: 'waiting', wait: { kind: 'children' }, gate: 'open', ...(deadlineAt === undefined ? {} : { deadlineAt }) };
}

function setStep(step: StepRecord): Write {
  return { op: 'set', path: paths.step(step.accountId, step.runId, step.key), data: step };
}

function setJoin({ run, runId }: ForkRequest, id: string, data: object): Write {
  return { op: 'set', path: paths.join(run.accountId, runId, id), data };
}

/** Large values lie in documents of their own, below the run that made them. */
async function partWrites(store: Store, { run, runId }: ForkRequest, payloads: readonly (Payload | undefined)[]): Promise<Write[]> {
  const ids = new Set(
    payloads.flatMap((payload) => Array.from({ length: payload?.parts ?? 0 }, (_, part) => `${payload?.partsId ?? ''}~${part}`)),
  );
  const writes: Write[] = [];
  await inPages([...ids], async (page) => {
    const { docs } = await store.get(page.map((id) => paths.payload(run.accountId, run.runId, id)));
    docs.forEach((doc, i) => {
      const id = page[i];
      if (doc !== undefined && id !== undefined) writes.push({ op: 'set', path: paths.payload(run.accountId, runId, id), data: doc.data });
    });
  });
  return writes;
}

/** The run itself, in the business state that the kept steps brought it to. */
function runWrites(request: ForkRequest, kept: readonly StepRecord[]): readonly Write[] {
  const { run, index, runId, now } = request;
  const { states, alerts } = index.definition;
  const ref = { accountId: run.accountId, runId };
  const begun = states === undefined ? undefined : initialState(ref, states, now, stateOf(index, kept));
  const record = newRun(request);
  return [
    { op: 'create', path: paths.run(run.accountId, runId), data: { ...record, ...begun?.fields } },
    startEntry(record, now),
    ...(begun?.writes ?? []),
    ...overdueWatch(ref, alerts, now),
  ];
}

function newRun(request: ForkRequest): RunRecord {
  const { run, pinned, from, by, runId, now } = request;
  const deadlineAt = deadlineOf(request);
  return {
    v: 1,
    accountId: run.accountId,
    runId,
    kind: run.kind,
    workflowId: run.workflowId,
    version: pinned.version,
    hash: pinned.hash,
    status: 'running',
    pendingApprovals: 0,
    input: run.input,
    startedBy: { kind: 'user', id: by },
    traceparent: runTraceparent({ accountId: run.accountId, runId }, undefined),
    createdAt: now,
    startedAt: now,
    chainDepth: run.chainDepth,
    forkedFrom: { runId: run.runId, stepKey: from?.key ?? '' },
    ...(deadlineAt === undefined ? {} : { deadlineAt, due: dueField(runId, deadlineAt) }),
    ...(run.businessKey === undefined ? {} : { businessKey: run.businessKey }),
    ...(run.attributes === undefined ? {} : { attributes: run.attributes }),
    ...(run.tags === undefined ? {} : { tags: run.tags }),
    ...(run.tainted === undefined ? {} : { tainted: run.tainted }),
    ...(run.sensitive === undefined ? {} : { sensitive: run.sensitive }),
    ...(run.context === undefined ? {} : { context: run.context }),
  };
}

function deadlineOf({ index, now }: ForkRequest): number | undefined {
  const { deadline } = index.definition;
  return deadline === undefined ? undefined : now + parseDuration(deadline, 'deadline');
}

/** The last state that the kept steps set; undefined when they set none. */
function stateOf({ places }: DefinitionIndex, kept: readonly StepRecord[]): string | undefined {
  const last = kept
    .filter(({ state, stepId }) => state === 'succeeded' && places.get(stepId)?.step.setsState !== undefined)
    .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
    .at(-1);
  return last === undefined ? undefined : places.get(last.stepId)?.step.setsState;
}

function beginStep(request: ForkRequest, { key, stepId, type, loops, seq, join }: Begun): Write {
  const { run, index, pinned, runId, now } = request;
  const deadlineAt = deadlineOf(request);
  const { accountId, kind, workflowId } = run;
  const from: Inherited['from'] = {
    accountId,
    runId,
    key: '',
    kind,
    workflowId,
    version: pinned.version,
    gate: 'open',
    ...(run.sensitive === undefined ? {} : { sensitive: run.sensitive }),
    traceparent: runTraceparent({ accountId, runId }, undefined),
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
  };
  const seed = {
    key,
    stepId,
    type,
    loops: [...loops],
    ...marked(index.sensitivity.steps.has(stepId)),
    ...(join === undefined ? {} : { join }),
  };
  return createStep(seed, { from, seq: seq - 1, activeMs: 0, now });
}
