import { expect, test } from 'vitest';
import { starterTag, tagOf } from './tags.ts';

test('what a run is found by: its attributes, and who started it', () => {
  expect(tagOf('customer', 'C=1')).toBe('customer=C=1');
  expect(starterTag({ kind: 'webhook', id: 'shop' })).toBe('$by=webhook:shop');
});
