import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { compilePattern as compileNow, LinearPattern, PayForWork } from './pattern.ts';

/** Each test has a cache of its own. */
let compilePattern: typeof compileNow;
beforeEach(async () => {
  vi.resetModules();
  ({ compilePattern } = await import('./pattern.ts'));
});

/** What compiling it, and then testing it with each text, is paid for with. */
function paid(source: string, ...texts: readonly string[]): { readonly compiling: number[]; readonly testing: number[][] } {
  const compiling: number[] = [];
  const pattern = compilePattern(source, (amount) => compiling.push(amount));
  const testing = texts.map((text) => {
    const amounts: number[] = [];
    pattern.test(text, (amount) => amounts.push(amount));
    return amounts;
  });
  return { compiling, testing };
}

const free = (): void => undefined;

test('a pattern matches anywhere in a text, as often as it is asked', () => {
  const pattern = compilePattern('b+');
  expect(['abc', 'b', '', 'ac', 'abc'].map((text) => pattern.test(text, free))).toEqual([true, true, false, false, true]);
});

const other = 'look-around and back-references are not supported';
const tooComplex = 'the pattern is too complex; use fewer or smaller repetitions';

test.each([
  ['(', `the pattern is not valid (missing closing ): \`(\`); ${other}`],
  ['(?=x)', `the pattern is not valid (invalid or unsupported Perl syntax: \`(?=\`); ${other}`],
  ['(a)\\1', `the pattern is not valid (invalid escape sequence: \`\\1\`); ${other}`],
  ['a{2,1}', `the pattern is not valid (invalid repeat count: \`{2,1}\`); ${other}`],
  ['a'.repeat(1_001), 'the pattern is longer than 1000 characters'],
  ['a{999}', tooComplex],
])('%j is refused with a reason', (source, reason) => {
  expect(() => compilePattern(source)).toThrow(new Error(reason));
});

test('the edges: a thousand characters, and a thousand instructions', () => {
  for (const source of ['a'.repeat(996), `${'(?i)'.repeat(249)}abcd`, 'a{998}']) expect(compilePattern(source).test('b', free)).toBe(false);
});

describe('what is refused before it is compiled costs nothing', () => {
  // Characters × (1 + all that is repeated): 23,988 and more.
  test.each(['a{999}b{999}', 'a{9,999}b{9,999}', 'a{999,}b{999,}', 'a{999,9}b{999,9}', 'a'.repeat(1_001)])('%j', (source) => {
    const pay = vi.fn<PayForWork>();
    expect(() => compilePattern(source, pay)).toThrow('the pattern is');
    expect(pay).not.toHaveBeenCalled();
  });
  test.each([
    ['a{999}b{250}xxxx', 20_000],
    ['(', 1],
    ['a{1000}', 7 * 1_001],
  ])('and %j, which unfolds to %i, is paid for', (source, unfolded) => {
    const pay = vi.fn<PayForWork>();
    expect(() => compilePattern(source, pay)).toThrow('the pattern is');
    expect(pay.mock.calls).toEqual([[1_000 + unfolded / 2]]);
  });
});

test('compiling is paid for by what the repetitions unfold to', () => {
  expect(paid('b').compiling).toEqual([1_000.5]);
  expect(paid('a{3}b{2,7}').compiling).toEqual([1_000 + (10 * 11) / 2]);
  expect(paid('a{20,}b{2}').compiling).toEqual([1_000 + (10 * 23) / 2]);
  expect(paid('a{}b{x}').compiling).toEqual([1_003.5]);
});

test('a test is paid for by its length, and not begun when length and pattern are too much together', () => {
  expect(paid('b', '', 'abcd').testing).toEqual([
    [2, 0],
    [3, 0],
  ]);
  // A thousand instructions by two thousand characters.
  const [most, more] = paid('a{998}', 'x'.repeat(2_000), 'x'.repeat(2_001)).testing;
  expect(most).toEqual([502, 0]);
  expect(more?.[0]).toBe(Number.POSITIVE_INFINITY);
  const stop = (amount: number): void => {
    if (amount === Number.POSITIVE_INFINITY) throw new Error('too much');
  };
  expect(() => compilePattern('a{998}').test('x'.repeat(2_001), stop)).toThrow('too much');
});

describe('states', () => {
  const many = '[ab]*a[ab]{12}[cd]';
  /** Two letters in no order. */
  let last = 7;
  const text = Array.from({ length: 20_000 }, () => ((last = (last * 1_103_515_245 + 12_345) % 2 ** 31) < 2 ** 30 ? 'a' : 'b')).join('');

  test('each new one is paid for, once', () => {
    const [first, again] = paid(many, text, text).testing;
    expect(first?.[0]).toBe(2 + text.length / 4);
    expect(first?.[1]).toBeGreaterThan(40 * 1_000);
    expect(again).toEqual([2 + text.length / 4, 0]);
  });

  test('a pattern that has built more than a thousand is not kept, any other is', () => {
    const kept = (source: string): boolean => {
      const pattern = compilePattern(source);
      pattern.test(text, free);
      return compilePattern(source) === pattern;
    };
    expect([many, 'b', '[ab]*a[ab]{3}[cd]'].map(kept)).toEqual([false, true, true]);
  });
});

test('two hundred patterns are kept; a kept one is not paid for again', () => {
  const patterns = Array.from({ length: 200 }, (_, n): LinearPattern => compilePattern(`a${n}`));
  const pay = vi.fn<PayForWork>();
  expect(patterns.map((pattern, n) => compilePattern(`a${n}`, pay) === pattern)).not.toContain(false);
  expect(pay).not.toHaveBeenCalled();
  compilePattern('one more');
  expect(compilePattern('a0', pay)).not.toBe(patterns[0]);
  expect(pay).toHaveBeenCalledTimes(1);
});
