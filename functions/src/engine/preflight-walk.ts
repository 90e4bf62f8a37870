import type { Definition, StepConfig } from '../model/definition.ts';
import { childLists, listPath } from './definition-index.ts';
import type { Frame, Place } from './definition-index.ts';

/** A step where it stands, doubled ids included. */
export interface Stand extends Place {
  /** The longest document key that a run can give it, in characters (all ASCII). */
  readonly keyLength: number;
  /** The same of the step that contains it; 0 at the root. */
  readonly ownerKeyLength: number;
}

/** Digits of the largest index that any loop allows. */
const INDEX_DIGITS = 7;

interface Pending {
  readonly list: readonly StepConfig[];
  readonly frames: readonly Frame[];
  readonly path: string;
  readonly prefixLength: number;
  readonly ownerKeyLength: number;
}

/** Every step in the order of the text. Iterative: nesting cannot overflow the stack. */
export function allSteps(definition: Definition): Stand[] {
  const found: Stand[] = [];
  const pending: (Pending | Stand)[] = [{ list: definition.steps, frames: [], path: 'steps', prefixLength: 0, ownerKeyLength: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ('step' in next) {
      found.push(next);
      pending.push(...listsOf(next).reverse());
    } else {
      const { list, frames, path, prefixLength, ownerKeyLength } = next;
      const steps = list.map((step, position) => {
        const keyLength = prefixLength + step.id.length;
        return { step, list, position, frames, path: `${path}[${position}]`, keyLength, ownerKeyLength };
      });
      pending.push(...steps.reverse());
    }
  }
  return found;
}

function listsOf({ step, frames, path, keyLength }: Stand): Pending[] {
  return childLists(step).map(({ frame, list }) => ({
    list,
    frames: [...frames, frame],
    path: listPath(frame, path),
    prefixLength: keyLength + partLength(frame),
    ownerKeyLength: keyLength,
  }));
}

/** Length of what stands between the owner's key and the step's id; see `framePrefix`. */
function partLength(frame: Frame): number {
  switch (frame.part) {
    case 'then':
    case 'else':
      return frame.part.length + 2;
    case 'item':
      return INDEX_DIGITS + 3;
    case 'branch':
      return frame.name.length + 2;
    case 'exception':
      return 'onException'.length + 2;
  }
}
