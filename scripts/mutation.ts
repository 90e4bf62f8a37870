/**
 * `npm run mutation -- quorum retry`: changes these files of `functions/src/engine` in small ways and runs their tests against each
 * change (Stryker). A change that no test notices is a hole in the tests. Takes a second or more for each change.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
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

/** Only the tests beside a file, so that a change costs a second. A file without tests of its own is judged by all. */
const tests = files.map((file) => `${ENGINE}/${file}.test.ts`);
const all = tests.some((test) => !existsSync(join(ROOT, test)));
const stryker = join(dirname(createRequire(import.meta.url).resolve('@stryker-mutator/core/package.json')), 'bin', 'stryker.js');
const mutate = files.map((file) => `${ENGINE}/${file}.ts`).join(',');
const { status } = spawnSync(process.execPath, [stryker, 'run', 'scripts/mutation/stryker.config.json', '--mutate', mutate], {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, ...(all ? {} : { KILN_MUTATION_TESTS: tests.join(',') }) },
});
process.exitCode = status ?? 1;
