import { expect, test } from 'vitest';
import { filterOf, isFiltered, parseRunsSearch } from './search.ts';

test('an address becomes a filter; what makes no sense is passed over', () => {
  expect(parseRunsSearch({ status: 'waiting', workflow: 'invoice', key: 4711, from: '2026-11-01', after: '1700000000000~r_1' })).toEqual({
    status: 'waiting',
    workflow: 'invoice',
    key: '4711',
    from: '2026-11-01',
    after: '1700000000000~r_1',
  });
  expect(parseRunsSearch({ status: 'exploded', from: 'yesterday', after: 'x', workflow: '' })).toEqual({});
});

test('the last day is included', () => {
  const { from = 0, until = 0 } = filterOf({ from: '2026-11-05', until: '2026-11-05' });
  expect(until - from).toBe(86_400_000);
});

test('a page begins after a run', () => {
  expect(filterOf({ after: '5~r1' })).toEqual({ after: { createdAt: 5, runId: 'r1' } });
});

test('a page is no filter', () => {
  expect(isFiltered({ after: '5~r' })).toBe(false);
  expect(isFiltered({ status: 'failed' })).toBe(true);
});
