import { BlockList, isIP } from 'node:net';

/** Options of the egress guard set by the operator. */
export interface EgressOptions {
  /** CIDRs that are allowed although they are not public. */
  readonly allow: readonly string[];
  /** Development and tests: http and private addresses are allowed. */
  readonly allowInsecure: boolean;
  /** Longer time limits are cut to this; for tests. */
  readonly longestMs?: number | undefined;
}

/** An address that the guard rejects, with the rule it violates. */
export class EgressRefused extends Error {
  readonly rule: string;
  constructor(rule: string) {
    super(`refused by the egress guard: ${rule}`);
    this.name = 'EgressRefused';
    this.rule = rule;
  }
}

/** Special ranges of IPv4 (RFC 6890 and successors); everything else of IPv4 is public. */
const specialIPv4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Public by number, but inside Azure (WireServer) and Equinix Metal (metadata) the host itself answers at these addresses.
  ['168.63.129.16', 32],
  ['192.80.8.124', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;
/** Special ranges within 2000::/3, the only range of IPv6 that is routed. */
const specialIPv6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const;

/** Creates a check that is true if an address may be connected to: public, or allowed by the operator. */
export function addressRule({ allow, allowInsecure }: EgressOptions): (address: string) => boolean {
  const special = new BlockList();
  for (const [net, prefix] of specialIPv4) special.addSubnet(net, prefix, 'ipv4');
  for (const [net, prefix] of specialIPv6) special.addSubnet(net, prefix, 'ipv6');
  const routed = new BlockList();
  routed.addSubnet('2000::', 3, 'ipv6');
  const allowed = new BlockList();
  for (const cidr of allow) {
    const [net = '', prefix = ''] = cidr.split('/');
    allowed.addSubnet(net, Number(prefix), isIP(net) === 6 ? 'ipv6' : 'ipv4');
  }
  return (address) => {
    if (allowInsecure) return true;
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (allowed.check(address, family)) return true;
    if (special.check(address, family)) return false;
    return family === 'ipv4' || routed.check(address, 'ipv6');
  };
}

/**
 * Domains inside a network or a machine: special-use names (RFC 6761, 6762, 7686, 8375, 9476), names that ICANN reserves for private use,
 * names assigned by routers, Kubernetes and Consul, and metadata names of clouds.
 */
const innerDomains = new Set([
  ...['localhost', 'local', 'localdomain', 'localdomain6', 'internal', 'arpa', 'onion', 'alt', 'invalid'],
  ...['home', 'corp', 'mail', 'lan', 'localnet', 'intranet', 'intra', 'private', 'svc', 'cluster', 'consul', 'docker'],
  ...['metadata.goog', 'metadata.packet.net', 'metadata.platformequinix.com', 'metadata.tencentyun.com'],
  'metadata.cloud.ibm.com',
]);

/** True if a host name, in the form of a parsed URL, is a name of the public DNS. */
export function isPublicName(hostname: string): boolean {
  const labels = hostname.replace(/\.$/, '').split('.');
  if (labels.length < 2 || hostname.length > 254) return false;
  if (!labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label))) return false;
  return !labels.some((_, at) => innerDomains.has(labels.slice(at).join('.')));
}

/** True if every parser finds the same host in the URL; parsers disagree about other forms. */
export function isPlainlyWritten(url: string): boolean {
  const [, authority] = /^[a-z]+:\/\/([^/?#]+)/i.exec(url) ?? [];
  return authority !== undefined && !/[@%\\]/.test(authority) && !/[\\\p{Cc}\p{Z}]/u.test(url);
}
