import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

/** The engine decides and touches nothing; what it may lean on stands here. The linter refuses clocks, randomness and globals. */
const SRC = dirname(import.meta.dirname);

const ROOMS: Readonly<Record<string, { rooms: readonly string[]; packages: readonly string[] }>> = {
  engine: {
    rooms: ['engine', 'model'],
    packages: ['zod', '@marcbachmann/cel-js', 're2js', 'croner', 'ipaddr.js'],
  },
  model: { rooms: ['model'], packages: ['zod'] },
};

/** The one place that needs Node: digests. */
const HASHING = { file: 'engine/json.ts', module: 'node:crypto', statement: /import\s*\{\s*createHash\s*\}\s*from\s*'node:crypto'/ };

const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)['"]([^'"]+)['"]/g;
const CLOCK = /\bnew Date\(\s*\)|(?<!new )\bDate\(\s*\)/;

function violations(file: string, source: string): string[] {
  const room = ROOMS[file.split('/')[0] ?? ''];
  if (room === undefined) throw new Error(`${file} is in no room of this test`);
  const found: string[] = [];
  for (const [, specifier = ''] of source.matchAll(IMPORT)) {
    if (specifier.startsWith('.')) {
      const target = relative(SRC, join(SRC, dirname(file), specifier));
      if (!room.rooms.some((name) => target.startsWith(`${name}/`))) found.push(`${file} imports ${target}`);
      continue;
    }
    const hashing = file === HASHING.file && specifier === HASHING.module && HASHING.statement.test(source);
    if (!hashing && !room.packages.includes(specifier)) found.push(`${file} imports ${specifier}`);
  }
  if (CLOCK.test(source)) found.push(`${file} asks the clock`);
  return found;
}

function sourcesOf(room: string): string[] {
  return readdirSync(join(SRC, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `${room}/${name}`);
}

test.each(Object.keys(ROOMS))('%s/ imports neither Firebase nor Node, and asks no clock', (room) => {
  const sources = sourcesOf(room);
  expect(sources.length).toBeGreaterThan(0);
  expect(sources.flatMap((file) => violations(file, readFileSync(join(SRC, file), 'utf8')))).toEqual([]);
});

test.each([
  ['engine/a.ts', "import { getFirestore } from 'firebase-admin/firestore';", 'engine/a.ts imports firebase-admin/firestore'],
  ['engine/a.ts', "import { createHash } from 'node:crypto';", 'engine/a.ts imports node:crypto'],
  ['engine/json.ts', "import { createHash, randomUUID } from 'node:crypto';", 'engine/json.ts imports node:crypto'],
  ['engine/a.ts', "const fs = await import('node:fs');", 'engine/a.ts imports node:fs'],
  ['engine/a.ts', "export * from '../ledger/store.ts';", 'engine/a.ts imports ledger/store.ts'],
  ['model/a.ts', "import { parse } from '../engine/json.ts';", 'model/a.ts imports engine/json.ts'],
  ['engine/a.ts', 'const now = new Date();', 'engine/a.ts asks the clock'],
])('%s: %s is refused', (file, source, violation) => {
  expect(violations(file, source)).toEqual([violation]);
});

test('what the engine needs is allowed', () => {
  expect(violations('engine/json.ts', "import { createHash } from 'node:crypto';")).toEqual([]);
  expect(violations('engine/a.ts', "import { z } from 'zod';\nimport type { RunRecord } from '../model/run.ts';\nnew Date(ms);")).toEqual(
    [],
  );
});
