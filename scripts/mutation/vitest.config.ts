import { defineConfig } from 'vitest/config';

/** The tests that may kill a mutant of the engine. `KILN_MUTATION_TESTS` names fewer, to be quicker. */
const include = process.env['KILN_MUTATION_TESTS']?.split(',') ?? ['functions/src/engine/*.test.ts'];

export default defineConfig({
  test: {
    include,
    restoreMocks: true,
    testTimeout: 30_000,
    setupFiles: ['scripts/mutation/fewer-runs.ts'],
    // Watches the files of the engine, which are other ones here.
    exclude: ['**/node_modules/**', 'functions/src/engine/boundary.test.ts'],
  },
});
