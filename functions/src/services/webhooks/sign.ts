import { KilnError } from '../../model/errors.ts';
import { standardSignature } from './schemes.ts';

export interface OutgoingWebhook {
  /** The same for every attempt of one delivery: the receiver de-duplicates by it. */
  readonly id: string;
  /** When this attempt is made, in ms. */
  readonly timestamp: number;
  readonly body: string;
  /** One signature each; two while a key is being replaced. */
  readonly keys: readonly string[];
}

/** The headers of Standard Webhooks for a body that must now be sent as it is, byte for byte. */
export function signWebhook({ id, timestamp, body, keys }: OutgoingWebhook): Readonly<Record<string, string>> {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(id))
    throw new KilnError('request.invalid', 'The id of a webhook consists of letters, digits, _ and -.');
  const signatures = keys.map((key) => standardSignature(key, id, timestamp, body));
  if (signatures.length === 0 || signatures.includes(undefined))
    throw new KilnError('request.invalid', 'A webhook needs a signing key of the form whsec_<base64>.');
  return {
    'content-type': 'application/json; charset=utf-8',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(timestamp / 1000)),
    'webhook-signature': signatures.join(' '),
  };
}

/** A new signing key of 256 bits. `random` yields that many random bytes. */
export function newWebhookKey(random: (bytes: number) => Uint8Array): string {
  return `whsec_${Buffer.from(random(32)).toString('base64')}`;
}
