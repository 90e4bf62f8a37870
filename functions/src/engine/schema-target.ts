import { pointer } from './json.ts';
import type { Json } from './json.ts';
import type { PayForWork } from './pattern.ts';
import type { Problem } from './problem.ts';

const PROBLEMS_MAX = 50;

export type JsonObject = { [key: string]: Json };

/** Where in the value we are, innermost first: a path is rarely needed, so none is built until then. */
export interface Place {
  readonly outer: Place | null;
  readonly key: string | number;
}

/** Properties and items that some schema has looked at, for unevaluatedProperties and unevaluatedItems. */
export interface Evaluated {
  readonly properties: Set<string>;
  readonly items: Set<number>;
}

/** Where problems go; null when only the verdict matters. */
export type Sink = Problem[] | null;

/** What one schema is applied to. */
export interface Target {
  readonly value: Json;
  readonly place: Place | null;
  readonly sink: Sink;
  /** Null unless the schema asks anywhere for what was not evaluated. */
  readonly evaluated: Evaluated | null;
  readonly spend: PayForWork;
}

/** True when more problems are wanted, so that checking goes on after the first. */
export function wantsMore(sink: Sink): boolean {
  return sink !== null && sink.length < PROBLEMS_MAX;
}

/** Notes a problem; false, so that it can be returned as the verdict. */
export function fail(sink: Sink, place: Place | null, message: string): false {
  if (sink !== null && wantsMore(sink)) {
    sink.push({ path: pathOf(place), code: 'schema.mismatch', message });
  }
  return false;
}

function pathOf(place: Place | null): string {
  const keys: (string | number)[] = [];
  for (let current = place; current !== null; current = current.outer) {
    keys.push(current.key);
  }
  return pointer(keys.toReversed());
}

/** How far an alternative is from matching; one whose very type differs is farthest. */
export function distance(problems: readonly Problem[], place: Place | null): number {
  const path = pathOf(place);
  const otherType = problems.some((problem) => problem.path === path && problem.message.startsWith('must be of type'));
  return problems.length + (otherType ? PROBLEMS_MAX : 0);
}

export function merge(into: Evaluated, from: Evaluated): void {
  for (const property of from.properties) into.properties.add(property);
  for (const item of from.items) into.items.add(item);
}
