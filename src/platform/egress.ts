import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction, type Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';
import { Failure } from '#src/contract/errors.js';
import type { Metrics } from './metrics.js';

/** What an outbound call needs. */
export interface EgressRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** A bounded word for metrics: what the call is for. */
  readonly purpose: string;
  readonly timeoutMs: number;
  /** Most bytes of the answer that are read. */
  readonly maxBytes: number;
  /** False where any certificate will do; heeded only where insecure calls are allowed. */
  readonly verifyTls?: boolean;
}

/** What came back. */
export interface EgressResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The one way out: public addresses over https only, no redirects, bounded in time and size. */
export interface Egress {
  /** Throws EgressRefused where a rule forbids the address, any other error where the call fails. */
  request(call: EgressRequest): Promise<EgressResponse>;
  /** Throws Failure `general_argument_invalid` naming the broken rule, for URLs that callers register. */
  check(url: string): void;
  close(): Promise<void>;
}

/** What the guard may be told by the operator. */
interface EgressOptions {
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

const connectMs = 5000;
const idleMs = 30_000;
/** As many as anybody asks for at once: who calls bounds it, so that two who call one origin do not wait for each other. */
const connectionsPerOrigin = 128;
const lookupsAtOnce = 8;

/** Creates the guarded egress. Literal addresses never reach a DNS hook, so they are judged in the URL and again on the connected socket. */
export function createEgress(options: EgressOptions, metrics: Metrics): Egress {
  const isAllowed = addressRule(options);
  const agent = guardedAgent(isAllowed, true);
  const lenient = guardedAgent(isAllowed, !options.allowInsecure);

  const judge = (url: string): string | undefined => {
    if (!URL.canParse(url)) return 'it is not a URL';
    const { protocol, username, password, hash, hostname, port } = new URL(url);
    if (protocol !== 'https:' && !(options.allowInsecure && protocol === 'http:')) return 'only https is allowed';
    if (username !== '' || password !== '') return 'it must not hold a user name or password';
    if (hash !== '') return 'it must not hold a fragment';
    if (port !== '' && !['443', '8443'].includes(port) && Number(port) < 1024)
      return 'the port must be 443, 8443 or 1024 and above';
    const address = hostname.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0) return isAllowed(address) ? undefined : 'the address is not public';
    if (options.allowInsecure) return undefined;
    const name = hostname.replace(/\.$/, '');
    if (!name.includes('.') || /\.(localhost|local|internal|home\.arpa)$/.test(name))
      return 'the host name is not public';
    return undefined;
  };

  const call = async ({
    method,
    url,
    headers = {},
    body,
    timeoutMs,
    maxBytes,
    verifyTls = true,
  }: EgressRequest): Promise<EgressResponse> => {
    const rule = judge(url);
    if (rule !== undefined) throw new EgressRefused(rule);
    const response = await request(url, {
      method,
      headers: { 'user-agent': 'svc/1.0', ...headers },
      body: body ?? null,
      dispatcher: verifyTls ? agent : lenient,
      signal: AbortSignal.timeout(Math.min(timeoutMs, options.longestMs ?? timeoutMs)),
    });
    return { status: response.statusCode, headers: response.headers, body: await readBounded(response.body, maxBytes) };
  };

  return {
    request: async (given) => {
      try {
        const response = await call(given);
        metrics.egress(given.purpose, 'ok');
        return response;
      } catch (error) {
        metrics.egress(given.purpose, error instanceof EgressRefused ? 'refused' : 'failed');
        throw error;
      }
    },
    check: (url) => {
      const rule = judge(url);
      if (rule !== undefined)
        throw new Failure('general_argument_invalid', { message: `The URL cannot be used: ${rule}.` });
    },
    close: async () => {
      await Promise.all([agent.close(), lenient.close()]);
    },
  };
}

async function readBounded(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= maxBytes) break;
  }
  body.destroy();
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** Resolves at most a few names at a time (they use pool threads) and refuses a name of which any address is not allowed. */
function guardedAgent(isAllowed: (address: string) => boolean, verifyTls: boolean): Agent {
  let running = 0;
  const waiting: (() => void)[] = [];
  const lookup: LookupFunction = (host, options, callback) => {
    const start = () => {
      running += 1;
      systemLookup(host, { ...options, all: true, verbatim: true }, (error, addresses) => {
        running -= 1;
        waiting.shift()?.();
        const [first] = addresses ?? [];
        if (error) return callback(error, '', 0);
        if (first === undefined || addresses.some(({ address }) => !isAllowed(address))) {
          return callback(new EgressRefused('the name resolves to an address that is not public'), '', 0);
        }
        return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
      });
    };
    if (running < lookupsAtOnce) start();
    else waiting.push(start);
  };
  const connect = buildConnector({ timeout: connectMs, lookup, rejectUnauthorized: verifyTls });
  return new Agent({
    connections: connectionsPerOrigin,
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    connect: (target, callback) =>
      connect(target, (error, socket) => {
        if (error !== null) return callback(error, null);
        const address = (socket as Socket).remoteAddress;
        if (address !== undefined && isAllowed(address)) return callback(null, socket);
        socket.destroy();
        return callback(new EgressRefused('the connected address is not public'), null);
      }),
  });
}

/** Special ranges of IPv4 (RFC 6890 and successors); everything else of IPv4 is public. */
const specialIPv4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
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
  ['3fff::', 20],
] as const;

/** Whether an address may be connected to: public, or allowed by the operator. */
function addressRule({ allow, allowInsecure }: EgressOptions): (address: string) => boolean {
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
