import { evaluateCondition } from '../engine/conditions.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { parseDuration } from '../engine/duration.ts';
import { parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { loadPayload } from '../ledger/payloads.ts';
import { claimCheck, openReconciliation, recordCheck } from '../ledger/reconciliation.ts';
import type { Finding, Schedule, Verdict } from '../ledger/reconciliation.ts';
import type { Held } from '../ledger/steps.ts';
import type { Transaction, Write } from '../ledger/store.ts';
import type { Definition, StepConfig } from '../model/definition.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { addSeries } from '../telemetry/metrics.ts';
import { count } from '../telemetry/series.ts';
import type { Series } from '../telemetry/series.ts';
import { attemptOutcome, settled } from './attempt.ts';
import { declaredOf } from './declared.ts';
import { resolveStep, templatesOf } from './inputs.ts';
import { DEFAULT_STEP_TIMEOUT_MS, LEASE_MARGIN_MS, MAX_STEP_TIMEOUT_MS } from './perform.ts';
import { beforeFirst } from './runs.ts';
import type { Runtime } from './runtime.ts';
import { readScope } from './scope-reader.ts';
import type { Scope } from './scope-reader.ts';

type Reconcile = NonNullable<Definition['reconcile']>;

const DEFAULTS = { retryEveryMs: 60_000, giveUpAfterMs: 60 * 60_000 } as const;
const CHECK_KEY = '$reconcile';

/** Follows a run's end: what declares how its outcome is checked is checked. A completed run is not done before the systems agree. */
export async function followReconciliation(runtime: Runtime, run: RunRecord): Promise<void> {
  if (run.status !== 'completed') return;
  const reconcile = (await declaredOf(runtime, run))?.declared.reconcile;
  if (reconcile !== undefined) await openReconciliation(runtime, run, scheduleOf(reconcile));
}

function scheduleOf({ after, retryEvery, giveUpAfter, nightly }: Reconcile): Schedule {
  return {
    afterMs: after === undefined ? 0 : parseDuration(after, 'reconcile.after'),
    retryEveryMs: retryEvery === undefined ? DEFAULTS.retryEveryMs : parseDuration(retryEvery, 'reconcile.retryEvery'),
    giveUpAfterMs: giveUpAfter === undefined ? DEFAULTS.giveUpAfterMs : parseDuration(giveUpAfter, 'reconcile.giveUpAfter'),
    nightly: nightly === true,
  };
}

/** Looks an outcome up when its time has come. Called by the reconciler; twice at once, one of them does it. */
export async function attendReconciliation(runtime: Runtime, accountId: string, runId: string): Promise<void> {
  if (await runtime.control.halted()) return;
  const { docs } = await runtime.store.get([paths.run(accountId, runId)]);
  if (docs[0] === undefined) return;
  const run = runRecordSchema.parse(docs[0].data);
  const workflow = await declaredOf(runtime, run);
  const reconcile = workflow?.declared.reconcile;
  const timeoutMs = reconcile === undefined ? DEFAULT_STEP_TIMEOUT_MS : timeoutOf(reconcile);
  const record = await claimCheck(runtime, accountId, runId, timeoutMs + LEASE_MARGIN_MS);
  if (record === undefined) return;
  if (workflow === undefined || reconcile === undefined)
    throw new KilnError('definition.not_found', `nothing says any longer how the outcome of ${run.workflowId} is checked`);
  const expected = run.output === undefined ? null : parseJson(await loadPayload(runtime.store, run, run.output));
  const finding = await look({ runtime, run, index: workflow.index, reconcile, attempt: record.attempt, timeoutMs, expected });
  const { sensitivity } = workflow.index;
  const marked = (reconcile.check as { sensitive?: unknown }).sensitive === true;
  const hidesOutput = run.output?.sensitive === true;
  const sensitive = marked || hidesOutput || run.sensitive !== undefined || sensitivity.reaches(reconcile.check as unknown as Json);
  const checked = { record, finding, expected, expect: reconcile.expect, schedule: scheduleOf(reconcile), sensitive, hidesOutput };
  await recordCheck(runtime, checked, (tx, verdict) => countVerdict(runtime, tx, run, verdict));
}

async function countVerdict(runtime: Runtime, tx: Transaction, run: RunRecord, result: Verdict): Promise<readonly Write[]> {
  if (result === undefined) return [];
  const { accountId, runId, workflowId: workflow } = run;
  const series: Series = new Map();
  count(series, 'workflow_reconciliations_total', { workflow, result });
  const now = runtime.clock.now();
  return addSeries(tx, { accountId, shardKey: runId, at: now }, series, now);
}

function timeoutOf({ check }: Reconcile): number {
  const { timeout } = check as { timeout?: unknown };
  return timeout === undefined ? DEFAULT_STEP_TIMEOUT_MS : Math.min(parseDuration(timeout, 'reconcile.check.timeout'), MAX_STEP_TIMEOUT_MS);
}

interface Looking {
  readonly runtime: Runtime;
  readonly run: RunRecord;
  readonly index: DefinitionIndex;
  readonly reconcile: Reconcile;
  readonly attempt: number;
  readonly timeoutMs: number;
  readonly expected: Json;
}

/** Performs the check as a step would be, and compares. A check that fails says nothing about the outcome. */
async function look(looking: Looking): Promise<Finding> {
  const { runtime, run, index, reconcile, attempt, timeoutMs, expected } = looking;
  try {
    const type = runtime.stepTypes.get(reconcile.check.type);
    if (type.kind !== 'effect') throw new KilnError('definition.invalid', `a step of type ${type.type} cannot look anything up`);
    const step = { ...reconcile.check, id: CHECK_KEY } as StepConfig;
    const templates = templatesOf(step, type.literalFields ?? []);
    const from = { ref: run, index, place: undefined, loops: [] };
    const scope = await readScope(runtime.store, from, { references: templates.references, expressions: [reconcile.expect] });
    const resolved = resolveStep(step, templates, (reference) => scope.lookup(reference), type.secretFields ?? []);
    // No step document stands behind it that could be taken away.
    const alone: Runtime = { ...runtime, limitTime: (ms, work) => runtime.limitTime(ms, work, () => Promise.resolve(true)) };
    const outcome = settled(await attemptOutcome(alone, checkStep(run, attempt), type, resolved, timeoutMs));
    if (outcome.kind !== 'succeeded') return { kind: 'unknown', error: outcome.error };
    const found = parseJson(outcome.output);
    return { kind: agrees(reconcile.expect, scope, expected, found) ? 'agrees' : 'differs', found };
  } catch (error) {
    return { kind: 'unknown', error: toErrorRecord(error) };
  }
}

/** An expression that cannot be evaluated on what was found does not hold. */
function agrees(expect: string, scope: Scope, output: Json, found: Json): boolean {
  try {
    return evaluateCondition(expect, { ...scope.variables(), output, found });
  } catch {
    return false;
  }
}

function checkStep(run: RunRecord, attempt: number): Held {
  return { record: { ...beforeFirst(run, undefined), key: CHECK_KEY, stepId: CHECK_KEY, type: CHECK_KEY, attempt }, updateTime: '' };
}
