import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { serverLimits } from '#src/contract/limits.js';
import { bind } from '#src/platform/runtime/bind.js';

/** The state of a connection. */
interface Connection {
  /** The response to the latest request received. */
  newest: ServerResponse;
  /** The response to the request handled last. */
  handled: ServerResponse;
  /** The response before `newest`, if it was still in progress. */
  previous: ServerResponse | undefined;
  /** Number and bytes of the requests that wait for earlier responses. */
  waiting: number;
  waitingBytes: number;
  isWatched: boolean;
}

/** Estimated bytes of a request in addition to its head. */
const requestBytes = 4096;

interface Deps {
  readonly handler: RequestListener;
  readonly connections: WeakMap<Socket, Connection>;
  /** Bytes of waiting requests of all connections. */
  readonly waiting: { bytes: number };
}

/**
 * Handles the requests of a connection one after another, because responses are sent in this order (RFC 9112 §9.3.2). If handled
 * concurrently, pipelined requests would use memory and slots for responses that the client does not read. Also, Node emits no event for a
 * response that has not started when its connection closes. Requests still waiting when the connection closes are not handled.
 */
export function createRequestOrder(handler: RequestListener) {
  const deps: Deps = { handler, connections: new WeakMap(), waiting: { bytes: 0 } };
  return bind(deps, { take, isUnderWay, endAfterAll, lastOfWhole });
}

function take(deps: Deps, request: IncomingMessage, response: ServerResponse): void {
  const { handler, connections } = deps;
  const connection = connections.get(request.socket);
  if (connection === undefined) {
    const idle = { previous: undefined, waiting: 0, waitingBytes: 0, isWatched: false };
    connections.set(request.socket, { ...idle, newest: response, handled: response });
    handler(request, response);
    return;
  }
  const handle = (): void => {
    connection.handled = response;
    handler(request, response);
  };
  const before = connection.newest;
  if (before.closed) {
    connection.newest = response;
    connection.previous = undefined;
    handle();
    return;
  }
  const leave = admit(deps, connection, request);
  if (leave === undefined) {
    request.socket.destroy();
    return;
  }
  connection.newest = response;
  connection.previous = before;
  before.once('close', () => {
    leave();
    // Node assigns the socket to a response when its turn comes, unless the connection ends with the previous response.
    if (response.socket !== null && !response.socket.destroyed) handle();
  });
}

/** Counts a waiting request; call the result to release it. Closing the connection also releases it. Undefined if the queue is full. */
function admit({ waiting }: Deps, connection: Connection, { socket, url = '', rawHeaders }: IncomingMessage) {
  const bytes = rawHeaders.reduce((sum, { length }) => sum + length, requestBytes + url.length);
  if (connection.waiting >= serverLimits.waitingOfConnection || waiting.bytes + bytes > serverLimits.waitingBytes)
    return undefined;
  const count = (requests: number, ofThem: number) => {
    connection.waiting += requests;
    connection.waitingBytes += ofThem;
    waiting.bytes += ofThem;
  };
  if (!connection.isWatched) {
    connection.isWatched = true;
    // Node emits no event for a response that has not started.
    socket.once('close', () => count(-connection.waiting, -connection.waitingBytes));
  }
  count(1, bytes);
  return () => {
    if (connection.waiting > 0) count(-1, -bytes);
  };
}

/** True if a request of the connection is not answered yet. */
function isUnderWay({ connections }: Deps, socket: Socket): boolean {
  return connections.get(socket)?.newest.closed === false;
}

/** Calls `end` on a socket that Node has detached, after the earlier requests are answered. Discards further input. */
function endAfterAll({ connections }: Deps, socket: Socket, end: () => void): void {
  const connection = connections.get(socket);
  // Node no longer handles errors, the end or `drain` events of a detached socket.
  socket.on('error', () => socket.destroy());
  if (connection === undefined || connection.newest.closed) {
    end();
    return;
  }
  socket.on('end', () => socket.destroy());
  socket.on('drain', () => connection.handled.emit('drain'));
  socket.resume();
  connection.newest.once('close', end);
}

/** The response to the last request of a connection that was received completely. */
function lastOfWhole({ connections }: Deps, socket: Socket): ServerResponse | undefined {
  const connection = connections.get(socket);
  return connection?.newest.req.complete ? connection.newest : connection?.previous;
}
