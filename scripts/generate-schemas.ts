/** `npm run generate`: writes the files that are made from the code. A test says when they are out of date. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format } from 'prettier';
import { ROOT } from './root.ts';
import { definitionJsonSchema } from './schemas/definition-schema.ts';

export const DEFINITION_SCHEMA = join(ROOT, 'functions', 'src', 'model', 'generated', 'definition.schema.json');

export function generatedDefinitionSchema(): Promise<string> {
  return format(JSON.stringify(definitionJsonSchema()), { parser: 'json', printWidth: 140 });
}

if (import.meta.main) {
  mkdirSync(dirname(DEFINITION_SCHEMA), { recursive: true });
  writeFileSync(DEFINITION_SCHEMA, await generatedDefinitionSchema());
  process.stdout.write(`${DEFINITION_SCHEMA}\n`);
}
