import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** An IPv4 address that is mapped into IPv6, as IPv4. */
function plain(address: string): string {
  return address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.)/i, '') : address;
}

/** Finds a client's address: the peer's or, behind trusted proxies, the last one of `X-Forwarded-For` that is no trusted proxy. */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trusted = new BlockList();
  for (const cidr of trustedProxies) {
    const [net = '', prefix = ''] = cidr.split('/');
    trusted.addSubnet(net, Number(prefix), isIP(net) === 6 ? 'ipv6' : 'ipv4');
  }
  const isTrusted = (address: string) => {
    const family = isIP(address);
    return family !== 0 && trusted.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
  return (request) => {
    const peer = plain(request.socket.remoteAddress ?? '');
    if (trustedProxies.length === 0 || !isTrusted(peer)) return peer;
    const forwarded = String(request.headers['x-forwarded-for'] ?? '')
      .split(',')
      .map((part) => plain(part.trim()))
      .filter((part) => isIP(part) !== 0);
    return forwarded.findLast((address) => !isTrusted(address)) ?? forwarded[0] ?? peer;
  };
}

const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

/** Whether a request comes from this machine and, as far as headers tell, not through a proxy on it. */
export function isLocal({ socket, headers }: IncomingMessage): boolean {
  const peer = plain(socket.remoteAddress ?? '');
  return (peer === '::1' || peer.startsWith('127.')) && !forwarding.some((name) => headers[name] !== undefined);
}
