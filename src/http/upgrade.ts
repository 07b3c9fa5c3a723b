import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { type RawData, type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { realtimeLimits } from '#src/contract/limits.js';
import { type Connection, closeCodes, type Features } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import type { Authentication } from './authenticate.js';
import { wireVersion } from './envelope.js';
import type { RequestLimit } from './limit.js';
import type { ServerState } from './ops.js';
import type { Origins } from './origins.js';
import { realtimePath } from './paths.js';
import { type AppState, createRequestContext, type Middleware, type RequestContext } from './request-context.js';
import { createHeadRules } from './request-head.js';
import { SocketConnection } from './socket-connection.js';
import { UnfinishedMessages } from './unfinished-messages.js';

interface Deps {
  readonly app: Koa<AppState>;
  readonly state: ServerState;
  readonly authentication: Authentication;
  readonly limit: RequestLimit;
  readonly origins: Origins;
}

/** Handles requests that ask for another protocol. */
export type UpgradeHandler = (server: Server, request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Opens sockets (RFC 6455) at `/v1/realtime`. What is wrong with the project, the origin or a credential is told by a message on the open
 * socket, which is then closed: scripts in a browser cannot read the response to a handshake.
 */
export function createUpgrade(
  runtime: Pick<Runtime, 'clock' | 'config' | 'log' | 'random'>,
  { realtime }: Features['streams'],
  { app, state, authentication, limit, origins }: Deps,
): UpgradeHandler {
  const { log } = runtime;
  // Compression would keep some hundred KiB for each socket.
  const options: ServerOptions & { readonly maxFragments: number } = {
    noServer: true,
    perMessageDeflate: false,
    maxPayload: realtimeLimits.frameBytes,
    maxFragments: realtimeLimits.fragments,
  };
  const wss = new WebSocketServer(options);
  const unfinished = new UnfinishedMessages();
  const giveContext = createRequestContext(runtime);
  const checkHead = createHeadRules(runtime.config);
  const done: Parameters<Middleware>[1] = async () => {};

  const contextOf = async (request: IncomingMessage): Promise<RequestContext> => {
    const ctx = app.createContext(request, new ServerResponse(request)) as unknown as Parameters<Middleware>[0];
    await giveContext(ctx, done);
    const { context } = ctx.state;
    await checkHead(ctx, done);
    limit.demandOperation(context);
    if (state.draining) throw new Failure('general_unavailable');
    return context;
  };
  /** Who has opened the socket; a login that lacks its second factor counts as none. */
  const callerOf = async (context: RequestContext): Promise<User | undefined> => {
    const { ctx, req } = context;
    const project = await authentication.project(context);
    context.project = project;
    origins.admit(context);
    if (req.headers.origin !== undefined && context.allowedOrigin === undefined)
      throw new Failure('general_unknown_origin');
    const jwt = [ctx.query.jwt].flat()[0];
    await authentication.actor(context, project, jwt === '' ? undefined : jwt);
    const { actor } = context;
    if (actor?.kind === 'key') throw new Failure(...notForKeys);
    return actor?.kind === 'user' && !actor.session.pending ? actor : undefined;
  };
  const refuse = (connection: Connection, error: unknown): void => {
    const isPolicy = error instanceof Failure && error.status < 500;
    const code = isPolicy ? closeCodes.policy : closeCodes.tryAgainLater;
    const message = error instanceof Failure ? error.message : 'The service is temporarily unable to answer.';
    if (!(error instanceof Failure))
      log.warn('realtime.refused', { error: error instanceof Error ? error.name : typeof error });
    connection.send(JSON.stringify({ type: 'error', data: { code, message } }));
    connection.close(code, message);
  };
  const open = async (ws: WebSocket, socket: Duplex, context: RequestContext): Promise<void> => {
    const onSign = () => noteSign(ws);
    const connection = new SocketConnection(ws, onSign);
    ws.on('pong', onSign);
    unfinished.watch(ws, socket, context.ip, () => {
      connection.close(closeCodes.tryAgainLater, 'There are too many messages that have not arrived whole.');
      // Nothing more is read of it.
      ws.pause();
    });
    let closedWith: number | undefined;
    let client: Awaited<ReturnType<typeof realtime.connect>> | undefined;
    ws.on('error', () => {});
    ws.once('close', (code) => {
      closedWith = code;
      client?.left(code);
    });
    // What the client sends meanwhile waits in the socket.
    ws.pause();
    try {
      const user = await callerOf(context);
      const { project, ip: address } = context;
      if (project === undefined) throw new Failure('project_not_found');
      const authenticate = (secret: string) => authentication.bySecret(context, project, secret);
      client = await realtime.connect({ project, user, address, authenticate }, connection);
    } catch (error) {
      ws.resume();
      return refuse(connection, error);
    }
    if (closedWith !== undefined) return client.left(closedWith);
    const { receive } = client;
    ws.on('message', (data, isBinary) => {
      if (isBinary) connection.close(closeCodes.unsupported, 'Messages are text.');
      else receive(textOf(data));
    });
    ws.resume();
  };
  wss.on('wsClientError', (error, socket) => {
    // RFC 6455, section 4.4: a client of another version reads which one is spoken.
    const isOtherVersion = error.message.includes('Version');
    const problem = new Failure(isOtherVersion ? 'general_upgrade_required' : 'general_bad_request', {
      message: `${error.message}.`,
      headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' },
    });
    answerError(socket, problem, runtime.random.id());
  });
  const noteSign = beatOften(wss);

  return (server, request, socket, head) => {
    const path = (request.url ?? '').split('?')[0];
    const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
    if (path !== realtimePath || !isWebSocket || request.method !== 'GET')
      return serveWithout(server, request, socket, head);
    socket.on('error', () => {});
    contextOf(request).then(
      (context) => {
        server.maxConnections += 1;
        socket.once('close', () => {
          server.maxConnections -= 1;
        });
        wss.handleUpgrade(request, socket, head, (ws) => void open(ws, socket, context));
      },
      (error: unknown) => answerError(socket, error, runtime.random.id()),
    );
  };
}

const notForKeys = [
  'general_unauthorized_scope',
  { message: 'Sockets are for users and guests. With a server key, read GET /v1/events as server-sent events.' },
] as const;

function textOf(data: RawData): string {
  return Buffer.isBuffer(data) ? data.toString() : Array.isArray(data) ? Buffer.concat(data).toString() : '';
}

/** Asks clients whether they are there, and cuts off those that gave no sign since the last time. Returns what takes note of a sign. */
function beatOften(wss: WebSocketServer): (ws: WebSocket) => void {
  const silent = new WeakSet<WebSocket>();
  setInterval(() => {
    for (const ws of wss.clients) {
      if (silent.has(ws)) ws.terminate();
      else {
        silent.add(ws);
        ws.ping();
      }
    }
  }, realtimeLimits.pingMs).unref();
  return (ws) => silent.delete(ws);
}

/**
 * Serves a request as if it had not asked for another protocol, as RFC 9110, section 7.8, allows: Node has handed its socket over with what
 * was read of it, so its head is put back without the header.
 */
function serveWithout(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!['upgrade', 'connection', 'http2-settings'].includes(name.toLowerCase()))
      lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  lines.push('Connection: close');
  if (head.length > 0) socket.unshift(head);
  socket.unshift(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket);
}

/** Answers a handshake that is refused before the socket is open. */
function answerError(socket: Duplex, error: unknown, requestId: string): void {
  const failure = error instanceof Failure ? error : new Failure('general_unavailable');
  const { status, type, message, retryAfter, headers } = failure;
  const body = JSON.stringify({ message, code: status, type, version: wireVersion });
  const more = { ...headers, ...(retryAfter === undefined ? {} : { 'Retry-After': retryAfter }) };
  const lines = Object.entries(more).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${requestId}\r\n${lines.join('')}Connection: close\r\n\r\n${body}`,
  );
}
