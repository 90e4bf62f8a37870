import { keyedRandom } from '../../seeded.ts';
import { asNumber, asObject, asString } from '../json-fields.ts';

/** What may go wrong with a task, as rates between 0 and 1. Drawn per task name, so that a seed repeats itself. */
export interface TaskFaults {
  readonly seed: string;
  /** Rings before its time, by up to `earlyMs`. */
  readonly early: number;
  readonly earlyMs: number;
  /** Rings after its time, by up to `lateMs`. */
  readonly late: number;
  readonly lateMs: number;
  /** Never rings at all. */
  readonly drop: number;
  /** Rings twice: at the same moment or again after success. */
  readonly duplicate: number;
  /** Creation is refused with UNAVAILABLE; nothing is stored. */
  readonly refuseCreate: number;
  /** The task is stored, and the caller is told UNAVAILABLE. */
  readonly loseCreateReply: number;
}

export const noTaskFaults: TaskFaults = {
  seed: '0',
  early: 0,
  earlyMs: 1_000,
  late: 0,
  lateMs: 1_000,
  drop: 0,
  duplicate: 0,
  refuseCreate: 0,
  loseCreateReply: 0,
};

/** Overlays what a control request names; other values stay. */
export function readTaskFaults(value: unknown, base: TaskFaults): TaskFaults {
  const fields = asObject(value) ?? {};
  const number = (key: Exclude<keyof TaskFaults, 'seed'>): number => asNumber(fields[key]) ?? base[key];
  return {
    seed: asString(fields['seed']) ?? base.seed,
    early: number('early'),
    earlyMs: number('earlyMs'),
    late: number('late'),
    lateMs: number('lateMs'),
    drop: number('drop'),
    duplicate: number('duplicate'),
    refuseCreate: number('refuseCreate'),
    loseCreateReply: number('loseCreateReply'),
  };
}

export type CreateFault = 'none' | 'refuse' | 'lose-reply';

/** `attempt` counts the caller's tries at this name, so that a refused caller may succeed with its next try. */
export function drawCreateFault(faults: TaskFaults, name: string, attempt: number): CreateFault {
  if (keyedRandom(faults.seed, 'refuse', name, attempt) < faults.refuseCreate) return 'refuse';
  if (keyedRandom(faults.seed, 'lose-reply', name, attempt) < faults.loseCreateReply) return 'lose-reply';
  return 'none';
}

/** How far from its due time the task's first ring is moved; 0 mostly. */
export function drawShiftMs(faults: TaskFaults, name: string): number {
  if (keyedRandom(faults.seed, 'early', name) < faults.early)
    return -Math.ceil(keyedRandom(faults.seed, 'early-ms', name) * faults.earlyMs);
  if (keyedRandom(faults.seed, 'late', name) < faults.late) return Math.ceil(keyedRandom(faults.seed, 'late-ms', name) * faults.lateMs);
  return 0;
}

export function isDropped(faults: TaskFaults, name: string): boolean {
  return keyedRandom(faults.seed, 'drop', name) < faults.drop;
}

export type DuplicateFault = 'none' | 'at-once' | 'after-success';

export function drawDuplicate(faults: TaskFaults, name: string): DuplicateFault {
  if (keyedRandom(faults.seed, 'duplicate', name) >= faults.duplicate) return 'none';
  return keyedRandom(faults.seed, 'duplicate-kind', name) < 0.5 ? 'at-once' : 'after-success';
}
