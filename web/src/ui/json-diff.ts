import type { Json } from '@engine/json.ts';

/** One place where two values differ. */
export interface Change {
  /** Readable path: `address.city`, `lines[2].amount`; empty for the whole value. */
  readonly path: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

const MAX_CHANGES = 500;

/** The places where two JSON values differ, in the order of the keys. Iterative: nesting cannot overflow the stack. */
export function diffJson(before: Json | undefined, after: Json | undefined): readonly Change[] {
  const changes: Change[] = [];
  const pending: Change[] = [{ path: '', before, after }];
  for (let next = pending.pop(); next !== undefined && changes.length < MAX_CHANGES; next = pending.pop()) {
    if (same(next.before, next.after)) continue;
    const inner = membersOf(next);
    if (inner === undefined) changes.push(next);
    else pending.push(...inner.reverse());
  }
  return changes;
}

function membersOf({ path, before, after }: Change): Change[] | undefined {
  if (Array.isArray(before) && Array.isArray(after)) {
    return Array.from({ length: Math.max(before.length, after.length) }, (_, index) => ({
      path: `${path}[${index}]`,
      before: before[index],
      after: after[index],
    }));
  }
  if (!isObject(before) || !isObject(after)) return undefined;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.map((name) => ({ path: path === '' ? name : `${path}.${name}`, before: own(before, name), after: own(after, name) }));
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(object: { [key: string]: Json }, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Equal without regard to the order of keys, one level at a time: containers are compared by their members. */
function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  return Object.keys(a).length === 0 && Object.keys(b).length === 0;
}
