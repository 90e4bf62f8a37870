import { toErrorRecord } from '../model/errors.ts';
import { parseJson } from './json.ts';
import { validateAgainst } from './schema-check.ts';

const SHOWN_FAULTS = 5;

/** What is wrong with edited values, in words; undefined when they fit the form. Both are JSON text. */
export function faultOfValues(form: string, values: string): string | undefined {
  try {
    const problems = validateAgainst(parseJson(form), parseJson(values));
    if (problems.length === 0) return undefined;
    const faults = problems
      .slice(0, SHOWN_FAULTS)
      .map((problem) => `${problem.path === '' ? 'the whole' : problem.path}: ${problem.message}`);
    return `the edited values do not fit the form: ${faults.join('; ')}`;
  } catch (error) {
    return `the edited values cannot be read: ${toErrorRecord(error).message}`;
  }
}
