import type { StepConfig } from '../model/definition.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { LoopFrame } from '../model/step.ts';
import { childLists, isLoop, isParallel, keyOf, loopsAround, placeOf } from './definition-index.ts';
import type { DefinitionIndex, Frame, Place } from './definition-index.ts';

/** What follows when a step ended. */
export type Next =
  /** Create this step. */
  | {
      readonly kind: 'step';
      readonly place: Place;
      readonly key: string;
      readonly loops: readonly LoopFrame[];
      readonly sensitive: boolean;
    }
  /** A lane of a loop or parallel has nothing left: count it into the join. */
  | { readonly kind: 'lane_end'; readonly lane: Lane }
  /** The lane decides the join before the others ended. */
  | { readonly kind: 'early_join'; readonly lane: Lane; readonly reason: 'failed' | 'succeeded' }
  | { readonly kind: 'run_end' }
  | { readonly kind: 'run_failed'; readonly compensate: boolean };

export interface Lane {
  readonly owner: string;
  readonly ownerKey: string;
  readonly ownerPlace: Place;
  /** The loops around the owner. */
  readonly loops: readonly LoopFrame[];
  readonly lane: number;
  readonly lanes: number;
}

/** A lane's or an iteration's failure that the join must report: `each[3]`, `fan.left`. */
export interface FailureMark {
  readonly scope: string;
  readonly error: ErrorRecord;
  readonly stepKey: string;
}

export interface Continuation {
  readonly next: Next;
  readonly mark?: FailureMark;
}

/** The step after `place`, when it ended well (or its failure is to be passed over). */
export function nextAfter(index: DefinitionIndex, place: Place, loops: readonly LoopFrame[]): Next {
  let current = place;
  for (;;) {
    const following = current.list[current.position + 1];
    if (following !== undefined) return stepAt(index, following, loops);
    const frame = current.frames.at(-1);
    if (frame === undefined) return { kind: 'run_end' };
    if (frame.part === 'item') return afterIteration(index, frame, loops);
    if (frame.part === 'branch') return afterBranch(index, frame, loops);
    current = placeOf(index, frame.owner);
  }
}

/** The first step of one of the owner's lists, or what follows the owner when the list is empty. */
export function enterList(index: DefinitionIndex, owner: Place, part: 'then' | 'else', loops: readonly LoopFrame[]): Next {
  const list = childLists(owner.step).find((child) => child.frame.part === part)?.list ?? [];
  const first = list[0];
  return first === undefined ? nextAfter(index, owner, loops) : stepAt(index, first, loops);
}

/** The first step of each lane of a loop (`count` items in `lanes` lanes). */
export function startLoop(index: DefinitionIndex, owner: Place, loops: readonly LoopFrame[], count: number, lanes: number): Next[] {
  const first = isLoop(owner.step) ? owner.step.steps[0] : undefined;
  if (first === undefined) return [];
  return Array.from({ length: lanes }, (_, lane) => stepAt(index, first, [...loops, { stepId: owner.step.id, index: lane, count, lanes }]));
}

/** The first step of each branch of a parallel. */
export function startBranches(index: DefinitionIndex, owner: Place, loops: readonly LoopFrame[]): Next[] {
  if (!isParallel(owner.step)) return [];
  return Object.values(owner.step.branches).flatMap((list) => (list[0] === undefined ? [] : [stepAt(index, list[0], loops)]));
}

/** Where a failure leads: the step's own exception path, a tolerant scope around it, a join, or the run's end. */
export function nextAfterFailure(index: DefinitionIndex, place: Place, loops: readonly LoopFrame[], error: ErrorRecord): Continuation {
  const stepKey = keyOf(place, loops);
  let current = place;
  let insideException = false;
  for (;;) {
    const handled = insideException ? undefined : handledBy(index, current, loops, error);
    if (handled !== undefined) return { next: handled };
    const frame = current.frames.at(-1);
    if (frame === undefined) return atRoot(index, current, loops);
    if (frame.part === 'item') return iterationFailed(index, frame, loops, error, stepKey);
    if (frame.part === 'branch') return branchFailed(index, frame, loops, error, stepKey);
    insideException = frame.part === 'exception';
    current = placeOf(index, frame.owner);
  }
}

function handledBy(index: DefinitionIndex, place: Place, loops: readonly LoopFrame[], error: ErrorRecord): Next | undefined {
  const paths = place.step.onException;
  if (error.class === 'business' && paths !== undefined) {
    const list = Object.hasOwn(paths, error.code) ? paths[error.code] : paths['*'];
    if (list !== undefined) return list[0] === undefined ? nextAfter(index, place, loops) : stepAt(index, list[0], loops);
  }
  return place.step.continueOnError === true ? nextAfter(index, place, loops) : undefined;
}

