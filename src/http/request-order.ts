import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { serverLimits } from '#src/contract/limits.js';

/** What is known of a connection. */
interface Connection {
  /** The response to the last request that came. */
  newest: ServerResponse;
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
      connections.set(request.socket, { newest: response, previous: undefined, waiting: 0 });
      handler(request, response);
      return;
    }
    const before = connection.newest;
    connection.newest = response;
    connection.previous = before.closed ? undefined : before;
    if (before.closed) {
      handler(request, response);
      return;
    }
    connection.waiting += 1;
    if (connection.waiting > serverLimits.waitingOfConnection) request.socket.destroy();
    before.once('close', () => {
      connection.waiting -= 1;
      // Node gives the response its connection when its turn comes, unless the connection ends with the response before.
      if (response.socket !== null && !response.socket.destroyed) handler(request, response);
    });
  };
  return {
    take,
    /** The response to the last request that came whole over a connection. */
    lastOfWhole: (socket: Socket): ServerResponse | undefined => {
      const connection = connections.get(socket);
      return connection?.newest.req.complete ? connection.newest : connection?.previous;
    },
  };
}
