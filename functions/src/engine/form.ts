import { Validator } from '@cfworker/json-schema';
import type { Schema } from '@cfworker/json-schema';
import { toErrorRecord } from '../model/errors.ts';
import { parseJson } from './json.ts';

const SHOWN_FAULTS = 5;

/** What is wrong with edited values, in words; undefined when they fit the form. Both are JSON text. */
export function faultOfValues(form: string, values: string): string | undefined {
  try {
    const schema = parseJson(form) as Schema | boolean;
    const result = new Validator(schema, '2020-12', false).validate(parseJson(values));
    if (result.valid) return undefined;
    const faults = result.errors.slice(-SHOWN_FAULTS).map((fault) => `${fault.instanceLocation}: ${fault.error}`);
    return `the edited values do not fit the form: ${faults.join(' ')}`;
  } catch (error) {
    return `the edited values cannot be read: ${toErrorRecord(error).message}`;
  }
}
