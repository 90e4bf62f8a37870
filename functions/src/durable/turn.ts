import { canonicalJson, digest } from '../engine/json.ts';
import { activeTime } from '../ledger/attempts.ts';
import { dueField } from '../ledger/due.ts';
import { storePayload } from '../ledger/payloads.ts';
import { cancelStepWrites, completeRunWrites, completionWrite, failRunWrites } from '../ledger/runs.ts';
import { createStep } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { remove } from '../ledger/store.ts';
import type { Write } from '../ledger/store.ts';
import { endingWrites, storedOutput } from '../ledger/transitions.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { KilnError } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { isLive, stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import type { Runtime } from '../runner/runtime.ts';
import { encodeBaton, encodeHead } from './baton.ts';
import type { LiveStep, StepPolicy } from './baton.ts';
import type { Call } from './call.ts';
import { runErrorRecord } from './errors.ts';
import { append, countEntries, resultOf } from './journal.ts';
import type { Chunk, Entry, Journal } from './journal.ts';
import type { Execution } from './replay.ts';
import type { Opened, Reader } from './run-reader.ts';

/** Steps under way at once, and started in one commit. Cancelling ends them all in one transaction. */
export const LIVE_MAX = 200;

/** A step whose outcome the code has been handed. */
export interface EndedStep {
  readonly held: Held;
  readonly outcome: Outcome;
  /** Documents that change with it: the wait that it closes. */
  readonly also?: readonly Write[];
}

/** One move of a run: steps ended, the code saw it and went on; what is under way now. */
export interface Turn {
  readonly runtime: Runtime;
  readonly opened: Opened;
  readonly execution: Execution;
  /** What new steps inherit from: the last step that ended, or the run's beginning. */
  readonly from: StepRecord;
  readonly ended: readonly EndedStep[];
  /** Reads the others that end with this move; each is fenced. Needed where others live besides the steps that ended. */
  readonly reader: Reader | undefined;
}

/** The result as the journal keeps it, and as the code is handed it now. */
export function entriesOf({ held, outcome }: EndedStep): { readonly journaled: Entry; readonly delivered: Entry } {
  const { key, type } = held.record;
  // How a request for a decision ended is an outcome, also where the step counts as failed.
  if (outcome.kind === 'failed' && !(type === 'approval' && outcome.output !== undefined)) {
    const entry: Entry = { key, type, result: { kind: 'error', error: outcome.error } };
    return { journaled: entry, delivered: entry };
  }
  const json = outcome.output ?? 'null';
  const { payload } = storePayload(held.record, `${key}~output`, json);
  return {
    journaled: { key, type, result: resultOf(json, payload.parts === undefined ? undefined : payload) },
    delivered: { key, type, result: { kind: 'value', json } },
  };
}

/** The writes of a move. Doorbells of new timers are armed here: before the commit that they belong to. */
export async function turnWrites(turn: Turn): Promise<readonly Write[]> {
  const { runtime, opened, execution, from, ended } = turn;
  const now = runtime.clock.now();
  const gone = new Set(ended.map(({ held }) => held.record.key));
  const others = opened.live.filter(({ key }) => !gone.has(key));
  const abandoned = new Set(execution.abandoned().map((call) => call.key));
  const staying = others.filter(({ key }) => !abandoned.has(key));
  const known = new Set(opened.live.map(({ key }) => key));
  const added = execution.pending().filter((call) => !known.has(call.key));
  const end = endOf(execution, staying.length, added.length);
  const made = opened.journal.made + (end === undefined ? added.length : 0);
  const appended = append(opened.journal, opened.lastChunk, execution.fresh, made);
  const activeMs = Math.max(opened.activeMs, ...ended.map(({ held }) => held.record.activeMs + activeTime(held.record, now)));
  const moved: Moved = { ...turn, now, activeMs, journal: appended.journal };
  const losers = await loserWrites(turn.reader, from, end === undefined ? others.filter(({ key }) => abandoned.has(key)) : others, now);
  return [
    ...ended.flatMap((step) => endedWrites(step, now)),
    ...losers,
    ...chunkWrites(from, appended.created, appended.replaced),
    ...execution.effects,
    ...recoveredWrites(from, ended),
    ...(end === undefined ? await goOnWrites(moved, staying, added) : endWrites(moved, end)),
  ];
}

interface Moved extends Turn {
  readonly now: number;
  readonly activeMs: number;
  readonly journal: Journal;
}

type End = { readonly kind: 'returned'; readonly output: string } | { readonly kind: 'failed'; readonly error: ErrorRecord };

