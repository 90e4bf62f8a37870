import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    restoreMocks: true,
    unstubEnvs: true,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          testTimeout: 30_000,
          include: ['functions/src/**/*.test.ts', 'scripts/**/*.test.{ts,mjs}', 'web/src/**/*.test.{ts,tsx}'],
        },
      },
      {
        extends: true,
        test: {
          name: 'emulator',
          include: ['emulator-tests/**/*.test.ts'],
          globalSetup: ['emulator-tests/global-setup.ts'],
          setupFiles: ['emulator-tests/setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Files share one Firestore emulator and two cores; they stay apart by account and project, not by order.
          maxWorkers: 2,
          // After the unit tests, so that timings of the two do not disturb each other.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
