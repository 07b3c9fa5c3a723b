import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, SocketAddress } from 'node:net';

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function plain(address: string): string {
  return address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.)/i, '') : address;
}

/** Parses the address in an entry of `X-Forwarded-For`, with or without port, brackets and quotes; undefined if it is not an address. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim().replace(/^"(.*)"$/, '$1');
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  const family = isIP(address);
  if (family === 0) return undefined;
  return family === 4 ? address : plain(new SocketAddress({ address, family: 'ipv6' }).address);
}

/**
 * Finds the address of a client: the peer or, behind trusted proxies, the last entry of `X-Forwarded-For` that is not a trusted proxy. The
 * search stops at an entry that is not an address: earlier entries may be forged by the client, so the proxy that wrote this entry counts
 * as the client.
 */
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
    let client = plain(request.socket.remoteAddress ?? '');
    if (trustedProxies.length === 0) return client;
    const entries = String(request.headers['x-forwarded-for'] ?? '').split(',');
    while (isTrusted(client)) {
      const before = addressOf(entries.pop() ?? '');
      if (before === undefined) break;
      client = before;
    }
    return client;
  };
}

const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

/** True if a request comes from this machine and no header indicates a proxy. */
export function isLocal({ socket, headers }: IncomingMessage): boolean {
  const peer = plain(socket.remoteAddress ?? '');
  return (peer === '::1' || peer.startsWith('127.')) && !forwarding.some((name) => headers[name] !== undefined);
}
