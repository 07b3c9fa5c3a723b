import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { type RawData, type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { realtimeLimits } from '#src/contract/limits.js';
import { type ClientConnection, closeCodes, type Features } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import type { Authentication } from './authenticate.js';
import { endWithError } from './errors.js';
import type { RequestLimit } from './limit.js';
import type { ServerState } from './ops.js';
import type { OriginChecks } from './origins.js';
import { isRealtime } from './paths.js';
import { firstParameter } from './query.js';
import { type AppState, createRequestContext, type Middleware, type RequestContext } from './request-context.js';
import { createHeadRules } from './request-head.js';
import { SocketConnection } from './socket-connection.js';
import { UnfinishedMessages } from './unfinished-messages.js';

interface Given {
  readonly app: Koa<AppState>;
  readonly state: ServerState;
  readonly authentication: Authentication;
  readonly limit: RequestLimit;
  readonly origins: OriginChecks;
  readonly refusals: Features['refusals'];
}

interface Deps extends Given, Pick<Runtime, 'log' | 'random'>, Pick<Features['streams'], 'realtime'> {
  readonly wss: WebSocketServer;
  readonly unfinished: UnfinishedMessages;
  readonly giveContext: Middleware;
  readonly checkHead: Middleware;
  /** Call it when a client shows activity. */
  readonly noteSign: (ws: WebSocket) => void;
}

/** Handles requests to switch protocols. */
export type UpgradeHandler = (server: Server, request: IncomingMessage, socket: Duplex, head: Buffer) => void;

// Compression would use several hundred KiB per socket.
const options: ServerOptions & { readonly maxFragments: number } = {
  noServer: true,
  perMessageDeflate: false,
  maxPayload: realtimeLimits.frameBytes,
  maxFragments: realtimeLimits.fragments,
};

const done: Parameters<Middleware>[1] = async () => {};

/**
 * Opens WebSockets (RFC 6455) at `/v1/realtime`. Errors in the project, the origin or a credential are sent as a message on the open
 * socket, which is then closed. Scripts in a browser cannot read the response to a handshake.
 */
export function createSocketUpgrade(
  runtime: Pick<Runtime, 'clock' | 'config' | 'log' | 'random'>,
  { realtime }: Features['streams'],
  given: Given,
): UpgradeHandler {
  const { log, random } = runtime;
  const wss = new WebSocketServer(options);
  wss.on('wsClientError', (error, socket) => refuseHandshake(error, socket, random.id()));
  const deps: Deps = {
    ...given,
    log,
    random,
    realtime,
    wss,
    unfinished: new UnfinishedMessages(),
    giveContext: createRequestContext(runtime),
    checkHead: createHeadRules(runtime.config),
    noteSign: beatOften(wss),
  };
  return upgrade.bind(undefined, deps);
}

function upgrade(deps: Deps, server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const [path = ''] = (request.url ?? '').split('?');
  const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
  if (!isRealtime(path) || !isWebSocket || request.method !== 'GET') {
    serveWithout(server, request, socket, head);
    return;
  }
  socket.on('error', () => {});
  contextOf(deps, request).then(
    (context) => {
      server.maxConnections += 1;
      socket.once('close', () => {
        server.maxConnections -= 1;
      });
      deps.wss.handleUpgrade(request, socket, head, (ws) => void open(deps, ws, socket, context));
    },
    (error: unknown) => answerError(socket, error, deps.random.id()),
  );
}

function refuseHandshake(error: Error, socket: Duplex, requestId: string): void {
  // RFC 6455 §4.4: the response names the supported version.
  const isOtherVersion = error.message.includes('Version');
  const problem = new Failure(isOtherVersion ? 'general_upgrade_required' : 'general_bad_request', {
    message: `${error.message}.`,
    headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' },
  });
  answerError(socket, problem, requestId);
}

async function contextOf(deps: Deps, request: IncomingMessage): Promise<RequestContext> {
  const ctx = deps.app.createContext(request, new ServerResponse(request)) as unknown as Parameters<Middleware>[0];
  await deps.giveContext(ctx, done);
  const { context } = ctx.state;
  await deps.checkHead(ctx, done);
  deps.limit.requireOperation(context);
  if (deps.state.draining) throw new Failure('general_unavailable');
  return context;
}

async function open(deps: Deps, ws: WebSocket, socket: Duplex, context: RequestContext): Promise<void> {
  const { authentication, realtime, refusals, unfinished, noteSign } = deps;
  const onSign = () => noteSign(ws);
  const connection = new SocketConnection(ws, onSign);
  ws.on('pong', onSign);
  unfinished.watch(ws, socket, context.ip, () => {
    connection.close(closeCodes.tryAgainLater, 'There are too many messages that have not arrived whole.');
    // Stops reading from the socket.
    ws.pause();
  });
  let closedWith: number | undefined;
  let client: Awaited<ReturnType<typeof realtime.connect>> | undefined;
  ws.on('error', () => {});
  ws.once('close', (code) => {
    closedWith = code;
    client?.left(code);
  });
  // Messages received until then wait in the socket's buffer.
  ws.pause();
  try {
    const user = await callerOf(deps, context);
    const { project, ip: address } = context;
    const { search } = context.ctx;
    if (project === undefined) throw new Failure('project_not_found');
    const authenticate = (secret: string) => authentication.bySecret(context, project, secret);
    client = await realtime.connect({ project, user, address, search, authenticate }, connection);
  } catch (error) {
    ws.resume();
    refusals.note(context.project?.id ?? null, error, { ip: context.ip, origin: context.refusedOrigin });
    return refuse(deps, connection, error);
  }
  if (closedWith !== undefined) return client.left(closedWith);
  const { receive } = client;
  ws.on('message', (data, isBinary) => {
    if (isBinary) connection.close(closeCodes.unsupported, 'Messages are text.');
    else receive(textOf(data));
  });
  ws.resume();
}

/** Resolves the user who opened the socket. A login without its second factor counts as a guest. */
async function callerOf({ authentication, origins }: Deps, context: RequestContext): Promise<User | undefined> {
  const { ctx, req } = context;
  const project = await authentication.project(context);
  context.project = project;
  origins.admit(context);
  if (req.headers.origin !== undefined && context.allowedOrigin === undefined)
    throw new Failure('general_unknown_origin');
  const jwt = firstParameter(ctx.querystring, 'jwt');
  await authentication.actor(context, project, jwt === '' ? undefined : jwt);
  const { actor } = context;
  if (actor?.kind === 'key')
    throw new Failure('general_unauthorized_scope', {
      message: 'Sockets are for users and guests. With a server key, read GET /v1/events as server-sent events.',
    });
  return actor?.kind === 'user' && !actor.session.pending ? actor : undefined;
}

function refuse({ log }: Deps, connection: ClientConnection, error: unknown): void {
  const isPolicy = error instanceof Failure && error.status < 500;
  const code = isPolicy ? closeCodes.policy : closeCodes.tryAgainLater;
  const message = error instanceof Failure ? error.message : 'The service is temporarily unable to answer.';
  if (!(error instanceof Failure))
    log.warn('realtime.refused', { error: error instanceof Error ? error.name : typeof error });
  connection.send(JSON.stringify({ type: 'error', data: { code, message } }));
  connection.close(code, message);
}

function textOf(data: RawData): string {
  return Buffer.isBuffer(data) ? data.toString() : Array.isArray(data) ? Buffer.concat(data).toString() : '';
}

/** Pings all clients regularly and disconnects those that sent nothing since the last ping. */
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
 * Serves a request as if it had not asked for another protocol, as RFC 9110 §7.8 allows. Node has detached the socket and consumed the
 * head, so the head is put back without the header.
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

/** Answers a handshake that fails before the socket is open. */
function answerError(socket: Duplex, error: unknown, requestId: string): void {
  const failure = error instanceof Failure ? error : new Failure('general_unavailable');
  const { retryAfter, headers } = failure;
  const more = { ...headers, ...(retryAfter === undefined ? {} : { 'Retry-After': retryAfter }) };
  const lines = Object.entries(more).map(([name, value]) => `${name}: ${value}\r\n`);
  endWithError(socket, failure, `X-Request-Id: ${requestId}\r\n${lines.join('')}`);
}
