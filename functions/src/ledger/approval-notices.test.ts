import { expect, test } from 'vitest';
import { approvalLink } from './approval-notices.ts';

test('A11 a link carries nothing that could be swapped: no verdict, no approver, no expiry, no token; it names a page', () => {
  const link = approvalLink({ accountId: 'acme', approvalId: 'a1' });
  expect(link).toBe('/approvals/acme/a1');
  const url = new URL(link, 'https://kiln.example');
  expect([...url.searchParams]).toEqual([]);
  expect(url.hash).toBe('');
});