/** How the run ends, if it does. */
function endOf(execution: Execution, staying: number, added: number): End | undefined {
  if (execution.fault !== undefined) return { kind: 'failed', error: execution.fault };
  if (execution.ended?.kind === 'threw') return { kind: 'failed', error: runErrorRecord(execution.ended.error) };
  if (execution.ended?.kind === 'returned') return returned(execution, execution.ended.value);
  if (staying + added === 0) {
    const error = new KilnError(
      'code.foreign_await',
      'the run function has not ended, but waits for no step: it awaits something that is no step (fetch, a timer, a database read, a promise that never settles). Put I/O into step.run',
    );
    return { kind: 'failed', error: runErrorRecord(error) };
  }
  if (staying + added > LIVE_MAX) {
    const error = new KilnError(
      'code.too_many_at_once',
      `${staying + added} steps would be under way at once; the limit is ${LIVE_MAX}. Work through the list in batches`,
    );
    return { kind: 'failed', error: runErrorRecord(error) };
  }
  return undefined;
}

function returned({ workflow }: Execution, value: unknown): End {
  try {
    const checked = workflow.output === undefined ? value : workflow.output.parse(value);
    return { kind: 'returned', output: canonicalJson(checked) };
  } catch (error) {
    return {
      kind: 'failed',
      error: runErrorRecord(
        error instanceof KilnError ? error : new KilnError('schema.mismatch', `the run's output does not fit its schema: ${String(error)}`),
      ),
    };
  }
}

function endedWrites({ held, outcome, also }: EndedStep, now: number): readonly Write[] {
  const [update, ...parts] = endingWrites(held, outcome, storedOutput(held.record, outcome), now, held.updateTime);
  if (update === undefined || update.op !== 'update') throw new KilnError('internal', 'the end of a step is an update of it');
  const { record } = held;
  // The journal goes on without this copy of it.
  const data = {
    ...update.data,
    baton: remove,
    ...(record.turn === undefined ? {} : { turn: remove, turnError: remove }),
    ...(record.wait === undefined ? {} : { wait: remove }),
  };
  return [{ ...update, data }, ...parts, ...(also ?? [])];
}

/** Ends steps that the code no longer waits for, with what they wait for, in the same commit. */
async function loserWrites(
  reader: Reader | undefined,
  from: StepRecord,
  losers: readonly LiveStep[],
  now: number,
): Promise<readonly Write[]> {
  if (losers.length === 0) return [];
  if (reader === undefined) throw new KilnError('internal', 'nothing was said to live beside this step');
  const { docs } = await reader.get(losers.map(({ key }) => paths.step(from.accountId, from.runId, key)));
  return docs.flatMap((doc) => (doc !== undefined && isLive(stepRecordSchema.parse(doc.data).state) ? cancelStepWrites(doc, now) : []));
}

function chunkWrites(ref: StepRecord, created: readonly Chunk[], replaced: string | undefined): readonly Write[] {
  const writes = created.map((chunk): Write => {
    const data = { v: 1, entries: chunk.ref.entries, text: chunk.text };
    return { op: 'set', path: paths.journal(ref.accountId, ref.runId, chunk.ref.id), data };
  });
  if (replaced !== undefined) writes.push({ op: 'delete', path: paths.journal(ref.accountId, ref.runId, replaced) });
  return writes;
}

function headWrite(moved: Moved, live: readonly LiveStep[]): Write {
  const { from, journal, activeMs } = moved;
  const path = paths.journal(from.accountId, from.runId, 'head');
  const data = encodeHead({ journal, live, activeMs }, countEntries(journal));
  // Only one of those who read the same head can write the next: a compare-and-set waits for no lock.
  const { headTime } = moved.opened;
  return headTime === undefined ? { op: 'set', path, data } : { op: 'update', path, data, ifUpdateTime: headTime };
}

/** One step alone carries the journal; of several, none does. */
async function goOnWrites(moved: Moved, staying: readonly LiveStep[], added: readonly Call[]): Promise<readonly Write[]> {
  const alone = staying.length === 0 && added.length === 1;
  const writes: Write[] = alone ? [] : [headWrite(moved, [...staying, ...added.map(({ key, type }) => ({ key, type }))])];
  for (const [i, call] of added.entries()) {
    const { write, wakeAt } = newStep(moved, call, moved.opened.journal.made + i, alone);
    if (wakeAt !== undefined) await moved.runtime.doorbells.arm({ ...moved.from, key: call.key }, wakeAt, 0);
    writes.push(write);
  }
  return writes;
}

