import { readFileSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type ErrorType, errorCatalog } from '#src/contract/errors.js';
import { connectionLimits, serverLimits } from '#src/contract/limits.js';
import type { Config } from '#src/platform/config/schema.js';
import { watchBodyTime } from './body-time.js';
import { endWithError } from './errors.js';
import { createRequestOrder } from './request-order.js';
import { securityHeaders } from './security-headers.js';
import type { UpgradeHandler } from './upgrade.js';

/** Time that a connection without a request has left when the server drains. */
const silentMs = 1000;

/** A listening server. */
export interface Listener {
  readonly port: number;
  /** Reads the files of the certificate again. New connections use it. Throws the system's error, or that of OpenSSL. */
  renewCertificate(): void;
  /** Ends each connection with its next response, and accepts new ones still. */
  announceEnd(): void;
  /** Stops accepting connections, waits for running requests, and closes idle connections. */
  drain(): Promise<void>;
}

/**
 * Listens on the configured address, over https if a certificate is configured. `newId` creates ids for requests rejected by Node's parser.
 * `upgrade` handles requests for another protocol. `socket` is the descriptor of a listening socket, which is used instead of the address.
 */
export async function listen(
  handler: RequestListener,
  config: Pick<Config, 'host' | 'port' | 'tlsCert' | 'tlsKey' | 'baseUrl'>,
  { newId, upgrade, socket }: { newId: () => string; upgrade: UpgradeHandler; socket?: number | undefined },
): Promise<Listener> {
  // Otherwise Node itself rejects requests without Host, without a request id.
  const options = { ...connectionLimits, requireHostHeader: false };
  /** Emits the same error as Node's own request timeout. */
  const refuseLate = ({ socket }: IncomingMessage): void => {
    const late = Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', late, socket);
  };
  const requests = createRequestOrder((request, response) => {
    watchBodyTime(request, refuseLate);
    handler(request, response);
  });
  /** Connections that have not sent a request yet. Node does not count them as idle, and stops watching them while it drains. */
  const silent = new Set<Socket>();
  let isEnding = false;
  const listener: RequestListener = (request, response) => {
    silent.delete(request.socket);
    if (isEnding) response.shouldKeepAlive = false;
    requests.take(request, response);
  };
  const certificate = certificateOf(config);
  const secure = certificate && createHttpsServer({ ...options, ...certificate }, listener);
  const server: Server = secure ?? createHttpServer(options, listener);
  // Node drops excess headers silently. Reading one more than allowed lets `request-head.ts` reject the request.
  server.maxHeadersCount = serverLimits.headers + 1;
  server.maxConnections = serverLimits.connections;
  server.on(config.tlsCert === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  const fixedHeaders = securityHeaders(config).map(([name, value]) => `${name}: ${value}\r\n`);
  const headers = () => `${fixedHeaders.join('')}X-Request-Id: ${newId()}\r\n`;
  server.on('clientError', (error, socket: Socket) => refuse(error, socket, headers(), requests.lastOfWhole(socket)));
  // CONNECT: Node passes on the connection, and closes it unanswered if there is no listener. Tunnels are not supported.
  server.on('connect', (_, socket: Socket) => {
    const type = 'general_method_unsupported';
    // RFC 9110 §10.2.1: an empty `Allow`, because no method is allowed for an authority.
    requests.endAfterAll(socket, () => close(socket, type, errorCatalog[type].message, `Allow: \r\n${headers()}`));
  });
  // Ignores expectations other than 100-continue, which Node would answer itself.
  server.on('checkExpectation', listener);
  server.on('upgrade', (request, socket: Socket, head) => {
    if (!requests.isUnderWay(socket)) {
      upgrade(server, request, socket, head);
      return;
    }
    // Otherwise the responses to earlier requests would be sent in the new protocol.
    const message = 'Another protocol can be asked for once the requests before are answered.';
    requests.endAfterAll(socket, () => close(socket, 'general_bad_request', message, headers()));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket === undefined ? { host: config.host, port: config.port } : { fd: socket }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    renewCertificate: () => {
      const renewed = certificateOf(config);
      if (renewed !== undefined) secure?.setSecureContext(renewed);
    },
    announceEnd: () => {
      isEnding = true;
    },
    drain: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        const endSilent = () => {
          for (const socket of silent) socket.destroy();
        };
        // Gives requests in transit a moment to arrive.
        setTimeout(endSilent, silentMs).unref();
        // A keep-alive connection only becomes idle after its last response.
        setInterval(() => server.closeIdleConnections(), 100).unref();
      }),
  };
}

/** Reads the certificate and its key; undefined if none is configured. */
function certificateOf({ tlsCert, tlsKey }: Pick<Config, 'tlsCert' | 'tlsKey'>) {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  return { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) };
}

/** Errors by code of Node's parser. Any other code means a malformed request. */
const parserErrors: Readonly<Record<string, ErrorType>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'general_request_timeout',
  HPE_HEADER_OVERFLOW: 'general_headers_too_large',
};

/** Milliseconds for discarding input from a rejected client. Closing at once could reset the connection and lose the response. */
const lingerMs = 1000;
const refused = new WeakSet<Socket>();

/**
 * Answers a request that Node's parser rejected; such a request has no request object. Ignores repeated errors from further input. Complete
 * requests before it are answered first (RFC 9112 §9.3.2); `before` is the response to the last of them.
 */
function refuse(
  error: Error & { code?: string },
  socket: Socket,
  headers: string,
  before: ServerResponse | undefined,
): void {
  if (refused.has(socket)) return;
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  refused.add(socket);
  const parserError = parserErrors[error.code ?? ''];
  const type = parserError ?? 'general_argument_invalid';
  const message =
    parserError === undefined ? 'The request is not well-formed HTTP.' : errorCatalog[parserError].message;
  const end = () => close(socket, type, message, headers);
  if (before === undefined || before.writableFinished) end();
  else before.once('close', end);
}

/** Answers a client without a response object and closes the connection. */
function close(socket: Socket, type: ErrorType, message: string, headers: string): void {
  if (!socket.writable) return;
  endWithError(socket, { status: errorCatalog[type].status, type, message }, headers);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
