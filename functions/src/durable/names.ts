import { KilnError } from '../model/errors.ts';

/** Names become document ids and parts of task names, so only what is safe in both is taken. `#` and `$` are the engine's. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,119}$/;

/** Refuses a name that cannot be a step key. */
export function checkName(name: unknown, what: string): string {
  if (typeof name === 'string' && namePattern.test(name)) return name;
  const shown = typeof name === 'string' ? JSON.stringify(name.toWellFormed().slice(0, 60)) : `a ${typeof name}`;
  throw new KilnError(
    'code.name_invalid',
    `${shown} cannot be the name of ${what}: a name has 1 to 120 letters, digits, "_", "-", ".", ":" or "@", and starts with a letter or digit. Put values such as ids through encodeURIComponent and replace "%".`,
  );
}

/** The key of the n-th use of a name: `fetch`, `fetch#2`, `fetch#3`. */
export function keyOfUse(name: string, use: number): string {
  return use === 1 ? name : `${name}#${use}`;
}
