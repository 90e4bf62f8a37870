import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asObject, asString, parseJson } from '../json-objects.ts';
import { ROOT } from '../root.ts';

const json = (path: string): Record<string, unknown> => asObject(parseJson(readFileSync(join(ROOT, path), 'utf8'))) ?? {};
const page = readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8');

/** A package's place on the page: the part of the page that is about its folder. */
const parts: Readonly<Record<string, string>> = {
  functions: page.slice(page.indexOf('## Deployed'), page.indexOf('## The web app')),
  web: page.slice(page.indexOf('## The web app'), page.indexOf('## On the developer')),
  '.': page.slice(page.indexOf('## On the developer'), page.indexOf('## Licence')),
};

test.each(Object.keys(parts))('every dependency of %s has its reason, and none is explained that is gone', (folder) => {
  const manifest = json(join(folder, 'package.json'));
  const used = [manifest['dependencies'], manifest['devDependencies']].flatMap((list) => Object.keys(asObject(list) ?? {}));
  const rows = (parts[folder] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  const explained = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
  expect(used.length).toBeGreaterThan(5);
  expect(explained.sort()).toEqual(used.sort());
});

const permissive = new Set([
  'MIT',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  '0BSD',
  'Unlicense',
  'BlueOak-1.0.0',
  'OFL-1.1',
  'CC0-1.0',
]);

test.each(['functions', 'web'])('what is handed on with %s is under a permissive licence', (folder) => {
  const installed = Object.entries(asObject(json(join(folder, 'package-lock.json'))['packages']) ?? {}).flatMap(([path, entry]) => {
    const found = asObject(entry) ?? {};
    return path === '' || found['dev'] === true ? [] : [{ path, licence: asString(found['license']) ?? licenceOf(folder, path) }];
  });
  expect(installed.length).toBeGreaterThan(100);
  const other = installed.filter(
    ({ licence }) => !licence.split(/[ ()]+|\bOR\b|\bAND\b/).every((part) => part === '' || permissive.has(part)),
  );
  expect(other).toEqual([]);
});

/** An older form, which the lock file does not have: a list in the package's own manifest. */
function licenceOf(folder: string, path: string): string {
  const listed = json(join(folder, path, 'package.json'))['licenses'];
  return (Array.isArray(listed) ? asString(asObject(listed[0])?.['type']) : undefined) ?? 'none named';
}
