import { z } from 'zod';
import { azureDevOps, github, sharedSecret, shopify, standard, stripe } from './schemes.ts';

/** Who sends, and so how a request proves where it comes from. */
export const webhookSchemeSchema = z.discriminatedUnion('kind', [
  /** https://www.standardwebhooks.com: keys are `whsec_…` or plain base64. */
  z.strictObject({ kind: z.literal('standard') }),
  z.strictObject({ kind: z.literal('github') }),
  z.strictObject({ kind: z.literal('shopify') }),
  z.strictObject({ kind: z.literal('stripe') }),
  /** Service hooks with basic authentication: keys are `user:password`. */
  z.strictObject({ kind: z.literal('azure_devops') }),
  /** The key itself in a header (`Bearer <key>` when the header is Authorization). Proves the sender, not the body: that is left to TLS. */
  z.strictObject({
    kind: z.literal('shared_secret'),
    header: z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
    deliveryIdHeader: z.string().optional(),
    eventHeader: z.string().optional(),
  }),
]);
export type WebhookScheme = z.infer<typeof webhookSchemeSchema>;

export interface IncomingWebhook {
  /** As Node gives them: lower-case names, repeated ones joined with ", ". */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The bytes as they came, before any parser touched them. */
  readonly rawBody: Uint8Array;
}

export interface VerifyOptions {
  readonly scheme: WebhookScheme;
  /** All keys that are valid now: more than one while a key is being replaced. */
  readonly keys: readonly string[];
  /** The only media type that is accepted. */
  readonly contentType?: string;
  readonly now: number;
}

export interface VerifiedWebhook {
  readonly ok: true;
  /** The sender's id of this delivery, for de-duplication; absent when the sender gives none. */
  readonly deliveryId?: string;
  /** Whether the signature covers that id. Where it does not, somebody who holds an old signed request can replay it under a new id. */
  readonly deliveryIdSigned: boolean;
  readonly eventName?: string;
  /** When the sender signed it, in ms. */
  readonly timestamp?: number;
}

/** The same answer for every cause, so that it teaches nothing about hooks, keys or clocks. */
export type WebhookVerdict = VerifiedWebhook | { readonly ok: false };

/** How far the signed time may be from ours, either way. */
export const TOLERANCE_MS = 5 * 60 * 1000;

const refused: WebhookVerdict = { ok: false };

/** Checks where a request comes from. The body must not be parsed before, nor under another content type than this one. */
export function verifyWebhook(request: IncomingWebhook, options: VerifyOptions): WebhookVerdict {
  const { scheme, keys, now } = options;
  const proof = { header: singleHeader(request.headers), body: request.rawBody, keys };
  if (keys.length === 0 || !isMediaType(proof.header('content-type'), options.contentType ?? 'application/json')) return refused;
  const found = checked(scheme, proof);
  if (found === undefined) return refused;
  if (found.timestamp !== undefined && Math.abs(now - found.timestamp) > TOLERANCE_MS) return refused;
  if (found.deliveryId !== undefined && !/^[\x21-\x7e]{1,256}$/.test(found.deliveryId)) return refused;
  return { ok: true, ...found };
}

/** What a scheme found out about a request whose signature fits. */
export type Finding = Omit<VerifiedWebhook, 'ok'>;

/** What a scheme may look at. */
export interface Proof {
  /** The header's one value; undefined when it is absent or came more than once as a list. */
  header(name: string): string | undefined;
  readonly body: Uint8Array;
  readonly keys: readonly string[];
}

function checked(scheme: WebhookScheme, proof: Proof): Finding | undefined {
  switch (scheme.kind) {
    case 'standard':
      return standard(proof);
    case 'github':
      return github(proof);
    case 'shopify':
      return shopify(proof);
    case 'stripe':
      return stripe(proof);
    case 'azure_devops':
      return azureDevOps(proof);
    case 'shared_secret':
      return sharedSecret(proof, scheme);
  }
}

function singleHeader(headers: IncomingWebhook['headers']): (name: string) => string | undefined {
  return (name) => {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return typeof value === 'string' ? value : undefined;
  };
}

function isMediaType(header: string | undefined, expected: string): boolean {
  const [essence = '', ...parameters] = (header ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return (
    essence === expected &&
    parameters.every((parameter) => parameter === '' || !parameter.startsWith('charset=') || /^charset="?utf-8"?$/.test(parameter))
  );
}
