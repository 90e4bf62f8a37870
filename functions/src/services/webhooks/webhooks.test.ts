import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newWebhookKey, signWebhook } from './sign.ts';
import { verifyWebhook, webhookSchemeSchema, type IncomingWebhook, type VerifyOptions, type WebhookVerdict } from './verify.ts';

const json = 'application/json';

/** A request that is valid at `now`, and what must come out of it. */
interface Example {
  readonly name: string;
  readonly options: VerifyOptions;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly expected: object;
  /** Headers that the signature covers or is; each single change must be refused. */
  readonly guarded: readonly string[];
  readonly bodyGuarded: boolean;
}

const examples: readonly Example[] = [
  {
    // The published example of the scheme's reference implementation (Svix).
    name: 'standard',
    options: { scheme: { kind: 'standard' }, keys: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], now: 1_614_265_330_000 },
    headers: {
      'content-type': json,
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    expected: { ok: true, deliveryId: 'msg_p5jXN8AQM9LWM0D4loKWxJek', deliveryIdSigned: true, timestamp: 1_614_265_330_000 },
    guarded: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
    bodyGuarded: true,
  },
  {
    // GitHub's documentation, "Testing the webhook payload validation".
    name: 'github',
    options: { scheme: { kind: 'github' }, keys: ["It's a Secret to Everybody"], now: 0 },
    headers: {
      'content-type': json,
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'x-github-event': 'issues',
    },
    body: 'Hello, World!',
    expected: { ok: true, deliveryId: '72d3162e-cc78-11e3-81ab-4c9367dc0958', deliveryIdSigned: false, eventName: 'issues' },
    guarded: ['x-hub-signature-256'],
    bodyGuarded: true,
  },
  {
    // Shopify publishes no example; this one is in the test suite of SQLPage, an independent implementation.
    name: 'shopify',
    options: { scheme: { kind: 'shopify' }, keys: ['test-webhook-secret'], now: 0 },
    headers: {
      'content-type': json,
      'x-shopify-hmac-sha256': 'QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw=',
      'x-shopify-webhook-id': 'b54557e4',
      'x-shopify-topic': 'orders/create',
    },
    body: '{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}',
    expected: { ok: true, deliveryId: 'b54557e4', deliveryIdSigned: false, eventName: 'orders/create' },
    guarded: ['x-shopify-hmac-sha256'],
    bodyGuarded: true,
  },
  {
    // Stripe publishes no complete example; this one was computed with openssl as its documentation describes.
    name: 'stripe',
    options: { scheme: { kind: 'stripe' }, keys: ['whsec_test_secret'], now: 1_492_774_577_000 },
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'stripe-signature':
        't=1492774577,v1=4d9d080d29d93575e302f9ac4d42e1a77c2f3f769bfed3860aa193b8d903197e,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39',
    },
    body: '{"id": "evt_1", "type": "invoice.paid"}',
    expected: { ok: true, deliveryId: 'evt_1', deliveryIdSigned: true, eventName: 'invoice.paid', timestamp: 1_492_774_577_000 },
    guarded: ['stripe-signature'],
    bodyGuarded: true,
  },
  {
    name: 'azure_devops',
    options: { scheme: { kind: 'azure_devops' }, keys: ['kiln:correct horse'], now: 0 },
    headers: { 'content-type': 'application/json; charset=utf-8', authorization: 'Basic a2lsbjpjb3JyZWN0IGhvcnNl' },
    body: '{"id":"4a5d99d6-1c75-4e53-91b9-ee80057d4ce3","eventType":"workitem.created","publisherId":"tfs"}',
    expected: { ok: true, deliveryId: '4a5d99d6-1c75-4e53-91b9-ee80057d4ce3', deliveryIdSigned: false, eventName: 'workitem.created' },
    guarded: ['authorization'],
    bodyGuarded: false,
  },
  {
    name: 'shared_secret',
    options: {
      scheme: { kind: 'shared_secret', header: 'X-Hook-Secret', deliveryIdHeader: 'X-Delivery', eventHeader: 'X-Event' },
      keys: ['0123456789abcdef'],
      now: 0,
    },
    headers: { 'content-type': json, 'x-hook-secret': '0123456789abcdef', 'x-delivery': 'd-1', 'x-event': 'ping' },
    body: '{}',
    expected: { ok: true, deliveryId: 'd-1', deliveryIdSigned: false, eventName: 'ping' },
    guarded: ['x-hook-secret'],
    bodyGuarded: false,
  },
];

function request(
  example: Example,
  change: { headers?: Record<string, string | string[] | undefined>; body?: string | Uint8Array } = {},
): IncomingWebhook {
  const body = change.body ?? example.body;
  return { headers: { ...example.headers, ...change.headers }, rawBody: typeof body === 'string' ? Buffer.from(body, 'utf8') : body };
}

