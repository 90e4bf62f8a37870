import ipaddr from 'ipaddr.js';

/**
 * Names that lead to a metadata service or to the machine itself, whatever DNS says about them.
 * `.internal` and `.local` are never public; Google's metadata server answers to the first of these.
 */
const innerNames = new Set([
  'metadata',
  'metadata.google.internal',
  'instance-data',
  'localhost',
  'ip6-localhost',
  'ip6-loopback',
  'host.docker.internal',
  'kubernetes.default.svc',
]);
const innerSuffixes = ['.internal', '.local', '.localhost', '.localdomain', '.home.arpa', '.intranet', '.svc'];

/** Public by number, but answered by the cloud's own infrastructure. */
const metadataAddresses = new Set(['168.63.129.16']);

/** Everything that may be called in IPv6; the rest of the space is not routed on the public internet. */
const globalUnicastV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Why this host name may not be called, or undefined. Expects a name as `URL.hostname` yields it. */
export function innerNameReason(hostname: string): string | undefined {
  const name = hostname.toLowerCase().replace(/\.+$/, '');
  if (name === '') return 'the host is empty';
  if (innerNames.has(name) || innerSuffixes.some((suffix) => name.endsWith(suffix))) return `${name} is a name inside a network`;
  return undefined;
}

/** Why this IP address may not be called, or undefined. Anything that is not plainly public is refused. */
export function innerAddressReason(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return `${address} is not an IP address`;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv6) {
    if (parsed.isIPv4MappedAddress()) return `${address} wraps an IPv4 address`;
    const range = parsed.range();
    if (range !== 'unicast') return `${address} is ${range}`;
    return parsed.match(globalUnicastV6) ? undefined : `${address} is outside the public range`;
  }
  const range = parsed.range();
  if (range !== 'unicast') return `${address} is ${range}`;
  return metadataAddresses.has(parsed.toString()) ? `${address} is a metadata service` : undefined;
}

/** The literal address in a URL's host, without brackets; undefined for names. `URL` has already turned 0x7f000001 into 127.0.0.1. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : undefined;
}
