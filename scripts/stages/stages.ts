import { join } from 'node:path';
import { CACHE } from '../root.ts';

export interface Stage {
  readonly name: string;
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Where a test stage leaves vitest's JSON report. */
  readonly report?: string;
}

/** Quick first: what fails in a second should not wait for what takes minutes. */
export const STAGES: readonly Stage[] = [
  { name: 'types', title: 'Types', command: 'tsc', args: ['-p', 'tsconfig.json', '--noEmit'] },
  ...webTypes(),
  { name: 'lint', title: 'Lint', command: 'oxlint', args: [] },
  { name: 'format', title: 'Format', command: 'prettier', args: ['--check', '--log-level', 'warn', '.'] },
  vitestStage('unit', 'Unit and contract tests'),
  vitestStage('emulator', 'Rules and emulator tests'),
  { name: 'unused', title: 'Unused code', command: 'knip', args: [] },
];

/** `check` is everything that is not a test. */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  check: STAGES.filter((stage) => stage.report === undefined).map((stage) => stage.name),
};

/** The web app, and the tests that run in its pages, know the browser's globals; the rest must not. */
function webTypes(): Stage[] {
  return [
    { name: 'web-types', title: 'Types of the web app', command: 'tsc', args: ['-p', join('web', 'tsconfig.json'), '--noEmit'] },
    {
      name: 'web-test-types',
      title: 'Types of its tests',
      command: 'tsc',
      args: ['-p', join('emulator-tests', 'web', 'tsconfig.json'), '--noEmit'],
    },
  ];
}

function vitestStage(project: string, title: string): Stage {
  const report = join(CACHE, 'reports', `${project}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  return { name: project, title, command: 'vitest', args: ['run', '--project', project, ...reporters], report };
}

/** The stages that the arguments name, in the order of `STAGES`; all without arguments. */
export function selectStages(names: readonly string[]): readonly Stage[] {
  if (names.length === 0) return STAGES;
  const wanted = new Set(names.flatMap((name) => GROUPS[name] ?? [name]));
  const unknown = [...wanted].filter((name) => !STAGES.some((stage) => stage.name === name));
  if (unknown.length > 0) {
    const known = [...STAGES.map((stage) => stage.name), ...Object.keys(GROUPS)].join(', ');
    throw new Error(`There is no stage ${unknown.join(', ')}. There are: ${known}.`);
  }
  return STAGES.filter((stage) => wanted.has(stage.name));
}
