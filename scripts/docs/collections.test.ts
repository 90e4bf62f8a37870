import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { engineCollections, paths } from '../../functions/src/model/paths.ts';
import { kbPaths } from '../../functions/src/services/kb/records.ts';
import { ROOT } from '../root.ts';

/** `runs/steps` of `accounts/a/runs/b/steps/c`: the collections on the way, below the account. */
function collectionsOf(path: string): string {
  const parts = path.split('/');
  return parts
    .slice(2)
    .filter((_, i) => i % 2 === 0)
    .join('/');
}

const inCode = new Set(
  [...Object.values(paths), ...Object.values(kbPaths)]
    .map((path) =>
      typeof path === 'string' ? path : (path as (...ids: readonly string[]) => string)(...Array<string>(path.length).fill('x')),
    )
    .filter((path) => path.startsWith('accounts/'))
    .map(collectionsOf)
    .filter((name) => name !== ''),
);

test('the table of stored documents has every collection that the code knows, and no other', () => {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
  const rows = page
    .slice(page.indexOf('## Documents'), page.indexOf('## Step keys'))
    .split('\n')
    .filter((line) => line.startsWith('| `') && !line.includes('accounts/'));
  const documented = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => collectionsOf(`accounts/a/${path}`)),
  );
  expect(documented.sort()).toEqual([...inCode].sort());
  for (const row of rows)
    expect(
      row
        .split('|')
        .slice(2, 6)
        .every((cell) => cell.trim() !== ''),
    ).toBe(true);
});

test('every collection of the engine is closed to the writes of steps and destinations', () => {
  expect([...engineCollections].sort()).toEqual([...new Set([...inCode].map((name) => name.split('/')[0] ?? ''))].sort());
});
