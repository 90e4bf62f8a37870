import { expect, test } from 'vitest';
import { parseRetryAfter, RETRY_AFTER_CAP_MS } from './retry-after.ts';
import { statusError } from './status.ts';

const now = Date.parse('2026-11-20T12:00:00Z');

test.each([
  ['60', 60_000],
  [' 0 ', 0],
  ['Fri, 20 Nov 2026 12:02:00 GMT', 120_000],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
])('R5 a wait of %j is honoured', (value, expected) => {
  expect(parseRetryAfter(value, now)).toBe(expected);
});

test.each([[String(40 * 24 * 3600)], ['9'.repeat(400)], ['Wed, 30 Dec 2026 12:00:00 GMT']])(
  'R5 a wait over a day (%j) is capped at a day',
  (value) => {
    expect(parseRetryAfter(value, now)).toBe(RETRY_AFTER_CAP_MS);
  },
);

test.each([
  ['-5'],
  ['soon'],
  ['1.5'],
  ['60s'],
  ['0x10'],
  ['Infinity'],
  ['2026-11-20T13:00:00Z'],
  ['Fri, 99 Nov 2026 12:02:00 GMT'],
  [''],
  [undefined],
  [null],
])('R5 garbage (%j) falls back to the normal backoff', (value) => {
  expect(parseRetryAfter(value, now)).toBeUndefined();
});

test('R5 a 429 carries the wait, a 404 does not', () => {
  const headers = { 'retry-after': '60' };
  expect(statusError({ status: 429, headers, origin: 'https://a.example', now })).toMatchObject({
    code: 'http.rate_limited',
    class: 'retryable',
    retryAfterMs: 60_000,
  });
  expect(statusError({ status: 404, headers, origin: 'https://a.example', now })).toMatchObject({
    code: 'http.client_error',
    class: 'not_retryable',
    retryAfterMs: undefined,
  });
});

test.each([
  [204, undefined],
  [302, undefined],
  [400, 'http.client_error'],
  [401, 'http.client_error'],
  [408, 'http.server_error'],
  [425, 'http.server_error'],
  [500, 'http.server_error'],
  [503, 'http.server_error'],
])('status %i means %s', (status, code) => {
  expect(statusError({ status, headers: {}, origin: 'https://a.example', now })?.code).toBe(code);
});
