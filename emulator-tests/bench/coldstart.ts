import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { freePort } from '../../scripts/process/ports.ts';
import { ROOT } from '../../scripts/root.ts';
import { fixed, ROUNDS } from './parts.ts';
import { median } from './measure.ts';
import type { PartResult } from './parts.ts';

const FUNCTIONS = join(ROOT, 'functions');
const ENV = { ...process.env, GCLOUD_PROJECT: 'demo-kiln' };
const BARE = `import { onDocumentCreated } from 'firebase-functions/v2/firestore';
import { getFirestore } from 'firebase-admin/firestore';
export const f = onDocumentCreated('a/{b}', () => void getFirestore());
`;

interface Measured {
  readonly load: number[];
  readonly memory: number[];
  readonly discovery: number[];
}

/**
 * Module load of the built index against a bare one with the same two packages, in fresh processes, interleaved; and how long the
 * deploy command waits until it knows which functions there are.
 */
export async function coldstart(): Promise<PartResult> {
  const bare = join(FUNCTIONS, 'lib', 'bench-bare');
  mkdirSync(bare, { recursive: true });
  writeFileSync(join(bare, 'package.json'), JSON.stringify({ type: 'module', main: 'index.js' }));
  writeFileSync(join(bare, 'index.js'), BARE);
  const indexes = { bare: { folder: bare, main: 'index.js' }, kiln: { folder: FUNCTIONS, main: 'lib/index.js' } };
  const seen: Record<keyof typeof indexes, Measured> = {
    bare: { load: [], memory: [], discovery: [] },
    kiln: { load: [], memory: [], discovery: [] },
  };
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const name of ['bare', 'kiln'] as const) {
      const { folder, main } = indexes[name];
      const { ms, rss } = loaded(join(folder, main));
      const discovery = await discoveryMs(folder);
      // The first round fills the disk's cache.
      if (round < 0) continue;
      seen[name].load.push(ms);
      seen[name].memory.push(rss / 1_048_576);
      seen[name].discovery.push(discovery);
    }
  }
  const ratio = median(seen.kiln.load) / median(seen.bare.load);
  const row = (title: string, against: string, { load, memory, discovery }: Measured): string[] => [
    title,
    against,
    fixed(median(load), 0),
    fixed(median(memory), 0),
    fixed(median(discovery), 0),
  ];
  return {
    title: `Module load in a fresh process, median of ${ROUNDS} interleaved rounds`,
    rows: [
      ['index', 'against the bare one', 'ms on this machine', 'MiB resident', 'ms until the deploy command knows the functions'],
      row('firebase-functions and firebase-admin only', '1.00 ×', seen.bare),
      row('Kiln', `${fixed(ratio)} ×`, seen.kiln),
    ],
    figures: { 'coldstart.ratio': ratio },
  };
}

function loaded(file: string): { ms: number; rss: number } {
  const script = `const t = performance.now(); await import(${JSON.stringify(file)}); console.log(JSON.stringify([performance.now() - t, process.memoryUsage.rss()]));`;
  const answer = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', env: ENV });
  const [ms, rss] = JSON.parse(answer.trim().split('\n').at(-1) ?? '[]') as [number, number];
  return { ms, rss };
}

/** What the Firebase CLI does before each deploy: it starts the packaged server and asks it for the list of functions. */
async function discoveryMs(folder: string): Promise<number> {
  const port = await freePort();
  const server = join(
    createRequire(join(FUNCTIONS, 'package.json')).resolve('firebase-functions'),
    '..',
    '..',
    'bin',
    'firebase-functions.js',
  );
  const started = performance.now();
  const child = spawn(process.execPath, [server], {
    cwd: folder,
    env: { ...ENV, FUNCTIONS_CONTROL_API: 'true', PORT: String(port) },
    stdio: 'ignore',
  });
  try {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/__/functions.yaml`).catch(() => undefined);
      if (answer?.ok === true) {
        await answer.text();
        return performance.now() - started;
      }
      if (answer !== undefined || child.exitCode !== null)
        throw new Error(`discovery of ${folder} failed: ${(await answer?.text()) ?? 'the server ended'}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  } finally {
    child.kill('SIGKILL');
  }
}
