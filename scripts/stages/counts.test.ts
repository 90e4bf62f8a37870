import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { countTests, failures, sum, summaryLine } from './counts.ts';

const folder = mkdtempSync(join(tmpdir(), 'kiln-counts-'));
afterAll(() => rmSync(folder, { recursive: true }));

function report(name: string, content: object): string {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(content));
  return file;
}

const green = { numPassedTests: 3, numFailedTests: 0, numPendingTests: 1, numTodoTests: 1, testResults: [] };

test('passed, failed and skipped are what vitest counted', () => {
  expect(countTests(report('green', green), 0)).toEqual({ passed: 3, failed: 0, skipped: 2 });
});

test('a file that breaks before its first test counts as a failure', () => {
  const broken = { ...green, testResults: [{ status: 'failed', assertionResults: [] }] };
  expect(countTests(report('broken', broken), 1).failed).toBe(1);
});

test('a failed test is not counted twice through its file', () => {
  const red = { ...green, numFailedTests: 1, testResults: [{ status: 'failed', assertionResults: [{ status: 'failed' }] }] };
  expect(countTests(report('red', red), 1).failed).toBe(1);
});

test('a run that failed without a failed test, or left no report, is a failure', () => {
  expect(countTests(report('unhandled', green), 1).failed).toBe(1);
  expect(countTests(join(folder, 'missing.json'), 0).failed).toBe(1);
});

test('the summary adds the stages up', () => {
  const total = sum([
    { passed: 2, failed: 0, skipped: 0 },
    { passed: 40, failed: 1, skipped: 0 },
  ]);
  expect(summaryLine(total)).toBe('42 passed, 1 failed, 0 skipped');
});

test('what failed is named with the first line of its reason', () => {
  const red = {
    ...green,
    testResults: [
      { name: 'a.test.ts', status: 'failed', message: 'no such module\nat x', assertionResults: [] },
      {
        name: 'b.test.ts',
        status: 'failed',
        assertionResults: [
          { status: 'passed', fullName: 'fine' },
          { status: 'failed', fullName: 'adds up', failureMessages: ['expected 2 to be 3\nat y'] },
        ],
      },
    ],
  };
  expect(failures(report('named', red))).toEqual(['a.test.ts: no such module', 'adds up: expected 2 to be 3']);
  expect(failures(join(folder, 'missing.json'))).toEqual([]);
});
