import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT } from '../../scripts/root.ts';
import { buildWeb } from './build.ts';

const DIST = join(ROOT, 'web', 'dist');

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

/** What a signed-in person loads up to the inbox: bytes as they travel, and the names of the files. */
export async function firstLoad(): Promise<{ readonly bytes: number; readonly files: ReadonlySet<string> }> {
  await buildWeb();
  const html = readFileSync(join(DIST, 'index.html'), 'utf8');
  const entries = [...html.matchAll(/\/assets\/([\w.-]+\.(?:js|css))/g)].map((match) => match[1] ?? '');
  const entry = entries.find((name) => name.startsWith('index') && name.endsWith('.js')) ?? '';
  const text = readFileSync(join(DIST, 'assets', entry), 'utf8');
  const inbox = [...text.matchAll(/assets\/(inbox-page-[\w-]+\.(?:js|css))/g)].map((match) => match[1] ?? '');
  const files = closure([...entries, ...inbox]);
  return { bytes: gzipped(files) + gzipSync(html).length, files };
}
