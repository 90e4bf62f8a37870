import { expect, test } from 'vitest';
import { assertJava, assertNode, javaMajor } from './requirements.mjs';

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['openjdk version "21" 2023-09-19', 21],
  ['java version "1.8.0_401"', 8],
  ['The operation couldn’t be completed. Unable to locate a Java Runtime.', undefined],
  ['', undefined],
])('%s is Java %s', (output, major) => {
  expect(javaMajor(output)).toBe(major);
});

test('an old Node is refused with what to do', () => {
  expect(() => assertNode('18.20.4')).toThrow('Kiln needs Node 20 or newer to set itself up, and this is Node 18.20.4');
  expect(() => assertNode('20.0.0')).not.toThrow();
});

test('a machine without Java is told how to get it', async () => {
  await expect(assertJava({ PATH: '' })).rejects.toThrow('needs Java 17 or newer on PATH or in JAVA_HOME, and none was found');
});
