import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/root.ts';
import { huntPlanted } from './mutants.ts';
import { planted } from './planted.ts';

/** Bugs that few schedules reveal. `npm run sim -- --planted --schedules 2500` hunts these as well; continuous integration the others. */
const RARE = [
  'early-join-twice',
  'paused-retry-due',
  'unknown-outcome-repeated',
  'lost-attempt-repeated',
  'timeout-is-clean',
  'template-twice',
  'event-handled-first',
  'early-join-spares-lanes',
  'code-undo-paused',
  'closed-wait-takes',
];

describe('deliberately broken engines', () => {
  test('there are at least 25, each of its own', () => {
    expect(planted.length).toBeGreaterThanOrEqual(25);
    expect(new Set(planted.map(({ id }) => id)).size).toBe(planted.length);
  });

  test.each(planted)('$id still has its place in $file', ({ file, edits }) => {
    const text = readFileSync(join(ROOT, 'functions', 'src', file), 'utf8');
    for (const [find] of edits) expect(text.split(find).length - 1, find).toBe(1);
  });

  test('are caught', { timeout: 900_000 }, async () => {
    const bugs = planted.filter(({ id }) => !RARE.includes(id));
    expect(bugs).toHaveLength(planted.length - RARE.length);
    const caught = await huntPlanted(bugs, { from: 1, schedules: 200, jobs: 2 });
    expect(caught.filter(({ find }) => find === undefined).map((one) => one.planted.id)).toEqual([]);
  });
});