function atRoot(index: DefinitionIndex, place: Place, loops: readonly LoopFrame[]): Continuation {
  const policy = index.definition.onError ?? 'fail';
  if (policy === 'continue') return { next: nextAfter(index, place, loops) };
  return { next: { kind: 'run_failed', compensate: policy === 'compensate' } };
}

function iterationFailed(
  index: DefinitionIndex,
  frame: Frame,
  loops: readonly LoopFrame[],
  error: ErrorRecord,
  stepKey: string,
): Continuation {
  const owner = placeOf(index, frame.owner);
  const lane = loopLane(index, frame, loops);
  const current = frameOf(frame.owner, loops);
  const mark = { scope: `${lane.ownerKey}[${current.index}]`, error, stepKey };
  const tolerant = isLoop(owner.step) && owner.step.onItemError === 'continue';
  return tolerant ? { next: afterIteration(index, frame, loops), mark } : { next: { kind: 'early_join', lane, reason: 'failed' }, mark };
}

function branchFailed(
  index: DefinitionIndex,
  frame: Frame & { part: 'branch' },
  loops: readonly LoopFrame[],
  error: ErrorRecord,
  stepKey: string,
): Continuation {
  const lane = branchLane(index, frame, loops);
  const mark = { scope: `${lane.ownerKey}.${frame.name}`, error, stepKey };
  const step = lane.ownerPlace.step;
  const failFast = isParallel(step) && step.policy === 'all';
  return failFast ? { next: { kind: 'early_join', lane, reason: 'failed' }, mark } : { next: { kind: 'lane_end', lane }, mark };
}

function afterIteration(index: DefinitionIndex, frame: Frame, loops: readonly LoopFrame[]): Next {
  const current = frameOf(frame.owner, loops);
  const following = current.index + current.lanes;
  if (following >= current.count) return { kind: 'lane_end', lane: loopLane(index, frame, loops) };
  const owner = placeOf(index, frame.owner);
  const first = isLoop(owner.step) ? owner.step.steps[0] : undefined;
  if (first === undefined) throw new Error(`loop "${frame.owner}" has no steps`);
  return stepAt(index, first, loopsAround(owner, loops).concat({ ...current, index: following }));
}

function afterBranch(index: DefinitionIndex, frame: Frame & { part: 'branch' }, loops: readonly LoopFrame[]): Next {
  const lane = branchLane(index, frame, loops);
  const step = lane.ownerPlace.step;
  if (isParallel(step) && step.policy === 'any') return { kind: 'early_join', lane, reason: 'succeeded' };
  return { kind: 'lane_end', lane };
}

function stepAt(index: DefinitionIndex, step: StepConfig, loops: readonly LoopFrame[]): Next {
  const place = placeOf(index, step.id);
  const around = loopsAround(place, loops);
  return { kind: 'step', place, key: keyOf(place, around), loops: around, sensitive: index.sensitivity.steps.has(step.id) };
}

function loopLane(index: DefinitionIndex, frame: Frame, loops: readonly LoopFrame[]): Lane {
  const current = frameOf(frame.owner, loops);
  return { ...ownerOf(index, frame, loops), lane: current.index % current.lanes, lanes: current.lanes };
}

function branchLane(index: DefinitionIndex, frame: Frame & { part: 'branch' }, loops: readonly LoopFrame[]): Lane {
  const owner = ownerOf(index, frame, loops);
  const lanes = isParallel(owner.ownerPlace.step) ? Object.keys(owner.ownerPlace.step.branches).length : 1;
  return { ...owner, lane: frame.lane, lanes };
}

function ownerOf(
  index: DefinitionIndex,
  frame: Frame,
  loops: readonly LoopFrame[],
): Pick<Lane, 'owner' | 'ownerKey' | 'ownerPlace' | 'loops'> {
  const ownerPlace = placeOf(index, frame.owner);
  const around = loopsAround(ownerPlace, loops);
  return { owner: frame.owner, ownerKey: keyOf(ownerPlace, around), ownerPlace, loops: around };
}

function frameOf(owner: string, loops: readonly LoopFrame[]): LoopFrame {
  const current = loops.find((loop) => loop.stepId === owner);
  if (current === undefined) throw new Error(`no iteration of "${owner}" is known here`);
  return current;
}
