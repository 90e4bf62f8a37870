import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createStepRegistry } from '../../functions/src/steps/index.ts';
import { errorsPage } from './errors-page.ts';
import { referencePage } from './reference-page.ts';

/** Pages that are made from the code, by their paths. */
export function generatedPages(root: string): ReadonlyMap<string, string> {
  return new Map([
    [join('docs', 'errors.md'), errorsPage()],
    [join('docs', 'reference.md'), referencePage(createStepRegistry().all(), join(root, 'functions', 'src'))],
  ]);
}

/** Writes the pages that differ; returns their paths. */
export function generateDocs(root: string): string[] {
  return [...generatedPages(root)].flatMap(([path, text]) => {
    const file = join(root, path);
    if (existsSync(file) && readFileSync(file, 'utf8') === text) return [];
    writeFileSync(file, text);
    return [path];
  });
}
