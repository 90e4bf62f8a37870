/** Checks a value with the validator that the engine uses. Loaded with the first form. */
import type { Json } from '@engine/json.ts';

export interface Fault {
  /** JSON pointer. */
  readonly path: string;
  readonly message: string;
}

export async function faultsOf(schema: Json, value: Json): Promise<readonly Fault[]> {
  const { Validator } = await import('@cfworker/json-schema');
  const result = new Validator(typeof schema === 'boolean' ? schema : (schema as object), '2020-12', false).validate(value);
  if (result.valid) return [];
  const faults = result.errors.map((error) => ({
    path: error.instanceLocation.replace(/^#/, ''),
    keyword: error.keyword,
    message: error.error,
  }));
  // A property that is missing is reported at its object: show it where the field stands.
  const placed = faults.flatMap(({ path, keyword, message }): Fault[] => {
    const missing = keyword === 'required' ? /"([^"]+)"/.exec(message)?.[1] : undefined;
    if (missing !== undefined) return [{ path: `${path}/${missing}`, message }];
    return keyword === 'properties' || keyword === 'items' || keyword === 'additionalProperties' ? [] : [{ path, message }];
  });
  return placed.length > 0 ? placed : faults.map(({ path, message }) => ({ path, message }));
}
