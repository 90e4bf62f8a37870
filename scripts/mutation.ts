/**
 * `npm run mutation -- quorum retry`: changes these files of `functions/src/engine` in small ways and runs their tests against each
 * change (Stryker). A change that no test notices is a hole in the tests. Takes about a second for each change.
 * `KILN_MUTATION_TESTS` names other tests.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ROOT } from './root.ts';

const ENGINE = 'functions/src/engine';
const files = process.argv.slice(2);
const missing = files.filter((file) => !existsSync(join(ROOT, ENGINE, `${file}.ts`)));
if (files.length === 0 || missing.length > 0) {
  process.stderr.write(`Name files of ${ENGINE}, without ".ts". Not there: ${missing.join(', ') || 'any'}.\n`);
  process.exit(2);
}

/**
 * Only the tests beside a file (`quorum.test.ts`, `quorum-….test.ts`), so that a change costs less than a second. Where a file has
 * none, all tests of the engine judge.
 */
const beside = readdirSync(join(ROOT, ENGINE)).filter((name) => name.endsWith('.test.ts'));
const tests = files.map((file) => beside.filter((name) => name.startsWith(`${file}.`) || name.startsWith(`${file}-`)));
const chosen = tests.some((found) => found.length === 0)
  ? {}
  : {
      KILN_MUTATION_TESTS: tests
        .flat()
        .map((name) => `${ENGINE}/${name}`)
        .join(','),
    };
const stryker = join(dirname(createRequire(import.meta.url).resolve('@stryker-mutator/core/package.json')), 'bin', 'stryker.js');
const mutate = files.map((file) => `${ENGINE}/${file}.ts`).join(',');
const { status } = spawnSync(process.execPath, [stryker, 'run', 'scripts/mutation/stryker.config.json', '--mutate', mutate], {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...chosen, ...process.env },
});
process.exitCode = status ?? 1;
