import type { RequestListener, ServerResponse } from 'node:http';
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
  /** Requests that wait for the responses to those before them. */
  waiting: number;
}

/**
 * Handles the requests of a connection one after another, as their responses are sent in this order (RFC 9112 §9.3.2). Handled at once, they would
 * take room and places for responses that nobody reads; and of a response that has not begun when its connection is closed, Node does not
 * report the end. Requests that wait when their connection is closed are not handled.
 */
export function createRequestOrder(handler: RequestListener) {
  const connections = new WeakMap<Socket, Connection>();
  const take: RequestListener = (request, response) => {
    const connection = connections.get(request.socket);
    if (connection === undefined) {
      connections.set(request.socket, { newest: response, handled: response, previous: undefined, waiting: 0 });
      handler(request, response);
      return;
    }
    const handle = (): void => {
      connection.handled = response;
      handler(request, response);
    };
    const before = connection.newest;
    connection.newest = response;
    connection.previous = before.closed ? undefined : before;
    if (before.closed) {
      handle();
      return;
    }
    connection.waiting += 1;
    if (connection.waiting > serverLimits.waitingOfConnection) request.socket.destroy();
    before.once('close', () => {
      connection.waiting -= 1;
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