function verdict(example: Example, change?: Parameters<typeof request>[1], options: Partial<VerifyOptions> = {}): WebhookVerdict {
  return verifyWebhook(request(example, change), { ...example.options, ...options });
}

function exampleOf(kind: string): Example {
  const found = examples.find(({ name }) => name === kind);
  if (found === undefined) throw new Error(`no example ${kind}`);
  return found;
}

describe.each(examples)('$name', (example) => {
  test('the published example is accepted', () => {
    expect(verdict(example)).toEqual(example.expected);
    expect(webhookSchemeSchema.parse(example.options.scheme)).toEqual(example.options.scheme);
  });

  test('an old and a new key are both valid while a key is replaced; without a key nothing is', () => {
    expect(verdict(example, {}, { keys: ['another:key-0', ...example.options.keys] }).ok).toBe(true);
    expect(verdict(example, {}, { keys: ['another:key-0'] })).toEqual({ ok: false });
    expect(verdict(example, {}, { keys: [''] })).toEqual({ ok: false });
    expect(verdict(example, {}, { keys: [] })).toEqual({ ok: false });
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/jsonp',
    'application/json, text/plain',
    'application/json; charset=utf-16',
    '',
    undefined,
  ])('X8 the same bytes as %j are refused', (contentType) => {
    expect(verdict(example, { headers: { 'content-type': contentType } })).toEqual({ ok: false });
  });

  test('X8 two signature headers are refused, joined or as a list', () => {
    for (const name of example.guarded) {
      const value = example.headers[name] ?? '';
      expect(verdict(example, { headers: { [name]: `${value}, ${value}` } })).toEqual({ ok: false });
      expect(verdict(example, { headers: { [name]: [value, value] } })).toEqual({ ok: false });
      expect(verdict(example, { headers: { [name]: undefined } })).toEqual({ ok: false });
    }
  });

  test('1,000 random mutations are all refused', () => {
    const place = fc.nat();
    const char = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code));
    const edit = fc.oneof(
      fc.record({ kind: fc.constant('replace' as const), place, char }),
      fc.record({ kind: fc.constant('insert' as const), place, char }),
      fc.record({ kind: fc.constant('delete' as const), place, char }),
      fc.record({ kind: fc.constant('swap' as const), place, char }),
      fc.record({ kind: fc.constant('cut' as const), place, char }),
    );
    const targets = [...example.guarded, ...(example.bodyGuarded ? ['body', 'bytes'] : [])];
    fc.assert(
      fc.property(fc.constantFrom(...targets), edit, (target, change) => {
        const original = target === 'body' || target === 'bytes' ? example.body : (example.headers[target] ?? '');
        if (target === 'bytes') {
          const bytes = Buffer.from(original);
          bytes[change.place % bytes.length] = (bytes[change.place % bytes.length] ?? 0) ^ (1 << (change.place % 8));
          expect(verdict(example, { body: bytes })).toEqual({ ok: false });
          return;
        }
        const mutated = mutate(original, change);
        fc.pre(mutated !== original);
        // A wholly removed old-style signature (v0) is no change of meaning: Stripe tells receivers to ignore it.
        fc.pre(target !== 'stripe-signature' || !mutated.startsWith(original.split(',v0')[0] ?? ''));
        expect(verdict(example, target === 'body' ? { body: mutated } : { headers: { [target]: mutated } })).toEqual({ ok: false });
      }),
      { numRuns: 1_000 },
    );
  });
});

function mutate(text: string, change: { readonly kind: string; readonly place: number; readonly char: string }): string {
  const at = change.place % text.length;
  if (change.kind === 'insert') return text.slice(0, at) + change.char + text.slice(at);
  if (change.kind === 'delete') return text.slice(0, at) + text.slice(at + 1);
  if (change.kind === 'cut') return text.slice(0, at);
  if (change.kind === 'swap') return text.slice(0, at) + (text[at + 1] ?? '') + (text[at] ?? '') + text.slice(at + 2);
  return text.slice(0, at) + change.char + text.slice(at + 1);
}

const minute = 60_000;

test.each([
  [-5 * minute, true],
  [-5 * minute - 1_000, false],
  [-(4 * minute + 59_000), true],
  [5 * minute, true],
  [5 * minute + 1_000, false],
  [4 * minute + 59_000, true],
  [365 * 24 * 60 * minute, false],
])('X8 a request that is %i ms off our clock: accepted %s', (offset, accepted) => {
  for (const kind of ['standard', 'stripe']) {
    const example = exampleOf(kind);
    expect(verdict(example, {}, { now: example.options.now + offset }).ok).toBe(accepted);
  }
});

const key = newWebhookKey((bytes) => new Uint8Array(bytes).fill(7));

