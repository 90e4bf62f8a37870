import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { ROOT } from '../root.ts';
import { say } from './globals.ts';

/** Writes a step type: its file, its test, and its line in `steps/index.ts`. Returns the files, relative to the root. */
export function writeStepType(root: string, type: string): string[] {
  if (!/^[a-z][A-Za-z0-9]{1,39}$/.test(type))
    throw new Error(`"${type}": a step type is written like sendSms: a small letter, then letters and digits.`);
  const stem = type.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const folder = join('functions', 'src', 'steps');
  const files = { source: join(folder, `${stem}.ts`), test: join(folder, `${stem}.test.ts`), index: join(folder, 'index.ts') };
  if (existsSync(join(root, files.source))) throw new Error(`${files.source} is there already.`);
  const index = readFileSync(join(root, files.index), 'utf8');
  writeFileSync(join(root, files.source), sourceText(type));
  writeFileSync(join(root, files.test), testText(type, stem));
  writeFileSync(join(root, files.index), registered(index, type, stem));
  return [files.source, files.test, files.index];
}

/** `steps/index.ts` with an import and a line more, both in order. */
function registered(index: string, type: string, stem: string): string {
  const lines = index.split('\n');
  const own = `import { ${type} } from './${stem}.ts';`;
  const imports = lines.flatMap((line, at) => (/^import \{ \w+ \} from '\.\//.test(line) ? [{ line, at }] : []));
  const after =
    imports.findLast(({ line }) => line.slice(line.indexOf("'./")) < own.slice(own.indexOf("'./")))?.at ?? (imports[0]?.at ?? 0) - 1;
  lines.splice(after + 1, 0, own);
  const start = lines.findIndex((line) => line.includes('stepTypes: readonly StepType[] = ['));
  const end = lines.findIndex((line, at) => at > start && line.startsWith(']'));
  if (start === -1 || end === -1) throw new Error('steps/index.ts has no list "stepTypes" to add a line to.');
  let place = start + 1;
  while (place < end && (lines[place] ?? '').trim() < `${type},`) place += 1;
  lines.splice(place, 0, `  ${type},`);
  return lines.join('\n');
}

function sourceText(type: string): string {
  const title = type.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^./, (letter) => letter.toUpperCase());
  return `import { z } from 'zod';
import type { EffectStepType } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('${type}'),
  /** Comments like this one become the field's text in docs/reference.md. */
  text: z.string().min(1).max(10_000),
});

export const ${type}: EffectStepType<z.infer<typeof schema>> = {
  type: '${type}',
  title: '${title}',
  description: 'Says in a sentence what it does.',
  // Without an outside effect it is \`compute\`: one commit less.
  kind: 'effect',
  schema,
  // True only when doing it twice is the same as doing it once.
  idempotent: false,
  outputSchema: () => ({ type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false }),
  perform: ({ config, idempotencyKey }) => {
    // Call the outside world here; hand \`idempotencyKey\` to it. Throw KilnError, or BusinessException for what a person would call an exception.
    return Promise.resolve({ output: { text: config.text }, details: { idempotencyKey } });
  },
};
`;
}

function testText(type: string, stem: string): string {
  return `import { expect, test } from 'vitest';
import { createTestKit } from '../testing/test-kit.ts';

test('${stem} gives back its text with the templates filled in', async () => {
  const kit = createTestKit({ definitions: { wf: [{ id: 'x', type: '${type}', text: 'Hello {{workflow_input.name}}' }] } });
  const run = await kit.start('wf', { name: 'Ada' });
  expect(await kit.result(run)).toEqual({ text: 'Hello Ada' });
});
`;
}

export function addNewStep(program: Command): void {
  program
    .command('new-step <type>')
    .description('write a step type to start from: its file, its test, its line in steps/index.ts, its entry in the reference')
    .action(async (type: string) => {
      const files = writeStepType(ROOT, type);
      // Imported now, so that it sees the new step type.
      const { generateDocs } = await import('../docs/generate.ts');
      say([...files, ...generateDocs(ROOT)].join('\n'));
      say(`\nNow make it yours, and run: npx vitest run ${files[1] ?? ''}`);
    });
}
