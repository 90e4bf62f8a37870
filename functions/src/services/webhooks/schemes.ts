import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { parseJson } from '../../engine/json.ts';
import type { Finding, Proof, WebhookScheme } from './verify.ts';

/** Seconds since 1970 in their one canonical form: with "01…" or "1…x" a request could be changed without being refused. */
const secondsPattern = /^[1-9]\d{0,11}$/;

/** Standard Webhooks: `id.timestamp.body`, signed with each active key; one match among the listed signatures is enough. */
export function standard(proof: Proof): Finding | undefined {
  const id = proof.header('webhook-id') ?? '';
  const seconds = proof.header('webhook-timestamp') ?? '';
  const signatures = (proof.header('webhook-signature') ?? '').split(' ');
  const text = strictText(proof.body);
  // A full stop in the id could move the border between id and timestamp.
  if (!/^[\x21-\x2d\x2f-\x7e]{1,256}$/.test(id) || !secondsPattern.test(seconds) || text === undefined) return undefined;
  if (!signatures.every((signature) => /^v\d+[a-z]?,[A-Za-z0-9+/=]+$/.test(signature))) return undefined;
  const timestamp = Number(seconds) * 1000;
  const expected = proof.keys.map((key) => standardSignature(key, id, timestamp, text));
  return anyEqual(expected, signatures)
    ? { deliveryId: id, deliveryIdSigned: true, timestamp, ...named(fieldOf(text, 'type')) }
    : undefined;
}

/** The signature of one key, or undefined when the key is not of the standard's form. */
export function standardSignature(key: string, id: string, timestamp: number, body: string): string | undefined {
  try {
    return new Webhook(key).sign(id, new Date(timestamp), body);
  } catch {
    return undefined;
  }
}

/** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
export function github(proof: Proof): Finding | undefined {
  const signature = proof.header('x-hub-signature-256') ?? '';
  if (!/^sha256=[0-9a-f]{64}$/.test(signature)) return undefined;
  const expected = proof.keys.map((key) => `sha256=${hmac(key, 'hex', proof.body)}`);
  return anyEqual(expected, [signature]) ? unsigned(proof.header('x-github-delivery'), proof.header('x-github-event')) : undefined;
}

/** https://shopify.dev/docs/apps/build/webhooks/subscribe/https#step-2-validate-the-origin-of-your-webhook-to-ensure-its-coming-from-shopify */
export function shopify(proof: Proof): Finding | undefined {
  const signature = proof.header('x-shopify-hmac-sha256') ?? '';
  if (!/^[A-Za-z0-9+/]{43}=$/.test(signature)) return undefined;
  const expected = proof.keys.map((key) => hmac(key, 'base64', proof.body));
  return anyEqual(expected, [signature]) ? unsigned(proof.header('x-shopify-webhook-id'), proof.header('x-shopify-topic')) : undefined;
}

/** https://docs.stripe.com/webhooks#verify-manually: `t=<seconds>,v1=<hex>[,v1=…]` over `t.body`. */
export function stripe(proof: Proof): Finding | undefined {
  const items = (proof.header('stripe-signature') ?? '').split(',').map((item) => /^(t|v\d+)=([0-9a-z]+)$/.exec(item));
  if (!items.every((item) => item !== null)) return undefined;
  const valuesOf = (name: string): string[] => items.filter((item) => item[1] === name).map((item) => item[2] ?? '');
  const [seconds = '', ...more] = valuesOf('t');
  if (more.length > 0 || !secondsPattern.test(seconds)) return undefined;
  const expected = proof.keys.map((key) => hmac(key, 'hex', Buffer.from(`${seconds}.`), proof.body));
  if (!anyEqual(expected, valuesOf('v1'))) return undefined;
  const text = strictText(proof.body);
  const deliveryId = text === undefined ? undefined : fieldOf(text, 'id');
  return {
    deliveryIdSigned: true,
    timestamp: Number(seconds) * 1000,
    ...(deliveryId === undefined ? {} : { deliveryId }),
    ...named(text === undefined ? undefined : fieldOf(text, 'type')),
  };
}

/** https://learn.microsoft.com/en-us/azure/devops/service-hooks/services/webhooks: basic authentication; id and event are in the body. */
export function azureDevOps(proof: Proof): Finding | undefined {
  const expected = proof.keys.map((key) => `Basic ${Buffer.from(key, 'utf8').toString('base64')}`);
  if (!anyEqual(expected, [proof.header('authorization') ?? ''])) return undefined;
  const text = strictText(proof.body);
  return text === undefined ? undefined : unsigned(fieldOf(text, 'id'), fieldOf(text, 'eventType'));
}

export function sharedSecret(proof: Proof, scheme: Extract<WebhookScheme, { kind: 'shared_secret' }>): Finding | undefined {
  const name = scheme.header.toLowerCase();
  const expected = proof.keys.map((key) => (name === 'authorization' ? `Bearer ${key}` : key));
  if (!anyEqual(expected, [proof.header(name) ?? ''])) return undefined;
  const read = (header: string | undefined): string | undefined => (header === undefined ? undefined : proof.header(header.toLowerCase()));
  return unsigned(read(scheme.deliveryIdHeader), read(scheme.eventHeader));
}

function unsigned(deliveryId: string | undefined, eventName: string | undefined): Finding {
  return { deliveryIdSigned: false, ...(deliveryId === undefined ? {} : { deliveryId }), ...named(eventName) };
}

function named(eventName: string | undefined): { readonly eventName?: string } {
  return eventName === undefined ? {} : { eventName };
}

function hmac(key: string, encoding: 'hex' | 'base64', ...parts: readonly Uint8Array[]): string {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest(encoding);
}

/** Whether any of the expected values is among the given ones, in a time that does not tell which one or how nearly. */
function anyEqual(expected: readonly (string | undefined)[], given: readonly string[]): boolean {
  let found = false;
  for (const left of expected) {
    for (const right of given) {
      const equal = timingSafeEqual(sha256(left ?? ''), sha256(right));
      found = (equal && left !== undefined && left !== '') || found;
    }
  }
  return found;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/** The body as text, byte for byte; undefined when it is not UTF-8. Replacing broken bytes would let two bodies share a signature. */
function strictText(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

/** A text field at the top of the (already trusted) body. */
function fieldOf(text: string, field: string): string | undefined {
  try {
    const value = parseJson(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, field)) return undefined;
    const found = value[field];
    return typeof found === 'string' ? found : undefined;
  } catch {
    return undefined;
  }
}
