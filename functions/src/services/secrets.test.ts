import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../engine/json.ts';
import { environmentSecrets, Redactor, requireSecret } from './secrets.ts';

const canary = 'c4nary/Se+cret="&é 9';
const redactor = new Redactor([{ name: 'CANARY', value: canary }]);

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test.each([
  ['as it is', canary],
  ['in JSON', JSON.stringify({ echo: canary })],
  ['in ASCII JSON', JSON.stringify(canary).replace('é', '\\u00e9')],
  ['in JSON with escaped slashes', JSON.stringify(canary).replaceAll('/', '\\/')],
  ['in HTML', '<b>c4nary/Se+cret=&quot;&amp;é 9</b>'],
  ['in a URL', `https://a.example/?k=${encodeURIComponent(canary)}&x=1`],
  ['in a URL with small hex digits', encodeURIComponent(canary).replace(/%../g, (code) => code.toLowerCase())],
  ['in a form', new URLSearchParams({ k: canary }).toString()],
  ['in base64', base64(canary)],
  ['in base64 without padding', base64(canary).replace(/=+$/, '')],
  ['in base64url', Buffer.from(canary).toString('base64url')],
  ['in base64 in a URL', encodeURIComponent(base64(canary))],
  ['in hex', Buffer.from(canary).toString('hex')],
  ['in capital hex', Buffer.from(canary).toString('hex').toUpperCase()],
])('X4 a secret that comes back %s is redacted', (_where, text) => {
  const clean = redactor.redactText(text);
  expect(clean).toContain('[secret CANARY]');
  expect(clean).not.toContain('c4nary');
  expect(clean).not.toContain(base64(canary).slice(4, 12));
});

test.each([
  ['u:', ''],
  ['user:', ''],
  ['users:', ':tail'],
  ['', '!'],
  ['é', 'é'],
])('X4 a secret inside longer base64 text is redacted (%j before, %j after)', (before, after) => {
  const clean = redactor.redactText(`Basic ${base64(`${before}${canary}${after}`)}`);
  expect(clean).toContain('[secret CANARY]');
  // What is left over must not give back the secret's characters.
  const left = clean.replace('Basic ', '').replaceAll('[secret CANARY]', ' ');
  expect(left.length).toBeLessThan(before.length * 2 + after.length * 2 + 12);
});

test('X4 whatever the secret and whatever surrounds it, it is found in base64 and in URLs', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 6, maxLength: 40 }), fc.string(), fc.string(), (secret, before, after) => {
      const local = new Redactor([{ name: 'S', value: secret }]);
      const whole = `${before}${secret}${after}`;
      for (const text of [
        whole,
        base64(whole),
        Buffer.from(whole).toString('base64url'),
        encodeURIComponent(whole),
        JSON.stringify(whole),
      ]) {
        expect(local.redactText(text)).toContain('[secret S]');
      }
    }),
    { numRuns: 300 },
  );
});

test('values and keys are redacted at every depth; other types stay', () => {
  const value: Json = { list: [1, null, true, { [`x-${canary}`]: [canary, `a${canary}b`] }], n: 0.5, deep: { s: 'fine' } };
  expect(redactor.redact(value)).toEqual({
    list: [1, null, true, { 'x-[secret CANARY]': ['[secret CANARY]', 'a[secret CANARY]b'] }],
    n: 0.5,
    deep: { s: 'fine' },
  });
});

test('keys that become the same keep both values, and __proto__ stays data', () => {
  const two = new Redactor([
    { name: 'A', value: 'secret-one' },
    { name: 'A', value: 'secret-two' },
  ]);
  expect(two.redact({ 'secret-one': 1, 'secret-two': 2 })).toEqual({ '[secret A]': 1, '[secret A] (2)': 2 });
  const parsed = JSON.parse('{"__proto__":{"polluted":"secret-one"}}') as Json;
  expect(JSON.stringify(two.redact(parsed))).toBe('{"__proto__":{"polluted":"[secret A]"}}');
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('a value nested 50,000 deep does not exhaust the stack', () => {
  let deep: Json = canary;
  for (let level = 0; level < 50_000; level += 1) deep = [deep];
  let cursor = redactor.redact(deep);
  while (Array.isArray(cursor)) cursor = cursor[0] ?? null;
  expect(cursor).toBe('[secret CANARY]');
});

test('a short secret is reported instead of blanking half of every text; of two overlapping ones the longer wins', () => {
  const short = new Redactor([{ name: 'PIN', value: '12345' }]);
  expect(short.unprotected).toEqual(['PIN']);
  expect(short.redactText('order 12345')).toBe('order 12345');
  const nested = new Redactor([
    { name: 'SHORT', value: 'abcdef' },
    { name: 'LONG', value: 'abcdefghij' },
  ]);
  expect(nested.redactText('abcdefghij abcdef')).toBe('[secret LONG] [secret SHORT]');
});

test('only declared names are reachable', () => {
  const source = environmentSecrets({ STRIPE_KEY: 'sk_live', PATH: '/usr/bin', EMPTY: '' }, ['STRIPE_KEY', 'EMPTY', 'ABSENT', 'lower']);
  expect(requireSecret(source, 'STRIPE_KEY')).toBe('sk_live');
  for (const name of ['PATH', 'EMPTY', 'ABSENT', 'lower', '__proto__', 'toString']) {
    expect(() => requireSecret(source, name)).toThrow(expect.objectContaining({ code: 'secret.missing' }));
  }
});
