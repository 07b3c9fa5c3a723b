import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, SocketAddress } from 'node:net';

/** An IPv4 address that is mapped into IPv6, as IPv4. */
function plain(address: string): string {
  return address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.)/i, '') : address;
}

/** The address that an entry of `X-Forwarded-For` names, with or without a port, brackets and quotes; undefined where it names none. */
function addressOf(entry: string): string | undefined {
  const text = entry.trim().replace(/^"(.*)"$/, '$1');
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  const family = isIP(address);
  if (family === 0) return undefined;
  return family === 4 ? address : plain(new SocketAddress({ address, family: 'ipv6' }).address);
}

/**
 * Finds a client's address: the peer's or, behind trusted proxies, the last one of `X-Forwarded-For` that is no trusted proxy. What stands
 * before an entry that names no address may come from the client, so the proxy that wrote such an entry is taken for the client.
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

/** Whether a request comes from this machine and, as far as headers tell, not through a proxy on it. */
export function isLocal({ socket, headers }: IncomingMessage): boolean {
  const peer = plain(socket.remoteAddress ?? '');
  return (peer === '::1' || peer.startsWith('127.')) && !forwarding.some((name) => headers[name] !== undefined);
}
