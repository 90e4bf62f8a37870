import { expect, test } from 'vitest';
import { filterOf, isFiltered, parseRunsSearch } from './search.ts';

test('an address becomes a filter; what makes no sense is passed over', () => {
  expect(parseRunsSearch({ status: 'waiting', workflow: 'invoice', key: 4711, from: '2026-11-01', before: '1700000000000' })).toEqual({
    status: 'waiting',
    workflow: 'invoice',
    key: '4711',
    from: '2026-11-01',
    before: 1_700_000_000_000,
  });
  expect(parseRunsSearch({ status: 'exploded', from: 'yesterday', before: 'x', workflow: '' })).toEqual({});
});

test('the last day is included', () => {
  const { from = 0, until = 0 } = filterOf({ from: '2026-11-05', until: '2026-11-05' });
  expect(until - from).toBe(86_400_000);
});

test('a page is no filter', () => {
  expect(isFiltered({ before: 5 })).toBe(false);
  expect(isFiltered({ status: 'failed' })).toBe(true);
});
