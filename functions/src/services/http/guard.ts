import { promises as dns } from 'node:dns';
import { KilnError } from '../../model/errors.ts';
import { innerAddressReason, innerNameReason, literalAddress } from './address.ts';
import { abortable } from './deadline.ts';

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** All addresses of a name. Handed in so that a test can let a name change its mind. */
export type LookupAll = (hostname: string) => Promise<readonly Address[]>;

/** A URL whose addresses were checked. The connection must go to one of them and to nothing else. */
export interface Target {
  readonly url: URL;
  readonly addresses: readonly Address[];
}

export interface AddressGuard {
  /** Parses and checks what can be judged without DNS. Meant for the moment something is saved. Throws `request.invalid` or `http.blocked_address`. */
  check(url: string | URL): URL;
  /** Checks again and resolves; every address of the name has to be public. */
  resolve(url: string | URL, signal: AbortSignal): Promise<Target>;
}

export interface GuardOptions {
  /** `host:port` pairs that may be private and may be called over http (KILN_ALLOW_PRIVATE_HOSTS). For development and for services inside one's own network. */
  readonly allowPrivateHosts?: readonly string[];
  readonly lookup?: LookupAll;
}

/** Reads the comma-separated list of KILN_ALLOW_PRIVATE_HOSTS. */
export function parseAllowedHosts(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== '');
}

export function createGuard(options: GuardOptions = {}): AddressGuard {
  const allowed = new Set(options.allowPrivateHosts ?? []);
  const lookup = options.lookup ?? systemLookup;

  function check(input: string | URL): URL {
    const url = parseUrl(input);
    if (isAllowed(url, allowed)) return url;
    if (url.protocol !== 'https:')
      throw new KilnError('http.blocked_address', `Only https addresses are called; ${url.origin} is not one.`);
    const literal = literalAddress(url.hostname);
    const reason = literal === undefined ? innerNameReason(url.hostname) : innerAddressReason(literal);
    if (reason !== undefined) throw blocked(url, reason);
    return url;
  }

  async function resolve(input: string | URL, signal: AbortSignal): Promise<Target> {
    const url = check(input);
    const literal = literalAddress(url.hostname);
    if (literal !== undefined) return { url, addresses: [{ address: literal, family: literal.includes(':') ? 6 : 4 }] };
    const addresses = await lookupOrThrow(url, lookup, signal);
    if (!isAllowed(url, allowed)) {
      for (const { address } of addresses) {
        const reason = innerAddressReason(address);
        if (reason !== undefined) throw blocked(url, reason);
      }
    }
    return { url, addresses };
  }

  return { check, resolve };
}

function parseUrl(input: string | URL): URL {
  const url = URL.parse(String(input));
  // The text itself is not repeated: a URL may hold a token.
  if (url === null) throw new KilnError('request.invalid', 'The address is not a URL.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new KilnError('request.invalid', `Addresses start with https:, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '')
    throw new KilnError('request.invalid', `Credentials do not belong into an address (${url.host}); send them in a header.`);
  return url;
}

function isAllowed(url: URL, allowed: ReadonlySet<string>): boolean {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return allowed.has(`${url.hostname}:${port}`);
}

async function lookupOrThrow(url: URL, lookup: LookupAll, signal: AbortSignal): Promise<readonly Address[]> {
  signal.throwIfAborted();
  let addresses: readonly Address[];
  try {
    // A DNS query cannot be taken back; the caller stops waiting for it.
    addresses = await abortable(lookup(url.hostname), signal);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new KilnError('http.connection', `The name ${url.hostname} could not be resolved.`, { cause: error });
  }
  if (addresses.length === 0) throw new KilnError('http.connection', `The name ${url.hostname} has no address.`);
  return addresses;
}

async function systemLookup(hostname: string): Promise<readonly Address[]> {
  const found = await dns.lookup(hostname, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

function blocked(url: URL, reason: string): KilnError {
  return new KilnError('http.blocked_address', `${url.origin} is not called: ${reason}.`);
}
