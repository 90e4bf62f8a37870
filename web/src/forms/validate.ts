/** Checks a value with the validator that the engine uses. Loaded with the first form. */
import type { Json } from '@engine/json.ts';
import { valueAt } from './fields.ts';

export interface Fault {
  /** JSON pointer. */
  readonly path: string;
  /** The keyword of JSON Schema that is not kept. */
  readonly keyword: string;
  /** What the schema says at that keyword, such as the largest number. */
  readonly bound?: Json;
  /** The validator's own words. */
  readonly message: string;
}

/** They only say that something below them does not fit. */
const containers = new Set(['properties', 'items', 'prefixItems', 'additionalProperties', '$ref', 'allOf']);

export async function faultsOf(schema: Json, value: Json): Promise<readonly Fault[]> {
  const { Validator } = await import('@cfworker/json-schema');
  const result = new Validator(typeof schema === 'boolean' ? schema : (schema as object), '2020-12', false).validate(value);
  if (result.valid) return [];
  const faults = result.errors.map(({ instanceLocation, keywordLocation, keyword, error }): Fault => {
    const bound = valueAt(schema, keywordLocation.replace(/^#/, ''));
    return { path: instanceLocation.replace(/^#/, ''), keyword, message: error, ...(bound === undefined ? {} : { bound }) };
  });
  // A property that is missing is reported at its object: show it where the field stands.
  const placed = faults.flatMap((fault): Fault[] => {
    const missing = fault.keyword === 'required' ? /"([^"]+)"/.exec(fault.message)?.[1] : undefined;
    if (missing !== undefined) return [{ ...fault, path: `${fault.path}/${missing}` }];
    return containers.has(fault.keyword) ? [] : [fault];
  });
  return placed.length > 0 ? placed : faults;
}
