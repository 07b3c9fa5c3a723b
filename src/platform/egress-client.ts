import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction, Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';
import { type EgressOptions, EgressRefused } from './egress-rules.js';

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

const connectMs = 5000;
const idleMs = 30_000;
/** As many as anybody asks for at once: who calls bounds it, so that two who call one origin do not wait for each other. */
const connectionsPerOrigin = 128;
const lookupsAtOnce = 8;

/** Sends what the rules let out, to addresses that they allow. */
export function createEgressClient(
  isAllowed: (address: string) => boolean,
  { allowInsecure, longestMs }: Pick<EgressOptions, 'allowInsecure' | 'longestMs'>,
) {
  const agent = guardedAgent(isAllowed, true);
  const lenient = guardedAgent(isAllowed, !allowInsecure);
  return {
    send: async (call: EgressRequest): Promise<EgressResponse> => {
      const { method, url, headers, body, timeoutMs, maxBytes, verifyTls = true } = call;
      const response = await request(url, {
        method,
        headers: { 'user-agent': 'svc/1.0', ...headers },
        body: body ?? null,
        dispatcher: verifyTls ? agent : lenient,
        signal: AbortSignal.timeout(Math.min(timeoutMs, longestMs ?? timeoutMs)),
      });
      return {
        status: response.statusCode,
        headers: response.headers,
        body: await readBounded(response.body, maxBytes),
      };
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
