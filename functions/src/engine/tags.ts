import type { StartedBy } from '../model/run.ts';

/** One attribute of a run as it is searched for. */
export function tagOf(name: string, value: string): string {
  return `${name}=${value}`;
}

/** By whom a run was started; no declared attribute begins with `$`. */
export function starterTag({ kind, id }: StartedBy): string {
  return tagOf('$by', `${kind}:${id}`);
}
