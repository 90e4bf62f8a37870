import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const engineRoom = (room: string): string => fileURLToPath(new URL(`./functions/src/${room}`, import.meta.url));

export default defineConfig({
  // The web app shares the engine's schemas and pure functions; see web/vite.config.ts.
  resolve: { alias: { '@model': engineRoom('model'), '@engine': engineRoom('engine') } },
  test: {
    restoreMocks: true,
    unstubEnvs: true,
    // What is waited for comes at once; on a machine that is busy it may come later.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          testTimeout: 120_000,
          include: [
            'functions/src/**/*.test.ts',
            'scripts/**/*.test.{ts,mjs}',
            'web/src/**/*.test.{ts,tsx}',
            'emulator-tests/simulator/*.test.ts',
          ],
          exclude: ['**/node_modules/**', 'emulator-tests/simulator/replay.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'emulator',
          include: ['emulator-tests/**/*.test.ts'],
          // The simulator runs in memory; only its replay needs the emulator.
          exclude: ['**/node_modules/**', 'emulator-tests/simulator/!(replay).test.ts'],
          globalSetup: ['emulator-tests/global-setup.ts'],
          setupFiles: ['emulator-tests/setup.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // Files share one Firestore emulator and two cores; they stay apart by account and project, not by order.
          maxWorkers: 2,
          // After the unit tests, so that timings of the two do not disturb each other.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
