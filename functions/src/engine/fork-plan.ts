import { KilnError } from '../model/errors.ts';
import type { LoopStep, ParallelStep, StepConfig } from '../model/definition.ts';
import type { LoopFrame, StepRecord } from '../model/step.ts';
import { childLists, framePrefix, isCondition, isLoop, isParallel, keyOf, loopsAround, placeOf } from './definition-index.ts';
import type { DefinitionIndex } from './definition-index.ts';

/** A step that the new run begins with. */
export interface Begun {
  readonly key: string;
  readonly stepId: string;
  readonly type: string;
  readonly loops: readonly LoopFrame[];
  readonly seq: number;
  readonly join?: StepRecord['join'];
}

/** Lanes of a reopened container that have ended already. */
export interface CountedLanes {
  readonly ownerKey: string;
  readonly lanes: number;
  readonly ended: readonly { readonly lane: number; readonly seq: number }[];
}

/** How a run becomes another that goes on from a point of it. */
export interface ForkPlan {
  /** Keys of steps whose results are taken over. */
  readonly kept: readonly string[];
  /** Keys of containers that go on waiting for their lanes. */
  readonly reopened: readonly string[];
  readonly begun: readonly Begun[];
  readonly counted: readonly CountedLanes[];
  /** Scopes (`each[3]`, `fan.left`) whose recorded failure is taken over. */
  readonly marks: readonly string[];
}

/**
 * Plans a fork. With `from`, everything before that step on its path is kept, and it and all that follows is done anew. Without
 * it, everything that ended well is kept, and what failed or was cut off is done anew. Lanes beside the path (other iterations,
 * other branches) are neither before nor after: what ended in them is kept, and they go on where they stood.
 *
 * @throws KilnError `command.refused` when the step does not stand at the same place of this version
 */
export function planFork(origin: ForkOrigin, from: StepRecord | undefined): ForkPlan {
  const { index } = origin;
  if (from !== undefined) {
    const place = index.places.get(from.stepId);
    if (place === undefined || keyOf(place, loopsAround(place, from.loops)) !== from.key) {
      throw new KilnError('command.refused', `the step "${from.stepId}" does not stand at "${from.key}" in this version of the workflow`);
    }
  }
  return new ForkPlanner(origin, from?.key).plan();
}

/** What is forked, and the version that the fork goes on with. */
export interface ForkOrigin {
  readonly index: DefinitionIndex;
  readonly steps: ReadonlyMap<string, StepRecord>;
  /** Scopes (`each[3]`, `fan.left`) whose failure is recorded: their container put up with it. */
  readonly failures: ReadonlySet<string>;
}

type End =
  | { readonly kind: 'done' }
  /** Something is under way in it. */
  | { readonly kind: 'open' }
  /** It ended with a failure that nothing in it handles. */
  | { readonly kind: 'failed'; readonly step: StepConfig; readonly key: string; readonly loops: readonly LoopFrame[] };

const done: End = { kind: 'done' };
const open: End = { kind: 'open' };

class ForkPlanner {
  readonly #index: DefinitionIndex;
  readonly #steps: ReadonlyMap<string, StepRecord>;
  readonly #failures: ReadonlySet<string>;
  readonly #target: string | undefined;
  readonly #keys: readonly string[];
  readonly #kept = new Set<string>();
  readonly #reopened: string[] = [];
  readonly #begun: Begun[] = [];
  readonly #counted: CountedLanes[] = [];
  readonly #marks: string[] = [];

  constructor({ index, steps, failures }: ForkOrigin, target: string | undefined) {
    this.#index = index;
    this.#steps = steps;
    this.#failures = failures;
    this.#target = target;
    this.#keys = [...steps.keys()].sort();
  }

