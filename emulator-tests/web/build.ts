import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/root.ts';

const WEB = join(ROOT, 'web');
const PARTS = [
  join(WEB, 'src'),
  join(WEB, 'vite.config.ts'),
  join(WEB, 'index.html'),
  join(ROOT, 'functions', 'src', 'model'),
  join(ROOT, 'functions', 'src', 'engine'),
];

function newest(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

/** Builds the app when what it is made of is newer than what was built. */
export function buildWeb(): void {
  const built = join(WEB, 'dist', 'index.html');
  if (existsSync(built) && statSync(built).mtimeMs > Math.max(...PARTS.map(newest))) return;
  execFileSync(process.execPath, [join(WEB, 'node_modules', 'vite', 'bin', 'vite.js'), 'build'], {
    cwd: WEB,
    stdio: 'pipe',
    // The test runner's own NODE_ENV would bundle the development build of React.
    env: { ...process.env, NODE_ENV: 'production' },
  });
}
