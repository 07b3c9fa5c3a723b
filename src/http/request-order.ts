import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { serverLimits } from '#src/contract/limits.js';

/** What is known of a connection. */
interface Connection {
  /** The response to the last request that came. */
  newest: ServerResponse;
  /** The response to the last request that was handled. */
  handled: ServerResponse;
  /** The response before it, where that was under way still. */
  previous: ServerResponse | undefined;
  /** Requests that wait for the responses to those before them, and their bytes. */
  waiting: number;
  waitingBytes: number;
  isWatched: boolean;
}

/** What a request takes besides its head, in bytes. */
const requestBytes = 4096;

/**
 * Handles the requests of a connection one after another, as their responses are sent in this order (RFC 9112 §9.3.2). Handled at once, they would
 * take room and places for responses that nobody reads; and of a response that has not begun when its connection is closed, Node does not
 * report the end. Requests that wait when their connection is closed are not handled.
 */
export function createRequestOrder(handler: RequestListener) {
  const connections = new WeakMap<Socket, Connection>();
  /** Bytes of the requests that wait, of all connections. */
  let waitingBytes = 0;
  /** Counts a request that waits, until what it returns is called or the connection is closed; undefined where too much would wait. */
  const admit = (connection: Connection, { socket, url = '', rawHeaders }: IncomingMessage) => {
    const bytes = rawHeaders.reduce((sum, { length }) => sum + length, requestBytes + url.length);
    if (connection.waiting >= serverLimits.waitingOfConnection || waitingBytes + bytes > serverLimits.waitingBytes)
      return undefined;
    const count = (requests: number, ofThem: number) => {
      connection.waiting += requests;
      connection.waitingBytes += ofThem;
      waitingBytes += ofThem;
    };
    if (!connection.isWatched) {
      connection.isWatched = true;
      // Of a response that has not begun then, nothing else tells the end.
      socket.once('close', () => count(-connection.waiting, -connection.waitingBytes));
    }
    count(1, bytes);
    return () => {
      if (connection.waiting > 0) count(-1, -bytes);
    };
  };
  const take: RequestListener = (request, response) => {
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
    const leave = admit(connection, request);
    if (leave === undefined) {
      request.socket.destroy();
      return;
    }
    connection.newest = response;
    connection.previous = before;
    before.once('close', () => {
      leave();
      // Node gives the response its connection when its turn comes, unless the connection ends with the response before.
      if (response.socket !== null && !response.socket.destroyed) handle();
    });
  };
  return {
    take,
    /** Whether a request of the connection is not answered yet. */
    isUnderWay: (socket: Socket): boolean => connections.get(socket)?.newest.closed === false,
    /** Ends a connection that Node has handed over once the requests that came before are answered; what the client sends is discarded. */
    endAfterAll: (socket: Socket, end: () => void): void => {
      const connection = connections.get(socket);
      // Node watches it no more: neither for its errors and its end nor for who waits to write on.
      socket.on('error', () => socket.destroy());
      if (connection === undefined || connection.newest.closed) {
        end();
        return;
      }
      socket.on('end', () => socket.destroy());
      socket.on('drain', () => connection.handled.emit('drain'));
      socket.resume();
      connection.newest.once('close', end);
    },
    /** The response to the last request that came whole over a connection. */
    lastOfWhole: (socket: Socket): ServerResponse | undefined => {
      const connection = connections.get(socket);
      return connection?.newest.req.complete ? connection.newest : connection?.previous;
    },
  };
}
