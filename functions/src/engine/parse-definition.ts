import {
  conditionStepSchema,
  controlTypes,
  definitionLimits,
  definitionSchema,
  loopStepSchema,
  parallelStepSchema,
} from '../model/definition.ts';
import type { Definition } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import { byteLength, canonicalJson } from './json.ts';
import { jsonPath, pointerParts, valueAt } from './json-path.ts';
import type { PathPart } from './json-path.ts';
import type { Problem } from './problem.ts';
import { zodProblems } from './zod-problems.ts';

export interface ParsedDefinition {
  /** Present when there are no problems; equal to what its canonical JSON parses to. */
  readonly definition?: Definition;
  /** The canonical JSON, of which the hash is taken. */
  readonly text?: string;
  readonly problems: Problem[];
}

/** Reads a definition from anything: every problem of its form at once. What it means is checked by `checkDefinition`. */
export function parseDefinition(json: unknown): ParsedDefinition {
  let text: string;
  try {
    text = canonicalJson(json);
  } catch (error) {
    if (error instanceof KilnError) return { problems: [notJson(error, json)] };
    throw error;
  }
  const size = byteLength(text);
  if (size > definitionLimits.maxDefinitionBytes) return { problems: [tooLarge(size)] };
  const value: unknown = JSON.parse(text);
  const forbidden = protoKeys(value, text);
  if (forbidden.length > 0) return { problems: forbidden };
  const parsed = definitionSchema.safeParse(value);
  if (parsed.success) return { definition: value as Definition, text, problems: [] };
  const fieldsAt = (path: readonly PathPart[]): readonly string[] | undefined => knownFields(valueAt(value, path), path);
  return { problems: zodProblems(parsed.error.issues, value, { code: 'definition.invalid', fieldsAt }) };
}

const PROTO = '__proto__';

/** The schema's records pass over such a key, so what is below it would not be checked. */
function protoKeys(root: unknown, text: string): Problem[] {
  if (!text.includes(`"${PROTO}"`)) return [];
  const found: Problem[] = [];
  const pending: { readonly value: unknown; readonly path: readonly PathPart[] }[] = [{ value: root, path: [] }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null) continue;
    const entries: [PathPart, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
    for (const [key, member] of entries) {
      const at = [...path, key];
      if (key === PROTO) found.push({ path: jsonPath(at), code: 'definition.invalid', message: `the key "${PROTO}" cannot be used` });
      pending.push({ value: member, path: at });
    }
  }
  return found;
}

export function tooLarge(size: number): Problem {
  const message = `the definition has ${size} bytes as JSON; the limit is ${definitionLimits.maxDefinitionBytes}. Move parts into subworkflows, or data into the input`;
  return { path: '', code: 'definition.invalid', message };
}

/** The code stays that of a definition: `payload.…` would send the reader to the wrong help. */
function notJson(error: KilnError, json: unknown): Problem {
  const { data } = error;
  const pointer = typeof data === 'object' && data !== null && 'path' in data && typeof data.path === 'string' ? data.path : '';
  return { path: jsonPath(pointerParts(pointer, json)), code: 'definition.invalid', message: error.message };
}

function knownFields(value: unknown, path: readonly PathPart[]): readonly string[] | undefined {
  if (path.length === 0) return Object.keys(definitionSchema.shape);
  const type = valueAt(value, ['type']);
  const control = controlTypes.find((known) => known === type);
  switch (control) {
    case 'condition':
      return Object.keys(conditionStepSchema.shape);
    case 'loop':
      return Object.keys(loopStepSchema.shape);
    case 'parallel':
      return Object.keys(parallelStepSchema.shape);
    case undefined:
      return undefined;
  }
}