test.each([
  ['odd spacing', '{  "a" :\n\t1 }\n'],
  ['unicode escapes', '{"a":"\\u00e9\\ud83d\\ude42"}'],
  ['raw unicode', '{"a":"é🙂\u2028"}'],
  ['a BOM', '\ufeff{"a":1}'],
  ['keys that repeat', '{"a":1,"a":2}'],
  ['a big number', '{"a":12345678901234567890}'],
])('X8 a body with %s is verified as it came, and its parsed form is not', (_what, body) => {
  const headers = signWebhook({ id: 'msg_1', timestamp: 1_700_000_000_000, body, keys: [key] });
  const options: VerifyOptions = { scheme: { kind: 'standard' }, keys: [key], now: 1_700_000_000_000 };
  expect(verifyWebhook({ headers, rawBody: Buffer.from(body) }, options)).toMatchObject({ ok: true, deliveryId: 'msg_1' });
  const parsed = JSON.stringify(JSON.parse(body.replace('\ufeff', '')));
  if (parsed !== body) expect(verifyWebhook({ headers, rawBody: Buffer.from(parsed) }, options)).toEqual({ ok: false });
});

test('X8 bytes that are no UTF-8 do not pass as the replacement character they would turn into', () => {
  const body = '{"a":"\ufffd"}';
  const headers = signWebhook({ id: 'msg_1', timestamp: 1_700_000_000_000, body, keys: [key] });
  const broken = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  expect(verifyWebhook({ headers, rawBody: broken }, { scheme: { kind: 'standard' }, keys: [key], now: 1_700_000_000_000 })).toEqual({
    ok: false,
  });
});

test('X8 a replay carries the same delivery id, which the receiver has already stored', () => {
  const first = verdict(exampleOf('standard'));
  const again = verdict(exampleOf('standard'), {}, { now: exampleOf('standard').options.now + minute });
  expect(again).toEqual(first);
});

test('X8 the id cannot swallow the timestamp', () => {
  const body = '1700000000.{}';
  const headers = signWebhook({ id: 'msg_1', timestamp: 1_700_000_000_000, body, keys: [key] });
  const moved = { ...headers, 'webhook-id': 'msg_1.1700000000', 'webhook-timestamp': '1700000000' };
  expect(
    verifyWebhook({ headers: moved, rawBody: Buffer.from('{}') }, { scheme: { kind: 'standard' }, keys: [key], now: 1_700_000_000_000 }),
  ).toEqual({ ok: false });
});

test('a signature list with one fitting entry is accepted; entries of unknown versions are ignored', () => {
  const example = exampleOf('standard');
  const good = example.headers['webhook-signature'] ?? '';
  expect(verdict(example, { headers: { 'webhook-signature': `v1a,AAAA v1,bm90IHRoaXM= ${good}` } }).ok).toBe(true);
  expect(verdict(example, { headers: { 'webhook-signature': good.replace('v1,', 'v2,') } }).ok).toBe(false);
});

test('a hook that shares its secret as a bearer token', () => {
  const options: VerifyOptions = { scheme: { kind: 'shared_secret', header: 'Authorization' }, keys: ['0123456789abcdef'], now: 0 };
  const with_ = (authorization: string): WebhookVerdict =>
    verifyWebhook({ headers: { 'content-type': json, authorization }, rawBody: Buffer.from('{}') }, options);
  expect(with_('Bearer 0123456789abcdef')).toEqual({ ok: true, deliveryIdSigned: false });
  for (const wrong of ['0123456789abcdef', 'bearer 0123456789abcdef', 'Bearer ', 'Bearer 0123456789abcdeF'])
    expect(with_(wrong)).toEqual({ ok: false });
});

test('a delivery id that could not be stored is refused', () => {
  for (const id of ['x'.repeat(257), 'a b', 'ü', '\u0000']) {
    expect(verdict(exampleOf('github'), { headers: { 'x-github-delivery': id } })).toEqual({ ok: false });
  }
});

test('what we sign is what the standard says, once per active key', () => {
  const other = newWebhookKey((bytes) => new Uint8Array(bytes).fill(9));
  const headers = signWebhook({ id: 'out_1', timestamp: 1_700_000_000_999, body: '{"é":1}', keys: [key, other] });
  const by = (bytes: number): string =>
    `v1,${createHmac('sha256', Buffer.alloc(32, bytes)).update('out_1.1700000000.{"é":1}', 'utf8').digest('base64')}`;
  expect(headers).toEqual({
    'content-type': 'application/json; charset=utf-8',
    'webhook-id': 'out_1',
    'webhook-timestamp': '1700000000',
    'webhook-signature': `${by(7)} ${by(9)}`,
  });
});

test.each([[{ keys: [] }], [{ keys: ['not base64 at all!'] }], [{ keys: [key, ''] }], [{ id: 'a.b' }], [{ id: '' }]])(
  '%j cannot be signed',
  (part) => {
    expect(() => signWebhook({ id: 'out_1', timestamp: 0, body: '{}', keys: [key], ...part })).toThrow(
      expect.objectContaining({ code: 'request.invalid' }),
    );
  },
);
