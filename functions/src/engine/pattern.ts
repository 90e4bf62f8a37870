import { RE2JS, RE2JSException } from 're2js';

const PATTERN_MAX_CHARS = 1_000;
const PROGRAM_MAX = 1_000;
const CACHE_MAX = 200;

/** A regular expression that takes linear time. */
export interface LinearPattern {
  /** True when it matches anywhere in the text. */
  test(text: string): boolean;
  /** Rough cost of testing a text: characters × size of the compiled pattern. */
  cost(text: string): number;
}

const cache = new Map<string, LinearPattern>();

/**
 * Compiles a pattern that a user wrote. V8's own engine can take exponential time on such a pattern, RE2 cannot; in return it
 * has no look-around and no back-references.
 *
 * @throws Error whose message says what is wrong with the pattern
 */
export function compilePattern(source: string): LinearPattern {
  const known = cache.get(source);
  if (known !== undefined) {
    return known;
  }
  if (source.length > PATTERN_MAX_CHARS) {
    throw new Error(`the pattern is longer than ${PATTERN_MAX_CHARS} characters`);
  }
  const compiled = compile(source);
  const size = compiled.programSize();
  if (size > PROGRAM_MAX) {
    throw new Error('the pattern is too complex; use fewer or smaller repetitions');
  }
  const pattern: LinearPattern = { test: (text) => compiled.test(text), cost: (text) => (text.length + 1) * size };
  if (cache.size >= CACHE_MAX) {
    cache.clear();
  }
  cache.set(source, pattern);
  return pattern;
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    if (error instanceof RE2JSException) {
      throw new Error(
        `the pattern is not valid (${error.message.replace('error parsing regexp: ', '')}); look-around and back-references are not supported`,
        {
          cause: error,
        },
      );
    }
    throw error;
  }
}
