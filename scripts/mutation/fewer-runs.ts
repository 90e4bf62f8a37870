import type * as FastCheck from 'fast-check';
import { beforeAll, beforeEach, vi } from 'vitest';

// Each mutant runs the properties again: a few examples have to do, also where a test asks for more.
const FEW = 20;

vi.mock('fast-check', async (original) => {
  const fc = await original<typeof FastCheck>();
  fc.configureGlobal({ numRuns: FEW });
  const assert = ((property: never, asked?: { numRuns?: number }) =>
    fc.assert(property, { ...asked, numRuns: Math.min(asked?.numRuns ?? FEW, FEW) })) as typeof fc.assert;
  return { ...fc, assert, default: { ...fc.default, assert } };
});

// One failure is enough to notice a mutant: the other tests of the file are skipped.
let noticed = false;
beforeAll(() => {
  noticed = false;
});
beforeEach(({ skip, onTestFailed }) => {
  skip(noticed, 'noticed already');
  onTestFailed(() => {
    noticed = true;
  });
});
