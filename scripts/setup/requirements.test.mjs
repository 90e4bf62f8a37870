import { expect, test } from 'vitest';
import { javaMajor } from './requirements.mjs';

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['openjdk version "21" 2023-09-19', 21],
  ['java version "1.8.0_401"', 8],
  ['The operation couldn’t be completed. Unable to locate a Java Runtime.', undefined],
  ['', undefined],
])('%s is Java %s', (output, major) => {
  expect(javaMajor(output)).toBe(major);
});