  plan(): ForkPlan {
    const end = this.#list(this.#index.definition.steps, '', []);
    if (end.kind === 'failed') this.#begin(end.step, end.key, end.loops);
    return {
      kept: [...this.#kept],
      reopened: this.#reopened,
      begun: this.#begun,
      counted: this.#counted,
      marks: this.#marks,
    };
  }

  /** Walks the steps of a list as the run did. */
  #list(list: readonly StepConfig[], prefix: string, loops: readonly LoopFrame[]): End {
    const ahead = this.#target?.startsWith(prefix) === true;
    for (const step of list) {
      const key = prefix + step.id;
      if (key === this.#target) return this.#begin(step, key, loops);
      const doc = this.#steps.get(key);
      if (doc === undefined) {
        // New in this version, before the step to go on from: it is not done any more.
        if (ahead) continue;
        return this.#begin(step, key, loops);
      }
      const end = this.#step(step, key, loops, doc);
      if (end.kind === 'done') continue;
      // The failure is passed over by the run as a whole.
      if (end.kind === 'failed' && prefix === '' && this.#index.definition.onError === 'continue') {
        this.#keepWith(key);
        continue;
      }
      return end;
    }
    return done;
  }

  #step(step: StepConfig, key: string, loops: readonly LoopFrame[], doc: StepRecord): End {
    const inside = this.#isInside(key);
    switch (doc.state) {
      case 'succeeded':
      case 'skipped':
        if (isCondition(step)) return this.#condition(step, key, loops, doc);
        if (inside) return this.#reopen(step, key, loops);
        this.#keepWith(key);
        return done;
      case 'failed':
        return this.#failed(step, key, loops);
      case 'ready':
      case 'running':
      case 'waiting':
      case 'unresolved':
      case 'cancelled':
        return this.#reopen(step, key, loops);
    }
  }