function newStep(moved: Moved, call: Call, seq: number, alone: boolean): { write: Write; wakeAt?: number } {
  const { from, now, activeMs, journal, runtime } = moved;
  const policy = policyFor(runtime, call);
  const baton = encodeBaton({ ...(policy === undefined ? {} : { policy }), ...(alone ? { journal } : {}) });
  const seed = { key: call.key, stepId: call.key.split('#')[0] ?? call.key, type: call.type, loops: [], baton };
  const write = createStep(seed, { from, seq, activeMs, now });
  // While the run is paused nothing begins, not even a sleep.
  if (call.work.kind !== 'sleep' || from.gate === 'paused' || write.op === 'delete') return { write };
  const wakeAt = 'at' in call.work.end ? Math.max(now, call.work.end.at) : now + call.work.end.after;
  const waiting = { state: 'waiting', wait: { kind: 'timer' }, wakeAt, startedAt: now, due: dueField(from.runId, wakeAt) };
  return { write: { ...write, data: { ...write.data, ...waiting } }, wakeAt };
}

function policyFor(runtime: Runtime, { work, type }: Call): StepPolicy | undefined {
  switch (work.kind) {
    case 'run':
      return policyOf(work.options.idempotent ?? true, work.options.retry);
    case 'type': {
      const known = runtime.stepTypes.find(type);
      if (known?.kind !== 'effect') return undefined;
      return policyOf(known.isIdempotent?.(work.config, runtime.services) ?? known.idempotent, work.options.retry);
    }
    case 'transaction':
      return policyOf(true, work.options.retry);
    case 'sleep':
    case 'document':
    case 'start_run':
      return undefined;
  }
}

function policyOf(idempotent: boolean, retry: StepPolicy['retry']): StepPolicy | undefined {
  if (retry === undefined) return idempotent ? undefined : { idempotent };
  return { idempotent, retry };
}

function endWrites(moved: Moved, end: End): readonly Write[] {
  const { from, now, execution } = moved;
  const head = headWrite(moved, []);
  if (end.kind === 'returned') return [head, ...completeRunWrites(from, end.output, now)];
  const undo = execution.workflow.onError === 'fail' ? 0 : execution.compensations.length;
  if (undo === 0) return [head, ...failRunWrites(from, end.error, now, undefined)];
  const failing = { status: 'compensating', error: { ...end.error, ...(from.key === '' ? {} : { stepKey: from.key }) }, due: remove };
  return [head, { op: 'update', path: paths.run(from.accountId, from.runId), data: failing }, undoStep(moved, undo - 1)];
}

/** The step that carries out the n-th registered compensation. Its journal is in the head. */
export function undoStep(
  { execution, from, activeMs, now, opened }: Pick<Moved, 'execution' | 'from' | 'activeMs' | 'now' | 'opened'>,
  n: number,
): Write {
  const compensation = execution.compensations[n];
  if (compensation === undefined) throw new KilnError('internal', `there is no compensation ${n}`);
  const { retry } = compensation.options;
  const baton = encodeBaton({ policy: { idempotent: true, ...(retry === undefined ? {} : { retry }) }, undo: n });
  const key = undoKey(compensation.key);
  return createStep(
    { key, stepId: key.split('#')[0] ?? key, type: 'compensate', loops: [], baton },
    // A run that fails while it is paused is no longer paused, and nobody could resume it: undoing begins.
    { from: { ...from, gate: 'open' }, seq: Math.max(opened.journal.made, from.seq), activeMs, now },
  );
}

/** `$` keeps it apart from every name that code can give a step. */
export function undoKey(compensation: string): string {
  return `$undo.${compensation}`;
}

/** Nothing is left to undo. */
export function compensatedWrites(from: StepRecord, now: number): readonly Write[] {
  const data = { status: 'compensated', endedAt: now, due: remove };
  const completion = completionWrite(from, 'compensated', now);
  // Compensated on command after its end, the run has such a document already; what follows a run is idempotent.
  return [{ op: 'update', path: paths.run(from.accountId, from.runId), data }, { ...completion, op: 'set' } as Write];
}

/** A run that had diverged and now goes on again (the old code is back) runs again. */
function recoveredWrites(from: StepRecord, ended: readonly EndedStep[]): readonly Write[] {
  if (!ended.some(({ held }) => held.record.error?.code === 'run.diverged')) return [];
  return [{ op: 'update', path: paths.run(from.accountId, from.runId), data: { status: 'running', error: remove } }];
}

/** Random ids that are handed in, as a UUID of version 4. */
export function uuidFrom(token: string): string {
  const hex = digest(token);
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
