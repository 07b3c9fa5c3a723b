import { BlockList, isIP } from 'node:net';

/** What the guard may be told by the operator. */
export interface EgressOptions {
  /** CIDRs that are allowed although they are not public. */
  readonly allow: readonly string[];
  /** Development and tests: http and private addresses are allowed. */
  readonly allowInsecure: boolean;
  /** Time limits beyond this are cut down to it; for tests. */
  readonly longestMs?: number | undefined;
}

/** An address that the guard does not let out, with the rule it broke. */
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
  // Public by number, but answered inside Azure (WireServer) and Equinix Metal (metadata) by the host itself.
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
/** Inside 2000::/3, the only range of IPv6 that is routed, these are special. */
const specialIPv6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const;

/** Whether an address may be connected to: public, or allowed by the operator. */
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
 * Domains that lead inside a network or a machine: special-use names (RFC 6761, 6762, 7686, 8375, 9476), those that ICANN keeps free for
 * private use, what routers, Kubernetes and Consul hand out, and names that clouds give their metadata.
 */
const innerDomains = new Set([
  ...['localhost', 'local', 'localdomain', 'localdomain6', 'internal', 'arpa', 'onion', 'alt', 'invalid'],
  ...['home', 'corp', 'mail', 'lan', 'localnet', 'intranet', 'intra', 'private', 'svc', 'cluster', 'consul', 'docker'],
  ...['metadata.goog', 'metadata.packet.net', 'metadata.platformequinix.com', 'metadata.tencentyun.com'],
  'metadata.cloud.ibm.com',
]);

/** Whether a host name, as a parsed URL has it, is one of the public DNS. */
export function isPublicName(hostname: string): boolean {
  const labels = hostname.replace(/\.$/, '').split('.');
  if (labels.length < 2 || hostname.length > 254) return false;
  if (!labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label))) return false;
  return !labels.some((_, at) => innerDomains.has(labels.slice(at).join('.')));
}

/** Whether a URL is written so that every reader finds the same host in it; parsers disagree about the rest. */
export function isPlainlyWritten(url: string): boolean {
  const [, authority] = /^[a-z]+:\/\/([^/?#]+)/i.exec(url) ?? [];
  return authority !== undefined && !/[@%\\]/.test(authority) && !/[\\\p{Cc}\p{Z}]/u.test(url);
}
