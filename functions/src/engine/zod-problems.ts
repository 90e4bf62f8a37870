import type { z } from 'zod';
import type { ErrorCode } from '../model/errors.ts';
import { jsonPath, valueAt } from './json-path.ts';
import type { PathPart } from './json-path.ts';
import { nearestKey } from './nearest.ts';
import type { Problem } from './problem.ts';

type Issue = z.core.$ZodIssue;

export interface ZodProblemOptions {
  readonly code: ErrorCode;
  /** JSON path of the checked value. */
  readonly base?: string;
  /** The fields that an object at this path may have, to suggest the nearest. */
  readonly fieldsAt?: (path: readonly PathPart[]) => readonly string[] | undefined;
  /** True for a value that is not known yet, so that no issue about it counts. */
  readonly unknownYet?: (value: unknown, path: readonly PathPart[]) => boolean;
}

/** Zod's issues as problems: each with its place, and words that say what to write instead. */
export function zodProblems(issues: readonly Issue[], value: unknown, options: ZodProblemOptions): Problem[] {
  return issues
    .filter((issue) => !isExcused(issue, value, [], options))
    .flatMap((issue) =>
      described(issue, value, options).map(({ path, message }) => ({ path: jsonPath(path, options.base), code: options.code, message })),
    );
}

/** Whether the issue is about a value that is not known yet, or for a union: whether one alternative fails for such values only. */
function isExcused(issue: Issue, root: unknown, base: readonly PathPart[], options: ZodProblemOptions): boolean {
  const { unknownYet } = options;
  if (unknownYet === undefined) return false;
  const path = [...base, ...partsOf(issue.path)];
  for (let length = 0; length <= path.length; length += 1) {
    const inside = path.slice(0, length);
    if (unknownYet(valueAt(root, inside), inside)) return true;
  }
  if (issue.code !== 'invalid_union') return false;
  return issue.errors.some((option) => option.length > 0 && option.every((inner) => isExcused(inner, root, path, options)));
}

interface Described {
  readonly path: readonly PathPart[];
  readonly message: string;
}

function described(issue: Issue, root: unknown, options: ZodProblemOptions): Described[] {
  const path = partsOf(issue.path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key], message: unknownField(key, options.fieldsAt?.(path)) }));
    case 'invalid_type':
      return [{ path, message: wrongType(issue.expected, valueAt(root, path), path) }];
    case 'invalid_value':
      return [{ path, message: oneOf(issue.values, valueAt(root, path)) }];
    case 'invalid_union':
      return ofUnion(issue, root, path, options);
    case 'invalid_key':
    case 'invalid_element':
      return [{ path, message: issue.issues[0]?.message ?? issue.message }];
    default:
      return [{ path, message: issue.message }];
  }
}

function ofUnion(
  issue: Issue & { readonly code: 'invalid_union' },
  root: unknown,
  path: readonly PathPart[],
  options: ZodProblemOptions,
): Described[] {
  const choices = 'options' in issue && Array.isArray(issue.options) ? (issue.options as unknown[]) : [];
  if (choices.length > 0) return [{ path, message: oneOf(choices, valueAt(root, path)) }];
  const types = issue.errors.map((option) =>
    option.length === 1 && option[0]?.code === 'invalid_type' && option[0].path.length === 0 ? option[0].expected : undefined,
  );
  if (types.every((type) => type !== undefined))
    return [{ path, message: wrongType([...new Set(types)].join(' or '), valueAt(root, path), path) }];
  // The alternative that got furthest is the one that was meant.
  const [closest] = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a) || a.length - b.length);
  return (closest ?? []).flatMap((inner) => described({ ...inner, path: [...path, ...inner.path] }, root, options));
}

function depthOf(issues: readonly Issue[]): number {
  return Math.max(0, ...issues.map((issue) => issue.path.length + (issue.code === 'invalid_type' && issue.path.length === 0 ? -1 : 0)));
}

function unknownField(key: string, fields: readonly string[] | undefined): string {
  const nearest = fields === undefined ? undefined : nearestKey(fields, key);
  const name = JSON.stringify(key.toWellFormed().slice(0, 100));
  return nearest === undefined
    ? `there is no field ${name} here; remove it`
    : `there is no field ${name} here; the nearest is "${nearest}"`;
}

function wrongType(expected: string, value: unknown, path: readonly PathPart[]): string {
  const wanted = expected.replace('record', 'object').replace('array', 'list').replace('int', 'whole number');
  const one = `${/^[aeio]/.test(wanted) ? 'an' : 'a'} ${wanted}`;
  if (value === undefined) return `${JSON.stringify(String(path.at(-1) ?? 'value'))} is missing; give ${one}`;
  return `this must be ${one}, not ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function oneOf(choices: readonly unknown[], value: unknown): string {
  const list = choices.map((choice) => JSON.stringify(choice)).join(', ');
  const words = choices.length === 1 ? `this must be ${list}` : `this must be one of ${list}`;
  if (typeof value !== 'string') return words;
  const nearest = nearestKey(
    choices.filter((choice) => typeof choice === 'string'),
    value,
  );
  return nearest === undefined || choices.length === 1
    ? words
    : `${words}; the nearest to ${JSON.stringify(value.slice(0, 100))} is "${nearest}"`;
}

function partsOf(path: readonly PropertyKey[]): PathPart[] {
  return path.map((part) => (typeof part === 'symbol' ? String(part) : part));
}
