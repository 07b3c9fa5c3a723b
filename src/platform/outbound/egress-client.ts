import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction, Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { type EgressOptions, EgressRefused } from './egress-rules.js';

/** Parameters of an outbound call. */
export interface EgressRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Purpose of the call, from a fixed set of words; a label of metrics. */
  readonly purpose: string;
  readonly timeoutMs: number;
  /** Most bytes of the response that are read. */
  readonly maxBytes: number;
  /** False accepts any certificate; ignored unless insecure calls are allowed. */
  readonly verifyTls?: boolean;
}

/** The response to an outbound call. */
export interface EgressResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

const connectMs = 5000;
const idleMs = 30_000;
/** As many as any caller uses at once. Callers limit their own concurrency, so two of them never wait for each other at one origin. */
const connectionsPerOrigin = 128;
const lookupsAtOnce = 8;

/** Sends requests to allowed addresses only; the caller checks the URL before. */
export function createEgressClient(
  isAllowed: (address: string) => boolean,
  { allowInsecure, longestMs }: Pick<EgressOptions, 'allowInsecure' | 'longestMs'>,
) {
  const agent = guardedAgent(isAllowed, true);
  const lenient = guardedAgent(isAllowed, !allowInsecure);
  return {
    send: ({
      method,
      url,
      headers,
      body,
      timeoutMs,
      maxBytes,
      verifyTls = true,
    }: EgressRequest): Promise<EgressResponse> => {
      const { origin, pathname, search } = new URL(url);
      const options = { origin, path: pathname + search, method, headers: { 'user-agent': 'svc/1.0', ...headers } };
      const bounds = { timeoutMs: Math.min(timeoutMs, longestMs ?? timeoutMs), maxBytes };
      return dispatch(verifyTls ? agent : lenient, { ...options, body: body ?? null }, bounds);
    },
    close: async () => {
      await Promise.all([agent.close(), lenient.close()]);
    },
  };
}

/**
 * Sends a request and collects its response, within the limits of bytes and time. It uses undici's low-level interface, because a stream
 * and an abort signal per call would cost as much CPU time as the call.
 */
function dispatch(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { timeoutMs, maxBytes }: Pick<EgressRequest, 'timeoutMs' | 'maxBytes'>,
): Promise<EgressResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let answer: Omit<EgressResponse, 'body'> | undefined;
    let begun: Dispatcher.DispatchController | undefined;
    let isOver = false;
    const end = (): void => {
      isOver = true;
      clearTimeout(timer);
      if (answer !== undefined) resolve({ ...answer, body: Buffer.concat(chunks).subarray(0, maxBytes) });
    };
    const fail = (error: Error): void => {
      isOver = true;
      clearTimeout(timer);
      reject(error);
    };
    const giveUp = (): void => {
      const error = new DOMException('no complete answer in time', 'TimeoutError');
      fail(error);
      begun?.abort(error);
    };
    const timer = setTimeout(giveUp, timeoutMs).unref();
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (controller) => {
        begun = controller;
        if (isOver) controller.abort(new Error('nobody waits for the answer'));
      },
      onResponseStart: (_, status, headers) => {
        // Statuses below 200 are informational and precede the response.
        if (status >= 200) answer = { status, headers };
      },
      onResponseData: (controller, chunk) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size < maxBytes) return;
        end();
        controller.abort(new Error('enough of the answer has been read'));
      },
      onResponseEnd: end,
      // Afterwards it is an error of the connection and no longer matters.
      onResponseError: (_, error) => fail(error),
    };
    dispatcher.dispatch(options, handler);
  });
}

/** Resolves only a few names at a time (they use pool threads) and rejects a name if any of its addresses is not allowed. */
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
