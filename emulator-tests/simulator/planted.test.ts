import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/root.ts';
import { huntPlanted } from './mutants.ts';
import { planted } from './planted.ts';

/** Bugs that few schedules reveal: continuous integration hunts those that many do; `npm run sim -- --planted` hunts all. */
const QUICK = [
  'claim-without-fence',
  'join-one-early',
  'cancel-spares-steps',
  'new-step-not-due',
  'timer-trusted-early',
  'lease-ignored',
  'task-name-reused',
  'parent-not-told',
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

  test('are caught', { timeout: 240_000 }, async () => {
    const bugs = planted.filter(({ id }) => QUICK.includes(id));
    expect(bugs).toHaveLength(QUICK.length);
    const caught = await huntPlanted(bugs, { from: 1, schedules: 150, jobs: 2 });
    expect(caught.filter(({ find }) => find === undefined).map((one) => one.planted.id)).toEqual([]);
  });
});
