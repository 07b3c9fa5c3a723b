import { readFileSync } from 'node:fs';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type ErrorType, errorCatalog } from '#src/contract/errors.js';
import { connectionLimits, serverLimits } from '#src/contract/limits.js';
import type { Config } from '#src/platform/config/schema.js';
import { watchBodyTime } from './body-time.js';
import { wireVersion } from './envelope.js';
import { createRequestOrder } from './request-order.js';
import { securityHeaders } from './security-headers.js';
import type { UpgradeHandler } from './upgrade.js';

/** How long a connection without a request has left when the server drains. */
const silentMs = 1000;

/** A listening server. */
export interface Listener {
  readonly port: number;
  /** Stops accepting, lets running requests finish, and closes idle connections. */
  drain(): Promise<void>;
}

/**
 * Listens on the configured address, over https where a certificate is configured. `newId` makes ids for requests that Node's parser refuses,
 * and `upgrade` takes those that ask for another protocol.
 */
export async function listen(
  handler: RequestListener,
  config: Pick<Config, 'host' | 'port' | 'tlsCert' | 'tlsKey' | 'baseUrl'>,
  { newId, upgrade }: { newId: () => string; upgrade: UpgradeHandler },
): Promise<Listener> {
  // Node would refuse a request without Host by itself, without a request id.
  const options = { ...connectionLimits, requireHostHeader: false };
  /** As Node does it for the bound of the server. */
  const refuseLate = ({ socket }: IncomingMessage): void => {
    const late = Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.emit('clientError', late, socket);
  };
  const requests = createRequestOrder((request, response) => {
    watchBodyTime(request, refuseLate);
    handler(request, response);
  });
  /** Connections of which no request has come yet. Node does not count them as idle, and watches them no more once it drains. */
  const silent = new Set<Socket>();
  const listener: RequestListener = (request, response) => {
    silent.delete(request.socket);
    requests.take(request, response);
  };
  const server: Server =
    config.tlsCert !== undefined && config.tlsKey !== undefined
      ? createHttpsServer(
          { ...options, cert: readFileSync(config.tlsCert), key: readFileSync(config.tlsKey) },
          listener,
        )
      : createHttpServer(options, listener);
  // Node drops further headers silently; one more than allowed is read, so that `request-head.ts` can refuse the request.
  server.maxHeadersCount = serverLimits.headers + 1;
  server.maxConnections = serverLimits.connections;
  server.on(config.tlsCert === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  const fixedHeaders = securityHeaders(config).map(([name, value]) => `${name}: ${value}\r\n`);
  const headers = () => `${fixedHeaders.join('')}X-Request-Id: ${newId()}\r\n`;
  server.on('clientError', (error, socket: Socket) => refuse(error, socket, headers(), requests.lastOfWhole(socket)));
  // Node hands the connection over for it, and closes one that nobody takes without an answer. There are no tunnels here.
  server.on('connect', (_, socket: Socket) => {
    const type = 'general_method_unsupported';
    // RFC 9110 §10.2.1: no method is allowed for an authority.
    requests.endAfterAll(socket, () => close(socket, type, errorCatalog[type].message, `Allow: \r\n${headers()}`));
  });
  // Expectations other than 100-continue are ignored; Node would answer them itself.
  server.on('checkExpectation', listener);
  server.on('upgrade', (request, socket: Socket, head) => {
    if (!requests.isUnderWay(socket)) {
      upgrade(server, request, socket, head);
      return;
    }
    // The responses to the requests before it would be sent in the other protocol.
    const message = 'Another protocol can be asked for once the requests before are answered.';
    requests.endAfterAll(socket, () => close(socket, 'general_bad_request', message, headers()));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: config.host, port: config.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    drain: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        const endSilent = () => {
          for (const socket of silent) socket.destroy();
        };
        // A request that is on its way gets a moment to arrive.
        setTimeout(endSilent, silentMs).unref();
        // A connection that is kept alive becomes idle after its last answer only.
        setInterval(() => server.closeIdleConnections(), 100).unref();
      }),
  };
}

/** Errors by the codes of Node's parser; any other code is a malformed request. */
const parserErrors: Readonly<Record<string, ErrorType>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'general_request_timeout',
  HPE_HEADER_OVERFLOW: 'general_headers_too_large',
};

/** How long input of a refused client is discarded: a reset of the connection would discard the response. */
const lingerMs = 1000;
const refused = new WeakSet<Socket>();

/**
 * Answers a request that Node's parser refused, for which there is no request object. The parser fails again at further input. Requests of
 * the connection that came whole before it are answered first (RFC 9112 §9.3.2); `before` is the response to the last of them.
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

/** Answers a client for which there is no response object, and closes the connection. */
function close(socket: Socket, type: ErrorType, message: string, headers: string): void {
  if (!socket.writable) return;
  const { status } = errorCatalog[type];
  const body = JSON.stringify({ message, code: status, type, version: wireVersion });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
