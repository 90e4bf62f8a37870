import { existsSync, readFileSync } from 'node:fs';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

interface TestResult {
  status: string;
  fullName?: string;
  failureMessages?: string[];
}

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { name?: string; status: string; message?: string; assertionResults: TestResult[] }[];
}

/**
 * The numbers of one vitest run. A file that breaks before its first test has no failed test, and a run that dies leaves no
 * report or a green one (an unhandled error): each counts as one failure, so that the sum never hides a red stage.
 */
export function countTests(reportFile: string, exitCode: number): Counts {
  if (!existsSync(reportFile)) return { passed: 0, failed: 1, skipped: 0 };
  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = report.numFailedTests + brokenFiles.length;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** A line for each test that failed and each file that broke before its tests: its name and the first line of the reason. */
export function failures(reportFile: string): string[] {
  if (!existsSync(reportFile)) return [];
  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
  const said = (name: string | undefined, reason: string | undefined): string =>
    `${name ?? 'a test without a name'}: ${reason?.split('\n', 1)[0] ?? ''}`;
  return report.testResults.flatMap((file) => {
    const failed = file.assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0) return file.status === 'failed' ? [said(file.name, file.message)] : [];
    return failed.map((test) => said(test.fullName, test.failureMessages?.[0]));
  });
}

export function sum(counts: readonly Counts[]): Counts {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const one of counts) {
    total.passed += one.passed;
    total.failed += one.failed;
    total.skipped += one.skipped;
  }
  return total;
}

export function summaryLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
