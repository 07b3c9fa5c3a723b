// Somebody outside whom the service calls.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from './runner.js';

/** A call that came in. */
export interface ReceivedCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** A server of the outside world on the loopback address, which ends with the calling test. */
export interface Receiver {
  readonly port: number;
  /** `http://127.0.0.1:port`. */
  readonly origin: string;
  readonly calls: ReceivedCall[];
  /** Connections, whether a request came of them or not. */
  connections(): number;
  /** What the next calls are answered with. */
  answer: (response: ServerResponse, request: IncomingMessage) => void;
}

/** Starts a receiver that answers 200 with nothing. */
export async function startReceiver(host = '127.0.0.1'): Promise<Receiver> {
  let connections = 0;
  const server = createServer(async (request, response) => {
    // A sender that is killed, or gives up, leaves half a call: there is nobody to answer.
    const chunks: Buffer[] | undefined = await request.toArray().catch(() => undefined);
    if (chunks === undefined) return;
    const { method = '', url = '', headers } = request;
    receiver.calls.push({ method, url, headers, body: Buffer.concat(chunks) });
    receiver.answer(response, request);
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    port,
    origin: `http://127.0.0.1:${port}`,
    calls: [],
    connections: () => connections,
    answer: (response) => response.end(),
  };
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}
