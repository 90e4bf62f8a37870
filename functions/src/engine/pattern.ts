import { RE2JS, RE2JSException } from 're2js';

const PATTERN_MAX_CHARS = 1_000;
const PROGRAM_MAX = 1_000;
/** Compiling takes time in proportion to what the repetitions unfold to. */
const UNFOLDED_MAX = 20_000;
/** Characters × size of the compiled pattern that one test may have: under half a second at the worst. */
const TEST_MAX = 2_000_000;
const CACHE_MAX = 200;
/** A pattern that has built more states than this holds megabytes; it is not kept. */
const STATES_KEPT_MAX = 1_000;

/** A unit of work is a quarter of a microsecond; the function throws when there has been too much. */
export type PayForWork = (amount: number) => void;

/** A regular expression that takes linear time. */
export interface LinearPattern {
  /** True when it matches anywhere in the text. */
  test(text: string, pay: PayForWork): boolean;
}

const cache = new Map<string, LinearPattern>();

/**
 * Compiles a pattern that a user wrote. V8's own engine can take exponential time on such a pattern, RE2 cannot; in return it
 * has no look-around and no back-references.
 *
 * @throws Error whose message says what is wrong with the pattern
 */
export function compilePattern(source: string, pay: PayForWork = () => undefined): LinearPattern {
  const known = cache.get(source);
  if (known !== undefined) {
    return known;
  }
  if (source.length > PATTERN_MAX_CHARS) {
    throw new Error(`the pattern is longer than ${PATTERN_MAX_CHARS} characters`);
  }
  const size = unfolded(source);
  if (size > UNFOLDED_MAX) {
    throw new Error('the pattern is too complex; use fewer or smaller repetitions');
  }
  pay(1_000 + size / 2);
  const compiled = compile(source);
  if (compiled.programSize() > PROGRAM_MAX) {
    throw new Error('the pattern is too complex; use fewer or smaller repetitions');
  }
  const pattern: LinearPattern = { test: (text, payForTest) => testPattern(source, compiled, text, payForTest) };
  if (cache.size >= CACHE_MAX) {
    cache.clear();
  }
  cache.set(source, pattern);
  return pattern;
}

/**
 * RE2 builds states while it reads, and a new state costs far more than going through a known one. So a test is paid for
 * twice: before it by its length, and after it by the states that it built.
 */
function testPattern(source: string, compiled: RE2JS, text: string, pay: PayForWork): boolean {
  const program = compiled.programSize();
  const worst = text.length * program;
  pay(worst > TEST_MAX ? Number.POSITIVE_INFINITY : 2 + text.length / 4);
  const before = statesOf(compiled);
  const found = compiled.test(text);
  const after = statesOf(compiled);
  if (after > STATES_KEPT_MAX) {
    cache.delete(source);
  }
  // Fewer states than before: it ran out of memory for them and started again, so their number is not known.
  pay(after < before ? worst / 4 : (after - before) * (40 + program / 3));
  return found;
}

function statesOf(compiled: RE2JS): number {
  const dfa: { readonly stateCount: number } | null = compiled.re2().lazyDFA;
  return dfa?.stateCount ?? 0;
}

function unfolded(source: string): number {
  let repetitions = 1;
  for (const [, least = '0', most = least] of source.matchAll(/\{(\d{1,4})(?:,(\d{0,4}))?\}/g)) {
    repetitions += Math.max(Number(least), Number(most));
  }
  return source.length * repetitions;
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    if (error instanceof RE2JSException) {
      const reason = error.message.replace('error parsing regexp: ', '');
      throw new Error(`the pattern is not valid (${reason}); look-around and back-references are not supported`, { cause: error });
    }
    throw error;
  }
}
