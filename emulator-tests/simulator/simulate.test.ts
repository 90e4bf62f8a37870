import { describe, expect, test } from 'vitest';
import { Counters } from './faults.ts';
import { hunt, together } from './hunt.ts';
import { runSeed } from './simulate.ts';

/** Fixed seeds: the same on every machine. `npm run sim` plays as many more as there is patience. */
const FIXED = { from: 1, schedules: 600 };
const RANDOM_SCHEDULES = 20;

describe('random schedules', () => {
  test('no invariant breaks, and every kind of fault and of operation happens', { timeout: 240_000 }, async () => {
    const found = await hunt({ ...FIXED, first: false });
    expect(found.finds).toEqual([]);
    expect(together([found]).counters.missing()).toEqual([]);
  });

  test('nor with seeds that nobody has chosen', { timeout: 120_000 }, async () => {
    const from = 1_000_000 + Math.floor(Math.random() * 100_000_000);
    console.log(`random seeds from ${from} on; again with: npm run sim -- --seed ${from} --schedules ${RANDOM_SCHEDULES}`);
    const found = await hunt({ from, schedules: RANDOM_SCHEDULES, first: false });
    expect(found.finds).toEqual([]);
  });

  test('the same seed is the same schedule', { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const first = await runSeed(seed);
      const second = await runSeed(seed);
      expect({ seed, hash: second.hash, operations: second.operations }).toEqual({ seed, hash: first.hash, operations: first.operations });
    }
  });

  test('another seed is another schedule', async () => {
    const hashes = new Set<string>();
    for (let seed = 1; seed <= 20; seed += 1) hashes.add((await runSeed(seed)).hash);
    expect(hashes.size).toBe(20);
  });

  test('a simulator that sees nothing says so', () => {
    expect(new Counters().missing()).toContain('crash after I/O');
    expect(new Counters().missing()).toContain('event met wait');
  });
});
