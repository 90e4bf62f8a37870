import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ROOT } from '../root.ts';
import { writeStepType } from './new-step.ts';

const run = promisify(execFile);
let copy = '';

/** A copy of the sources beside the installed packages, so that the generator really writes. */
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'kiln-step-'));
  mkdirSync(join(copy, 'functions'));
  const functions = join(ROOT, 'functions');
  cpSync(join(functions, 'src'), join(copy, 'functions', 'src'), { recursive: true });
  cpSync(join(functions, 'package.json'), join(copy, 'functions', 'package.json'));
  symlinkSync(join(functions, 'node_modules'), join(copy, 'functions', 'node_modules'));
  for (const folder of ['scripts', 'emulator-tests/services']) cpSync(join(ROOT, folder), join(copy, folder), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'));
  mkdirSync(join(copy, 'docs'));
});
afterEach(() => {
  rmSync(copy, { recursive: true });
});

/** Runs a module in the copy, in a process of its own: this one has the original loaded. */
async function evaluate(code: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--no-warnings', '--eval', code], { cwd: copy });
  return JSON.parse(stdout) as unknown;
}

test('one file, its schema and its entry in the reference are enough for a new step type', async () => {
  expect(writeStepType(copy, 'sendSms')).toEqual([
    'functions/src/steps/send-sms.ts',
    'functions/src/steps/send-sms.test.ts',
    'functions/src/steps/index.ts',
  ]);
  const seen = await evaluate(`
    import { createTestKit } from './functions/src/testing/test-kit.ts';
    import { createStepRegistry } from './functions/src/steps/index.ts';
    import { parseDefinition, checkDefinition } from './functions/src/engine/preflight.ts';
    import { indexDefinition } from './functions/src/engine/definition-index.ts';
    import { generateDocs } from './scripts/docs/generate.ts';
    const steps = [{ id: 'x', type: 'sendSms', text: 'Hello {{workflow_input.name}}' }];
    const kit = createTestKit({ definitions: { wf: steps } });
    const result = await kit.result(await kit.start('wf', { name: 'Ada' }));
    const problems = (step) => checkDefinition(indexDefinition(parseDefinition({ id: 'wf', steps: [step] }).definition), createStepRegistry()).map(({ path }) => path);
    console.log(JSON.stringify({
      result,
      right: problems(steps[0]),
      wrong: problems({ id: 'x', type: 'sendSms', text: 5 }),
      docs: generateDocs(${JSON.stringify(copy)}),
    }));
  `);
  expect(seen).toEqual({
    result: { text: 'Hello Ada' },
    right: [],
    wrong: [expect.stringContaining('text')],
    docs: ['docs/errors.md', 'docs/reference.md'],
  });
  const reference = readFileSync(join(copy, 'docs', 'reference.md'), 'utf8');
  expect(reference).toContain('## Step: sendSms');
  expect(reference).toContain('Comments like this one');
});

test('the list of step types stays in order, and each stands once', () => {
  writeStepType(copy, 'sendSms');
  writeStepType(copy, 'audit');
  const index = readFileSync(join(copy, 'functions', 'src', 'steps', 'index.ts'), 'utf8');
  const found = (pattern: RegExp): string[] => [...index.matchAll(pattern)].map(([, name = '']) => name);
  const sorted = (names: readonly string[]): string[] => names.toSorted((a, b) => (a < b ? -1 : 1));
  const imported = found(/^import \{ \w+ \} from '(\.\/[^']+)'/gm);
  expect(imported).toEqual(sorted(imported));
  const listed = found(/^ {2}(\w+),$/gm);
  expect(listed).toEqual(sorted(listed));
  expect(listed.filter((name) => name === 'audit' || name === 'sendSms')).toEqual(['audit', 'sendSms']);
});

test('a name that is taken or is no name is refused, and nothing is written', () => {
  const index = join(copy, 'functions', 'src', 'steps', 'index.ts');
  const before = readFileSync(index, 'utf8');
  expect(() => writeStepType(copy, 'wait')).toThrow('is there already');
  expect(() => writeStepType(copy, '../x')).toThrow('small letter');
  expect(readFileSync(index, 'utf8')).toBe(before);
});
