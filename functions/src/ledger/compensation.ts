import { planCompensation } from '../engine/compensation-plan.ts';
import type { Undo } from '../engine/compensation-plan.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { canonicalJson, parseJson } from '../engine/json.ts';
import { effectRecordSchema } from '../model/effect.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { alertOnce } from './alerts.ts';
import { closeAttempt } from './attempts.ts';
import { dueField } from './due.ts';
import { loadPayload } from './payloads.ts';
import { completionWrite } from './runs.ts';
import { shownError } from './sensitive.ts';
import { COMPENSATE, createStep, marked, stepPath, UNDO } from './steps.ts';
import type { Held } from './steps.ts';
import { remove } from './store.ts';
import type { Store, Transaction, Write } from './store.ts';
import { endingWrites, storedOutput } from './transitions.ts';
import type { Ledger, Outcome } from './transitions.ts';

/*
 * A run is undone by steps of its own: `$compensate` plans, then `<key>.$undo` for each effect, one after the other, each with
 * attempts, timers and a lease like any step. The plan is the output of `$compensate`; the end of each creates the next.
 */

const PAGE = 500;

/** When an effect may be undone, and the bell that rings then. */
export interface Quiet {
  at(undo: Undo): number;
  arm(key: string, at: number): Promise<void>;
}

/** What a run has to undo, from all of its steps. */
export async function readPlan(store: Pick<Store, 'query'>, ref: RunRef, index: DefinitionIndex): Promise<readonly Undo[]> {
  return planCompensation(index, await allSteps(store, ref));
}

/** Every step document of a run, in the order of the keys. */
export async function allSteps(store: Pick<Store, 'query'>, ref: RunRef): Promise<readonly StepRecord[]> {
  const steps: StepRecord[] = [];
  for (let after = ''; ;) {
    const { docs } = await store.query({
      from: paths.steps(ref.accountId, ref.runId),
      where: [['key', '>', after]],
      orderBy: [['key', 'asc']],
      limit: PAGE,
    });
    steps.push(...docs.map((doc) => stepRecordSchema.parse(doc.data)));
    if (docs.length < PAGE) return steps;
    after = steps.at(-1)?.key ?? '';
  }
}

/** Ends the planning step and begins the first undoing; with nothing to undo the run ends as what it would have been. */
export async function beginUndoing(ledger: Ledger, held: Held, index: DefinitionIndex, quiet: Quiet): Promise<void> {
  const plan = await readPlan(ledger.store, held.record, index);
  await ledger.store.transaction(async (tx) => {
    const now = ledger.clock.now();
    const outcome: Outcome = { kind: 'succeeded', output: canonicalJson(plan) };
    const ended = endingWrites(held, outcome, storedOutput(held.record, outcome), now, held.updateTime);
    const run = await readRun(tx, held.record);
    const next = plan[0] === undefined ? nothingToUndo(run, now) : [await undoStep(held.record, plan[0], now, quiet)];
    for (const write of [...ended, ...next]) tx.write(write);
  });
}

function nothingToUndo(run: RunRecord, now: number): readonly Write[] {
  const data = { status: 'failed', endedAt: now, due: remove };
  return [{ op: 'update', path: paths.run(run.accountId, run.runId), data }, completionAgain(run, 'failed', now)];
}

async function undoStep(from: StepRecord, undo: Undo, now: number, quiet: Quiet): Promise<Write> {
  const key = undoKey(undo.key);
  const wakeAt = quiet.at(undo);
  const write = createStep(
    { key, stepId: undo.stepId, type: UNDO, loops: [...undo.loops], ...marked(undo.sensitive === true) },
    { from, seq: from.seq, activeMs: 0, now },
  );
  if (wakeAt <= now || write.op === 'delete') return write;
  await quiet.arm(key, wakeAt);
  // The attempt that nobody saw the end of may still be at work: what it does must not come after its undoing.
  return { ...write, data: { ...write.data, state: 'waiting', wait: { kind: 'retry' }, wakeAt, due: dueField(from.runId, wakeAt) } };
}

export function undoKey(key: string): string {
  return `${key}.${UNDO}`;
}

export function undoneKey(key: string): string {
  return key.slice(0, -UNDO.length - 1);
}

interface Planned {
  readonly plan: readonly Undo[];
  readonly position: number;
}

async function planOf(reader: Pick<Transaction, 'get'>, record: StepRecord): Promise<Planned> {
  const { docs } = await reader.get([paths.step(record.accountId, record.runId, COMPENSATE)]);
  const output = docs[0] === undefined ? undefined : stepRecordSchema.parse(docs[0].data).output;
  if (output === undefined) throw new KilnError('internal', `run ${record.runId} has no plan of what to undo`);
  const plan = parseJson(await loadPayload(reader, record, output)) as unknown as readonly Undo[];
  return { plan, position: plan.findIndex(({ key }) => key === undoneKey(record.key)) };
}

