import { KilnError } from '../model/errors.ts';
import { parseDate, parseDuration } from './duration.ts';
import type { Json } from './json.ts';
import { jsonPath, pointerParts } from './json-path.ts';
import type { Problem } from './problem.ts';
import { checkSchema } from './schema-check.ts';
import { OPENING } from './template-syntax.ts';

interface DurationLimits {
  /** True when 0 makes no sense. */
  readonly positive?: boolean;
  readonly maxMs?: number;
  /** Words for the limit, with the way out. */
  readonly maxText?: string;
}

export function checkDuration(value: unknown, path: string, limits: DurationLimits = {}): Problem[] {
  if (value === undefined) return [];
  return attempt(path, () => {
    const ms = parseDuration(value, path);
    if (limits.positive === true && ms === 0) return `${path} is 0; give a time above 0, or leave it out`;
    if (limits.maxMs !== undefined && ms > limits.maxMs)
      return `${path} is ${JSON.stringify(value)}; ${limits.maxText ?? `at most ${limits.maxMs} ms`}`;
    return undefined;
  });
}

export function checkDate(value: unknown, path: string): Problem[] {
  return value === undefined ? [] : attempt(path, () => void parseDate(value, path));
}

function attempt(path: string, check: () => string | undefined): Problem[] {
  try {
    const message = check();
    return message === undefined ? [] : [{ path, code: 'duration.invalid', message }];
  } catch (error) {
    if (error instanceof KilnError) return [{ path, code: error.code, message: error.message }];
    throw error;
  }
}

/** Checks a JSON Schema that stands in the definition. */
export function checkSchemaAt(schema: unknown, path: string): Problem[] {
  if (schema === undefined) return [];
  return checkSchema(schema as Json).map((problem) => ({ ...problem, path: jsonPath(pointerParts(problem.path, schema), path) }));
}

/** Whether the text is filled in later, so that nothing can be said about its value now. */
export function holdsTemplate(value: unknown): boolean {
  return typeof value === 'string' && value.includes(OPENING);
}
