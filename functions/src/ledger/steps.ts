import type { Lane, Next } from '../engine/graph-planner.ts';
import { keyOf } from '../engine/definition-index.ts';
import { paths } from '../model/paths.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { dueField } from './due.ts';
import type { Snapshot, Write } from './store.ts';

/** How long a ready step may stand before the reconciler attends it. */
export const ATTEND_WITHIN_MS = 60_000;

/** A step as somebody holds it: what was read, and the fence for the next write. */
export interface Held {
  readonly record: StepRecord;
  readonly updateTime: string;
}

export function heldStep(snapshot: Snapshot): Held {
  return { record: stepRecordSchema.parse(snapshot.data), updateTime: snapshot.updateTime };
}

export function stepPath(record: Pick<StepRecord, 'accountId' | 'runId' | 'key'>): string {
  return paths.step(record.accountId, record.runId, record.key);
}

/** What a new step is made after: the step before it, or its run. */
export type Origin = Pick<
  StepRecord,
  'accountId' | 'runId' | 'key' | 'kind' | 'workflowId' | 'version' | 'gate' | 'deadlineAt' | 'traceparent' | 'sensitive'
>;

/** What a new step takes over from the step whose end creates it. */
export interface Inherited {
  readonly from: Origin;
  readonly seq: number;
  readonly activeMs: number;
  readonly now: number;
}

export function createNext({ key, place, loops, sensitive }: Extract<Next, { kind: 'step' }>, inherited: Inherited): Write {
  return createStep({ key, stepId: place.step.id, type: place.step.type, loops: [...loops], ...marked(sensitive) }, inherited);
}

/** The mark of a step that the definition makes sensitive. */
export function marked(sensitive: boolean): Pick<StepRecord, 'sensitive'> {
  return sensitive ? { sensitive: 'step' } : {};
}

/** Why a join fires, and with what it goes on counting. */
export type JoinCause = Pick<NonNullable<StepRecord['join']>, 'reason' | 'seqSum' | 'lanes' | 'mark'>;

export function createJoin(lane: Lane, inherited: Inherited, cause: JoinCause): Write {
  const ownerKey = keyOf(lane.ownerPlace, lane.loops);
  const join = { owner: lane.owner, ownerKey, lane: lane.lane, ...cause };
  return createStep({ key: `${ownerKey}.$join`, stepId: lane.owner, type: '$join', loops: [...lane.loops], join }, inherited);
}

/** The step that plans what a run has to undo. */
export const COMPENSATE = '$compensate';
/** The type of a step that undoes another, and the end of its key. */
export const UNDO = '$undo';

/** Part of the commit that makes a run compensating. What was limited is the run; undoing it is not held up by its limits. */
export function createCompensation({ deadlineAt: _deadline, ...from }: Origin, seq: number, now: number): Write {
  const inherited: Inherited = { from: { ...from, gate: 'open' }, seq, activeMs: 0, now };
  return createStep({ key: COMPENSATE, stepId: COMPENSATE, type: COMPENSATE, loops: [] }, inherited);
}

type StepSeed = Pick<StepRecord, 'key' | 'stepId' | 'type' | 'loops'> &
  Partial<Pick<StepRecord, 'join' | 'baton' | 'details' | 'input' | 'sensitive'>>;

export function createStep(seed: StepSeed, { from, seq, activeMs, now }: Inherited): Write {
  const record: StepRecord = {
    v: 1,
    accountId: from.accountId,
    runId: from.runId,
    kind: from.kind,
    workflowId: from.workflowId,
    version: from.version,
    ...seed,
    ...(from.sensitive === 'run' ? { sensitive: 'run' } : {}),
    state: 'ready',
    gate: from.gate,
    seq: seq + 1,
    activeMs,
    ...(from.deadlineAt === undefined ? {} : { deadlineAt: from.deadlineAt }),
    ...(from.traceparent === undefined ? {} : { traceparent: from.traceparent }),
    attempt: 0,
    attempts: [],
    createdAt: now,
    after: from.key,
    ...(from.gate === 'paused' ? {} : { due: dueField(from.runId, now + ATTEND_WITHIN_MS) }),
  };
  return { op: 'create', path: stepPath(record), data: record };
}
