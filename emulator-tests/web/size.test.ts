import { expect, test } from 'vitest';
import { firstLoad } from './size.ts';

const LIMIT = 350 * 1024;

test('the first load of a signed-in person is at most 350 KB: everything up to the inbox, scripts and styles', async () => {
  const { bytes, files } = await firstLoad();
  expect([...files].some((name) => name.startsWith('inbox-page'))).toBe(true);
  console.info(`first load: ${(bytes / 1024).toFixed(1)} KB gzip in ${files.size} files`);
  expect(bytes).toBeLessThanOrEqual(LIMIT);
  for (const heavy of ['editor-page', 'graph-view', 'numbers-page', 'run-page'])
    expect([...files].some((name) => name.startsWith(heavy))).toBe(false);
});
