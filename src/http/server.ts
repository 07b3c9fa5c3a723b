import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type ErrorType, errorCatalog } from '#src/contract/errors.js';
import { connectionLimits, serverLimits } from '#src/contract/limits.js';
import type { Config } from '#src/platform/config/schema.js';
import { wireVersion } from './envelope.js';
import { securityHeaders } from './security-headers.js';

/** A listening server. */
export interface Listener {
  readonly port: number;
  /** Stops accepting, lets running requests finish, and closes idle connections. */
  drain(): Promise<void>;
}

/** Listens on the configured address, over https where a certificate is configured. `newId` names what is no request yet. */
export async function listen(
  handler: RequestListener,
  config: Pick<Config, 'host' | 'port' | 'tlsCert' | 'tlsKey' | 'baseUrl'>,
  newId: () => string,
): Promise<Listener> {
  // Node would refuse a request without Host by itself, without a request id; we never look at Host.
  const options = { ...connectionLimits, requireHostHeader: false };
  const server: Server =
    config.tlsCert !== undefined && config.tlsKey !== undefined
      ? createHttpsServer({ ...options, cert: readFileSync(config.tlsCert), key: readFileSync(config.tlsKey) }, handler)
      : createHttpServer(options, handler);
  server.maxHeadersCount = serverLimits.headers;
  server.maxConnections = serverLimits.connections;
  const fixedHeaders = securityHeaders(config).map(([name, value]) => `${name}: ${value}\r\n`);
  server.on('clientError', (error, socket: Socket) =>
    refuse(error, socket, `${fixedHeaders.join('')}X-Request-Id: ${newId()}\r\n`),
  );
  // Expectations other than 100-continue mean nothing to us, and are no reason for an answer past the handler.
  server.on('checkExpectation', handler);
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
        // A connection that is kept alive becomes idle after its last answer only.
        setInterval(() => server.closeIdleConnections(), 100).unref();
      }),
  };
}

/** Answers what Node's parser refused; no request object exists then. */
function refuse(error: Error & { code?: string }, socket: Socket, headers: string): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const type: ErrorType =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'general_request_timeout' : 'general_argument_invalid';
  const { status } = errorCatalog[type];
  const message =
    type === 'general_request_timeout' ? errorCatalog[type].message : 'The request is not well-formed HTTP.';
  const body = JSON.stringify({ message, code: status, type, version: wireVersion });
  socket.end(
    `HTTP/1.1 ${status} ${status === 408 ? 'Request Timeout' : 'Bad Request'}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`,
  );
}