  /** A signpost: kept, and followed into the list it chose. */
  #condition(step: StepConfig, key: string, loops: readonly LoopFrame[], doc: StepRecord): End {
    this.#kept.add(key);
    const part = doc.output?.json?.includes('"branch":"then"') === true ? 'then' : 'else';
    const chosen = childLists(step).find(({ frame }) => frame.part === part);
    const end = chosen === undefined ? done : this.#list(chosen.list, `${key}.${part}.`, loops);
    return end.kind === 'failed' ? this.#handled(step, key, loops, end) : end;
  }

  #failed(step: StepConfig, key: string, loops: readonly LoopFrame[]): End {
    const inException = this.#target?.startsWith(`${key}.onException.`) === true;
    if (this.#isInside(key) && !inException) return this.#reopen(step, key, loops);
    const end = this.#handled(step, key, loops, { kind: 'failed', step, key, loops });
    if (end.kind !== 'failed') return end;
    // What failed in a container is inside it: it is opened again there, not begun from its first item.
    return isLoop(step) || isParallel(step) ? this.#reopen(step, key, loops) : end;
  }

  /** A failure that the step's exception path took, or that is passed over, is no failure of the list. */
  #handled(step: StepConfig, key: string, loops: readonly LoopFrame[], failure: End & { kind: 'failed' }): End {
    if (this.#under(`${key}.onException.`).length > 0) {
      const taken = childLists(step).find(({ frame, list }) => frame.part === 'exception' && this.#began(list, key));
      this.#keepWith(key, `${key}.onException.`);
      return taken === undefined ? done : this.#list(taken.list, framePrefix(taken.frame, key, loops), loops);
    }
    if (step.continueOnError === true || this.#passedOver(step, key)) {
      this.#keepWith(key);
      return done;
    }
    return failure;
  }

  /** The failure has an exception path without steps. */
  #passedOver({ onException }: StepConfig, key: string): boolean {
    const error = this.#steps.get(key)?.error;
    if (onException === undefined || error?.class !== 'business') return false;
    const list = Object.hasOwn(onException, error.code) ? onException[error.code] : onException['*'];
    return list?.length === 0;
  }

  #began(list: readonly StepConfig[], key: string): boolean {
    return list[0] !== undefined && this.#steps.has(`${key}.onException.${list[0].id}`);
  }

  /** A container that goes on: its lanes are walked. Any other step is begun anew. */
  #reopen(step: StepConfig, key: string, loops: readonly LoopFrame[]): End {
    if (isLoop(step)) return this.#loop(step, key, loops);
    if (isParallel(step) && this.#under(`${key}.`).length > 0) return this.#parallel(step, key, loops);
    return this.#begin(step, key, loops);
  }

  #loop(step: LoopStep, key: string, loops: readonly LoopFrame[]): End {
    const child = this.#under(`${key}[`)[0];
    const frame = child === undefined ? undefined : this.#steps.get(child)?.loops.find(({ stepId }) => stepId === step.id);
    if (frame === undefined) return this.#begin(step, key, loops);
    this.#reopened.push(key);
    const { count, lanes } = frame;
    const ended: { lane: number; seq: number }[] = [];
    for (let lane = 0; lane < lanes; lane += 1) {
      let seq = this.#seqOf(key);
      let at = lane;
      for (; at < count; at += lanes) {
        if (!this.#iteration(step, key, [...loops, { ...frame, index: at }])) break;
        seq = Math.max(seq, ...this.#under(`${key}[${at}].`).map((found) => this.#seqOf(found)));
      }
      if (at >= count) ended.push({ lane, seq });
    }
    return this.#count(step, key, loops, lanes, ended);
  }

  /** True when the iteration has ended. */
  #iteration(step: LoopStep, key: string, loops: readonly LoopFrame[]): boolean {
    const scope = `${key}[${loops.at(-1)?.index ?? 0}]`;
    const end = this.#list(step.steps, `${scope}.`, loops);
    if (end.kind === 'done') return true;
    if (end.kind === 'open') return false;
    return this.#laneFailed(scope, end, step.onItemError === 'continue');
  }

  #parallel(step: ParallelStep, key: string, loops: readonly LoopFrame[]): End {
    this.#reopened.push(key);
    const ended: { lane: number; seq: number }[] = [];
    const branches = childLists(step).flatMap(({ frame, list }) => (frame.part === 'branch' ? [{ frame, list }] : []));
    for (const { frame, list } of branches) {
      const scope = `${key}.${frame.name}`;
      const end = this.#list(list, `${scope}.`, loops);
      const ends = end.kind === 'done' || (end.kind === 'failed' && this.#laneFailed(scope, end, step.policy !== 'all'));
      if (ends)
        ended.push({ lane: frame.lane, seq: Math.max(this.#seqOf(key), ...this.#under(`${scope}.`).map((found) => this.#seqOf(found))) });
    }
    return this.#count(step, key, loops, branches.length, ended);
  }

  /** A failure that the container puts up with is kept; one that ended it is done anew. */
  #laneFailed(scope: string, end: End & { kind: 'failed' }, tolerant: boolean): boolean {
    if (!tolerant || !this.#failures.has(scope)) {
      this.#begin(end.step, end.key, end.loops);
      return false;
    }
    for (const key of this.#under(`${scope}.`)) this.#kept.add(key);
    this.#marks.push(scope);
    return true;
  }

  #count(step: StepConfig, key: string, loops: readonly LoopFrame[], lanes: number, ended: readonly { lane: number; seq: number }[]): End {
    this.#counted.push({ ownerKey: key, lanes, ended });
    if (ended.length < lanes) return open;
    const seqSum = ended.reduce((sum, { seq }) => sum + seq, 0);
    const join = { owner: step.id, ownerKey: key, reason: 'complete', lane: 0, seqSum, lanes } as const;
    const seq = Math.max(...ended.map((lane) => lane.seq)) + 1;
    this.#begun.push({ key: `${key}.$join`, stepId: step.id, type: '$join', loops, seq, join });
    return open;
  }

  #begin(step: StepConfig, key: string, loops: readonly LoopFrame[]): End {
    const around = loopsAround(placeOf(this.#index, step.id), loops);
    this.#begun.push({ key, stepId: step.id, type: step.type, loops: around, seq: Math.max(1, this.#seqOf(key)) });
    return open;
  }

  /** The step and everything inside it, except below `without`. */
  #keepWith(key: string, without?: string): void {
    for (const found of [key, ...this.#under(`${key}.`), ...this.#under(`${key}[`)]) {
      if (this.#steps.has(found) && (without === undefined || !found.startsWith(without))) this.#kept.add(found);
    }
  }

  #isInside(key: string): boolean {
    return this.#target?.startsWith(`${key}.`) === true || this.#target?.startsWith(`${key}[`) === true;
  }

  #seqOf(key: string): number {
    return this.#steps.get(key)?.seq ?? 0;
  }

  /** Keys that begin with the prefix; they stand together in the sorted list. */
  #under(prefix: string): readonly string[] {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#keys[middle] ?? '') < prefix) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (this.#keys[end]?.startsWith(prefix) === true) end += 1;
    return this.#keys.slice(low, end);
  }
}
