import { expect, test } from 'vitest';
import { innerAddressReason } from './address.ts';
import { createGuard, parseAllowedHosts } from './guard.ts';

const signal = new AbortController().signal;
const guard = createGuard({ lookup: async () => [{ address: '93.184.216.34', family: 4 }] });

test.each([
  'https://127.0.0.1/',
  'https://127.1/',
  'https://0x7f000001/',
  'https://2130706433/',
  'https://0177.0.0.1/',
  'https://0/',
  'https://0.0.0.0/',
  'https://10.1.2.3/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://100.100.100.200/',
  'https://168.63.129.16/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://240.0.0.1/',
  'https://192.0.2.1/',
  'https://198.18.0.1/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:169.254.169.254]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b:1::1]/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001::1]/',
  'https://[2001:db8::1]/',
  'https://[4000::1]/',
  'https://metadata.google.internal/computeMetadata/v1/',
  'https://METADATA.google.internal./',
  'https://metadata/',
  'https://localhost/',
  'https://localhost./',
  'https://a.localhost/',
  'https://db.internal/',
  'https://printer.local/',
  'https://kubernetes.default.svc/',
  'https://127。0。0。1/',
  'https://①②⑦.0.0.1/',
  'http://example.com/',
])('X6 %s is refused when it is saved and again when it is called', async (url) => {
  expect(() => guard.check(url)).toThrow(expect.objectContaining({ code: 'http.blocked_address' }));
  await expect(guard.resolve(url, signal)).rejects.toMatchObject({ code: 'http.blocked_address', class: 'not_retryable' });
});

test.each(['https://example.com/', 'https://8.8.8.8/', 'https://[2606:4700:4700::1111]/', 'https://example.com:8443/a?b=c'])(
  '%s may be called',
  async (url) => {
    expect(guard.check(url).protocol).toBe('https:');
    expect((await guard.resolve(url, signal)).addresses).not.toHaveLength(0);
  },
);

test.each([
  '',
  'not a url',
  '//example.com',
  'ftp://example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'https://user:pass@example.com/',
  'https://token@example.com/',
])('%j is not a usable address', (url) => {
  expect(() => guard.check(url)).toThrow(expect.objectContaining({ code: 'request.invalid' }));
});

test('X6 one inner address among several is enough to refuse a name', async () => {
  const mixed = createGuard({
    lookup: async () => [
      { address: '93.184.216.34', family: 4 },
      { address: 'fd00::1', family: 6 },
    ],
  });
  await expect(mixed.resolve('https://rebind.example/', signal)).rejects.toMatchObject({ code: 'http.blocked_address' });
});

test('X6 an answer that is no address at all is refused', async () => {
  const odd = createGuard({ lookup: async () => [{ address: 'fe80::1%eth0', family: 6 }] });
  await expect(odd.resolve('https://odd.example/', signal)).rejects.toMatchObject({ code: 'http.blocked_address' });
  expect(innerAddressReason('nonsense')).toContain('not an IP address');
});

test('a listed host may be private and speak http, on the listed port only', async () => {
  const open = createGuard({
    allowPrivateHosts: parseAllowedHosts(' 127.0.0.1:9498 , LOCALHOST:80,'),
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
  });
  expect(open.check('http://127.0.0.1:9498/v1').port).toBe('9498');
  expect((await open.resolve('http://localhost/', signal)).addresses[0]?.address).toBe('127.0.0.1');
  expect(() => open.check('http://127.0.0.1:9499/')).toThrow(expect.objectContaining({ code: 'http.blocked_address' }));
  expect(() => open.check('http://localhost:8080/')).toThrow(expect.objectContaining({ code: 'http.blocked_address' }));
});

test('a name without an address is a connection error, and may be tried again', async () => {
  const none = createGuard({
    lookup: async () => {
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    },
  });
  await expect(none.resolve('https://nowhere.example/', signal)).rejects.toMatchObject({ code: 'http.connection', class: 'retryable' });
  const empty = createGuard({ lookup: async () => [] });
  await expect(empty.resolve('https://nowhere.example/', signal)).rejects.toMatchObject({ code: 'http.connection' });
});

test('a name server that never answers does not outlive the deadline', async () => {
  const silent = createGuard({ lookup: () => new Promise(() => undefined) });
  const limit = new AbortController();
  const waiting = silent.resolve('https://slow.example/', limit.signal);
  limit.abort(new Error('deadline'));
  await expect(waiting).rejects.toThrow('deadline');
});