/** One effect is undone, or a person has settled it: the one before it is next, or the run has ended. */
export async function undoneWrites(ledger: Ledger, held: Held, outcome: Outcome, tx: Transaction, quiet: Quiet): Promise<readonly Write[]> {
  const { record } = held;
  const now = ledger.clock.now();
  const { plan, position } = await planOf(tx, record);
  const run = await readRun(tx, record);
  const mine = undoneKey(record.key);
  const others = (run.left ?? []).filter((key) => key !== mine);
  const left = outcome.kind === 'succeeded' ? others : [...others, mine];
  const ended = [
    ...endingWrites(held, outcome, storedOutput(record, outcome), now, held.updateTime),
    ...(outcome.kind === 'succeeded' ? await freedEffect(tx, record, mine) : []),
  ];
  const next = plan[position + 1];
  if (next === undefined) return [...ended, ...compensatedWrites(run, left, now)];
  const going: Write[] =
    run.status === 'compensating' && sameKeys(left, run.left ?? [])
      ? []
      : [{ op: 'update', path: paths.run(record.accountId, record.runId), data: { status: 'compensating', left } }];
  return [...ended, ...going, await undoStep(record, next, now, quiet)];
}

/** What has been undone may be brought about again: its business key is free. */
async function freedEffect(tx: Transaction, { accountId, runId }: RunRef, stepKey: string): Promise<readonly Write[]> {
  const { docs } = await tx.get([paths.step(accountId, runId, stepKey)]);
  const effect = docs[0] === undefined ? undefined : stepRecordSchema.parse(docs[0].data).effect;
  if (effect === undefined) return [];
  const path = paths.effect(accountId, effect);
  const found = (await tx.get([path])).docs[0];
  const holder = found === undefined ? undefined : effectRecordSchema.parse(found.data);
  return holder?.runId === runId && holder.stepKey === stepKey ? [{ op: 'delete', path }] : [];
}

function compensatedWrites(run: RunRecord, left: readonly string[], now: number): readonly Write[] {
  const path = paths.run(run.accountId, run.runId);
  if (left.length === 0) {
    const data = { status: 'compensated', endedAt: now, due: remove, ...(run.left === undefined ? {} : { left: remove }) };
    return [{ op: 'update', path, data }, completionAgain(run, 'compensated', now)];
  }
  const message = `what ${left.map((key) => `"${key}"`).join(', ')} did stands: it could not be undone`;
  const error = toErrorRecord(new KilnError('run.not_compensated', message, { data: { left, cause: run.error } }));
  return [{ op: 'update', path, data: { status: 'failed', endedAt: now, due: remove, left, error } }, completionAgain(run, 'failed', now)];
}

/** Compensated on command after its end, the run has such a document already; what follows a run is idempotent. */
function completionAgain(ref: RunRef, status: RunRecord['status'], now: number): Write {
  return { ...completionWrite(ref, status, now), op: 'set' } as Write;
}

/** An effect that cannot be undone is left to a person; nothing before it is undone meanwhile. */
export async function undoFailedWrites(ledger: Ledger, held: Held, failure: ErrorRecord, tx: Transaction): Promise<readonly Write[]> {
  const { record } = held;
  const { error, writes: kept } = shownError(record, failure);
  const now = ledger.clock.now();
  const { plan, position } = await planOf(tx, record);
  const run = await readRun(tx, record);
  const mine = undoneKey(record.key);
  const left = [...(run.left ?? []).filter((key) => key !== mine), mine];
  const attempts = closeAttempt(record, now, 'failed', error);
  const data = { state: 'unresolved', error, lease: remove, wakeAt: remove, due: remove, attempts };
  const after = plan.length - position - 1;
  const text = `"${mine}" could not be undone: ${error.message}. ${after === 0 ? 'It is the last one.' : `${after} more wait for it.`}`;
  const { accountId, runId, workflowId, version, key: stepKey, attempt } = record;
  const breach = { accountId, runId, workflowId, version, stepKey, kind: 'compensation', breach: `${stepKey}#${attempt}` } as const;
  return [
    { op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime },
    { op: 'update', path: paths.run(accountId, runId), data: { status: 'needs_resolution', left } },
    ...kept,
    ...(await alertOnce(tx, { ...breach, title: `Somebody has to undo "${mine}" of ${workflowId}`, text }, now)),
  ];
}

async function readRun(tx: Pick<Transaction, 'get'>, { accountId, runId }: RunRef): Promise<RunRecord> {
  const { docs } = await tx.get([paths.run(accountId, runId)]);
  if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${runId} is missing`);
  return runRecordSchema.parse(docs[0].data);
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, i) => key === b[i]);
}
