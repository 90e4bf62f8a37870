import type { LoopFrame } from '../model/step.ts';
import { keyOf, loopsAround, placeOf } from './definition-index.ts';
import type { DefinitionIndex, Frame, Place } from './definition-index.ts';

/** Why a reference from one step to another cannot be followed. */
export type ScopeFault = 'unknown' | 'self' | 'later' | 'other_branch' | 'inside_loop';

export type Visible = { readonly ok: true; readonly place: Place } | { readonly ok: false; readonly fault: ScopeFault };

/**
 * Whether `target` can be seen from `from`: it stands earlier in the same or an enclosing list, or inside a condition
 * or parallel that stands earlier. A loop is seen from outside through its own output only.
 */
export function visibleFrom(index: DefinitionIndex, from: Place, targetId: string): Visible {
  const target = index.places.get(targetId);
  if (target === undefined) return { ok: false, fault: 'unknown' };
  if (target.step.id === from.step.id) return { ok: false, fault: 'self' };
  let shared = 0;
  while (sameFrame(from.frames[shared], target.frames[shared])) shared += 1;
  const fromTop = topPosition(index, from, shared);
  const targetTop = topPosition(index, target, shared);
  // The target's own exception path: the step has ended when the path runs.
  if (targetTop === fromTop) {
    const exceptionOfTarget = from.frames[shared]?.owner === target.step.id && from.frames[shared]?.part === 'exception';
    const conditionOfTarget =
      from.frames[shared]?.owner === target.step.id && (from.frames[shared]?.part === 'then' || from.frames[shared]?.part === 'else');
    if (exceptionOfTarget || conditionOfTarget) return { ok: true, place: target };
    return { ok: false, fault: target.frames.length > shared ? 'other_branch' : 'later' };
  }
  if (targetTop > fromTop) return { ok: false, fault: 'later' };
  const deeper = target.frames.slice(shared);
  return deeper.some((frame) => frame.part === 'item') ? { ok: false, fault: 'inside_loop' } : { ok: true, place: target };
}

/** The key under which the visible step of that id ran, as seen from a step in these iterations. */
export function visibleKey(target: Place, loops: readonly LoopFrame[]): string {
  return keyOf(target, loopsAround(target, loops));
}

/** Position, in the list both share, of the step that is or contains the place. */
function topPosition(index: DefinitionIndex, place: Place, shared: number): number {
  const owner = place.frames[shared]?.owner;
  return owner === undefined ? place.position : placeOf(index, owner).position;
}

function sameFrame(left: Frame | undefined, right: Frame | undefined): boolean {
  return left !== undefined && left.owner === right?.owner && left.part === right.part && nameOf(left) === nameOf(right);
}

/** Which of several lists of its kind the frame is. */
function nameOf(frame: Frame): string | undefined {
  return frame.part === 'branch' ? frame.name : frame.part === 'exception' ? frame.code : undefined;
}
