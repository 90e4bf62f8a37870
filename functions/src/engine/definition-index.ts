import type { ConditionStep, Definition, LoopStep, ParallelStep, StepConfig } from '../model/definition.ts';
import type { LoopFrame } from '../model/step.ts';
import { jsonPath } from './json-path.ts';
import { sensitivityOf } from './sensitivity.ts';
import type { Sensitivity } from './sensitivity.ts';

/** One enclosing list: whose it is, and which of the owner's lists. */
export type Frame =
  | { readonly owner: string; readonly part: 'then' | 'else' | 'item' }
  | { readonly owner: string; readonly part: 'exception'; readonly code: string }
  | { readonly owner: string; readonly part: 'branch'; readonly name: string; readonly lane: number };

/** Where a step stands in a definition. */
export interface Place {
  readonly step: StepConfig;
  readonly list: readonly StepConfig[];
  readonly position: number;
  /** Enclosing lists, outermost first. */
  readonly frames: readonly Frame[];
  /** JSON path in the definition: `steps[2].branches.left[0]`. */
  readonly path: string;
}

export interface DefinitionIndex {
  readonly definition: Definition;
  readonly places: ReadonlyMap<string, Place>;
  /** Ids that stand more than once. */
  readonly duplicates: readonly string[];
  readonly depth: number;
  readonly sensitivity: Sensitivity;
}

interface Pending {
  readonly list: readonly StepConfig[];
  readonly frames: readonly Frame[];
  readonly path: string;
}

interface ChildList {
  readonly frame: Frame;
  readonly list: readonly StepConfig[];
}

/** The lists that a step owns, with their frames. */
export function childLists(step: StepConfig): readonly ChildList[] {
  const lists: ChildList[] = [];
  if (isCondition(step)) {
    lists.push({ frame: { owner: step.id, part: 'then' }, list: step.then });
    if (step.else !== undefined) lists.push({ frame: { owner: step.id, part: 'else' }, list: step.else });
  } else if (isLoop(step)) {
    lists.push({ frame: { owner: step.id, part: 'item' }, list: step.steps });
  } else if (isParallel(step)) {
    Object.entries(step.branches).forEach(([name, list], lane) =>
      lists.push({ frame: { owner: step.id, part: 'branch', name, lane }, list }),
    );
  }
  for (const [code, list] of Object.entries(step.onException ?? {}))
    lists.push({ frame: { owner: step.id, part: 'exception', code }, list });
  return lists;
}

/** JSON path of a child list, given its owner's. */
export function listPath(frame: Frame, ownerPath: string): string {
  switch (frame.part) {
    case 'then':
    case 'else':
      return jsonPath([frame.part], ownerPath);
    case 'item':
      return jsonPath(['steps'], ownerPath);
    case 'branch':
      return jsonPath(['branches', frame.name], ownerPath);
    case 'exception':
      return jsonPath(['onException', frame.code], ownerPath);
  }
}

export function isCondition(step: StepConfig): step is ConditionStep {
  return step.type === 'condition';
}
export function isLoop(step: StepConfig): step is LoopStep {
  return step.type === 'loop';
}
export function isParallel(step: StepConfig): step is ParallelStep {
  return step.type === 'parallel';
}

/** Indexes a definition by step id. Iterative: nesting cannot overflow the stack. */
export function indexDefinition(definition: Definition): DefinitionIndex {
  const places = new Map<string, Place>();
  const duplicates: string[] = [];
  let depth = 0;
  const pending: Pending[] = [{ list: definition.steps, frames: [], path: 'steps' }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { list, frames, path: listAt } = next;
    depth = Math.max(depth, frames.length + 1);
    list.forEach((step, position) => {
      const path = `${listAt}[${position}]`;
      if (places.has(step.id)) duplicates.push(step.id);
      else places.set(step.id, { step, list, position, frames, path });
      for (const { list: inner, frame } of childLists(step))
        pending.push({ list: inner, frames: [...frames, frame], path: listPath(frame, path) });
    });
  }
  return { definition, places, duplicates, depth, sensitivity: sensitivityOf(definition, places) };
}

export function placeOf(index: DefinitionIndex, stepId: string): Place {
  const place = index.places.get(stepId);
  if (place === undefined) throw new Error(`the pinned definition has no step "${stepId}"`);
  return place;
}

/** The key prefix that a frame's steps share, given the owner's key. */
export function framePrefix(frame: Frame, ownerKey: string, loops: readonly LoopFrame[]): string {
  switch (frame.part) {
    case 'then':
    case 'else':
      return `${ownerKey}.${frame.part}.`;
    case 'exception':
      return `${ownerKey}.onException.`;
    case 'branch':
      return `${ownerKey}.${frame.name}.`;
    case 'item': {
      const loop = loops.find((candidate) => candidate.stepId === frame.owner);
      if (loop === undefined) throw new Error(`no iteration of "${frame.owner}" is known here`);
      return `${ownerKey}[${loop.index}].`;
    }
  }
}

/** The step's key, given the iterations of the loops that enclose it. */
export function keyOf(place: Place, loops: readonly LoopFrame[]): string {
  let prefix = '';
  for (const frame of place.frames) prefix = framePrefix(frame, prefix + frame.owner, loops);
  return prefix + place.step.id;
}

/** The iterations that enclose the owner of the place's innermost loops only as far as they enclose `place`. */
export function loopsAround(place: Place, loops: readonly LoopFrame[]): readonly LoopFrame[] {
  const owners = new Set(place.frames.filter((frame) => frame.part === 'item').map((frame) => frame.owner));
  return loops.filter((loop) => owners.has(loop.stepId));
}
