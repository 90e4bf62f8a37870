import { KilnError } from '../model/errors.ts';

/** The Kiln error that the call throws; anything else that happens is thrown on. */
export function kilnErrorOf(call: () => unknown): KilnError {
  const error = thrownBy(call);
  if (error instanceof KilnError) {
    return error;
  }
  throw error ?? new Error('expected an error, but the call returned');
}

/** What the call throws, or undefined when it returns. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** True when the call returns or throws a Kiln error: it never crashes with anything else. */
export function isOrderly(call: () => unknown): boolean {
  const error = thrownBy(call);
  return error === undefined || error instanceof KilnError;
}
