import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CACHE, ROOT } from '../../scripts/root.ts';

const WEB = join(ROOT, 'web');
const PARTS = [
  join(WEB, 'src'),
  join(WEB, 'vite.config.ts'),
  join(WEB, 'index.html'),
  join(ROOT, 'functions', 'src', 'model'),
  join(ROOT, 'functions', 'src', 'engine'),
];
/** Held by the one who builds; the folder of a builder that died is passed over. */
const LOCK = join(CACHE, 'web-build');
const LOCKED_AT_MOST_MS = 120_000;

function newest(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function isBuilt(): boolean {
  const built = join(WEB, 'dist', 'index.html');
  return existsSync(built) && statSync(built).mtimeMs > Math.max(...PARTS.map(newest));
}

function lock(): boolean {
  try {
    mkdirSync(LOCK);
    return true;
  } catch {
    const held = statSync(LOCK, { throwIfNoEntry: false });
    return held !== undefined && Date.now() - held.mtimeMs > LOCKED_AT_MOST_MS;
  }
}

/** Builds the app when what it is made of is newer than what was built. Of several files that need it, one builds. */
export async function buildWeb(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  while (!isBuilt()) {
    if (!lock()) {
      await pause(200);
      continue;
    }
    try {
      await promisify(execFile)(process.execPath, [join(WEB, 'node_modules', 'vite', 'bin', 'vite.js'), 'build'], {
        cwd: WEB,
        // The test runner's own NODE_ENV would bundle the development build of React.
        env: { ...process.env, NODE_ENV: 'production' },
      });
      return;
    } finally {
      rmdirSync(LOCK);
    }
  }
}
