import { describe, expect, test } from 'vitest';
import { hasFormat } from './schema-formats.ts';

const valid: Readonly<Record<string, readonly string[]>> = {
  date: ['2026-11-01', '2028-02-29', '0001-01-01', '0099-12-31', '2026-12-31'],
  time: ['00:00:00Z', '23:59:59z', '12:00:00.123Z', '12:00:00+23:59', '12:00:00-00:00'],
  'date-time': ['2026-11-01T12:00:00Z', '2026-11-01t12:00:00Z', '2026-11-01 12:00:00+01:00'],
  email: ['a@b', "o'neil+x@mail.example.org", `${'a'.repeat(64)}@b.example`, 'a.b@c.example'],
  hostname: ['a', 'a-b.example', `${'a'.repeat(63)}.b`, '1.2', 'A.B', `${'a.'.repeat(126)}a`],
  ipv4: ['127.0.0.1', '255.255.255.255'],
  ipv6: ['::', '::1', '::ffff:1.2.3.4', 'fe80::1'],
  uri: ['https://example.com/a?b#c', 'urn:x', 'a:', 'mailto:a@b', 'x+y-z.1:%20', "a:[~!$&'()*+,;=]"],
  uuid: ['123e4567-e89b-12d3-a456-426614174000', '123E4567-E89B-12D3-A456-426614174000'],
};

const invalid: Readonly<Record<string, readonly string[]>> = {
  date: ['', '2026-11-1', '2026-02-30', '2027-02-29', '2026-13-01', '2026-00-01', '2026-01-00', '2026-01-32', 'x2026-11-01', '2026-11-01x'],
  time: [
    '',
    '24:00:00Z',
    '23:60:00Z',
    '23:59:60Z',
    '12:00:00',
    '12:00:00+24:00',
    '12:00:00+01:60',
    '12:00:00.Z',
    'x12:00:00Z',
    '12:00:00Zx',
  ],
  'date-time': [
    '2026-11-01',
    '2026-11-01x12:00:00Z',
    '2026-02-30T12:00:00Z',
    '2026-11-01T24:00:00Z',
    '2026-11-01T12:00:00Zx',
    '2026-11-01TT12:00:00Z',
  ],
  email: ['@b', 'a@', 'a', 'a@@b', '.a@b', 'a.@b', 'a..b@c', 'a b@c', `${'a'.repeat(65)}@b`, 'a@-b', 'é@b', 'a@b c'],
  hostname: ['', '-a', 'a-', 'a..b', 'a_b', 'a'.repeat(64), `${'a.'.repeat(127)}a`, 'é'],
  ipv4: ['0x7f.1', '1.2.3', '256.1.1.1', '1.2.3.4.5'],
  ipv6: ['1::2::3', 'fe80::1%eth0', '1.2.3.4', 'g::'],
  uri: ['', '/a/b', 'http://a b', '1a:b', 'a:%2', 'a:%zz', 'a:"', 'é:a', ' a:b'],
  uuid: [
    '123e4567',
    '123e4567-e89b-12d3-a456-4266141740000',
    'x123e4567-e89b-12d3-a456-426614174000',
    'g23e4567-e89b-12d3-a456-426614174000',
  ],
};

describe.each(Object.keys(valid))('the format %s', (format) => {
  test.each((valid[format] ?? []).map((text) => [text]))('has %j', (text) => {
    expect(hasFormat(text, format)).toBe(true);
  });
  test.each((invalid[format] ?? []).map((text) => [text]))('has not %j', (text) => {
    expect(hasFormat(text, format)).toBe(false);
  });
});

test('a format that nobody checks takes any text; no other takes more than 2,048 characters', () => {
  expect(hasFormat('x'.repeat(9_999), 'unheard-of')).toBe(true);
  expect(hasFormat(`a:${'x'.repeat(2_046)}`, 'uri')).toBe(true);
  expect(hasFormat(`a:${'x'.repeat(2_047)}`, 'uri')).toBe(false);
});
