import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/root.ts';
import { buildWeb } from './build.ts';

const DIST = join(ROOT, 'web', 'dist');
const LIMIT = 350 * 1024;

/** Chunks that a chunk needs before it runs, and the style sheets that come with it. */
function needs(chunk: string): readonly string[] {
  const text = readFileSync(join(DIST, 'assets', chunk), 'utf8');
  const imports = [...text.matchAll(/(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g)].map((match) => match[1] ?? '');
  return imports.filter((name) => name !== '');
}

function closure(entries: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const pending = [...entries];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    if (next.endsWith('.js')) pending.push(...needs(next));
  }
  return found;
}

function gzipped(names: Iterable<string>): number {
  return [...names].reduce((sum, name) => sum + gzipSync(readFileSync(join(DIST, 'assets', name))).length, 0);
}

test('the first load of a signed-in person is at most 350 KB: everything up to the inbox, scripts and styles', async () => {
  await buildWeb();
  const html = readFileSync(join(DIST, 'index.html'), 'utf8');
  const entries = [...html.matchAll(/\/assets\/([\w.-]+\.(?:js|css))/g)].map((match) => match[1] ?? '');
  const entry = entries.find((name) => name.startsWith('index') && name.endsWith('.js')) ?? '';
  const text = readFileSync(join(DIST, 'assets', entry), 'utf8');
  const inbox = [...text.matchAll(/assets\/(inbox-page-[\w-]+\.(?:js|css))/g)].map((match) => match[1] ?? '');
  const first = closure([...entries, ...inbox]);
  expect([...first].some((name) => name.startsWith('inbox-page'))).toBe(true);
  const size = gzipped(first) + gzipSync(html).length;
  console.info(`first load: ${(size / 1024).toFixed(1)} KB gzip in ${first.size} files`);
  expect(size).toBeLessThanOrEqual(LIMIT);
  for (const heavy of ['editor-page', 'graph-view', 'numbers-page', 'run-page'])
    expect([...first].some((name) => name.startsWith(heavy))).toBe(false);
});
