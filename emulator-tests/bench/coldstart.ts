import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, ROOT } from '../../scripts/root.ts';
import { median } from './measure.ts';
import type { PartResult } from './parts.ts';

const ROUNDS = 9;

/** Module load of the built index against a bare one with the same two packages, in fresh processes, interleaved. */
export function coldstart(): PartResult {
  const bare = join(ROOT, 'functions', 'lib', 'bench-bare.js');
  mkdirSync(join(CACHE), { recursive: true });
  writeFileSync(
    bare,
    "import { onDocumentCreated } from 'firebase-functions/v2/firestore';\nimport { getFirestore } from 'firebase-admin/firestore';\nexport const f = onDocumentCreated('a/{b}', () => void getFirestore());\n",
  );
  const built = join(ROOT, 'functions', 'lib', 'index.js');
  const times: { bare: number[]; kiln: number[] } = { bare: [], kiln: [] };
  const memory: { bare: number[]; kiln: number[] } = { bare: [], kiln: [] };
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [name, file] of [
      ['bare', bare],
      ['kiln', built],
    ] as const) {
      const script = `const t = performance.now(); await import(${JSON.stringify(file)}); console.log(JSON.stringify([performance.now() - t, process.memoryUsage.rss()]));`;
      const answer = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
        encoding: 'utf8',
        env: { ...process.env, GCLOUD_PROJECT: 'demo-kiln' },
      });
      const [ms, rss] = JSON.parse(answer.trim().split('\n').at(-1) ?? '[]') as [number, number];
      if (round < 0) continue;
      times[name].push(ms);
      memory[name].push(rss / 1_048_576);
    }
  }
  const ratio = median(times.kiln) / median(times.bare);
  return {
    title: `Module load in a fresh process, median of ${ROUNDS} interleaved rounds`,
    rows: [
      ['index', 'against the bare one', 'ms on this machine', 'MiB resident'],
      ['firebase-functions and firebase-admin only', '1.00 ×', median(times.bare).toFixed(0), median(memory.bare).toFixed(0)],
      ['Kiln', `${ratio.toFixed(2)} ×`, median(times.kiln).toFixed(0), median(memory.kiln).toFixed(0)],
    ],
    figures: { 'coldstart.ratio': ratio },
  };
}
