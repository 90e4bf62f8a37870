import { describe, expect, test } from 'vitest';
import { golden } from './golden.ts';
import { sweep } from './sweep.ts';

const SEED = 4;

describe('every single fault at every operation', () => {
  test.each(Object.keys(golden))('%s', { timeout: 120_000 }, async (name) => {
    const scenario = golden[name];
    if (scenario === undefined) throw new Error(`there is no workflow "${name}"`);
    const { operations, runs, failures } = await sweep(scenario, SEED);
    expect(failures).toEqual([]);
    // Three faults at each operation, and the undisturbed run.
    expect(runs).toBe(1 + 3 * operations);
    expect(operations).toBeGreaterThan(5);
  });
});
