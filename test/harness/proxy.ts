// A network between the server under test and Postgres, which can be held up or cut.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after } from './runner.js';

/** A way to a server that a test can close. */
interface Network {
  /** The URL of the database behind it. */
  readonly databaseUrl: string;
  /** Nothing gets through in either direction, connections stay. */
  hold(): void;
  /** What was held up arrives. */
  resume(): void;
  /** Every connection breaks. */
  cut(): void;
  /** How many connections were made so far. */
  connections(): number;
}

/** Puts a network in front of a Postgres; it goes with the calling test. */
export async function startNetwork(databaseUrl: string): Promise<Network> {
  const url = new URL(databaseUrl);
  const { hostname, port } = url;
  const sockets = new Set<Socket>();
  let held = false;
  let made = 0;
  const server = createServer((near) => {
    made += 1;
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('data', (part) => to.write(part));
      if (held) from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.port = String((server.address() as AddressInfo).port);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  after(() => {
    cut();
    server.close();
  });
  return {
    databaseUrl: url.href,
    hold: () => {
      held = true;
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      held = false;
      for (const socket of sockets) socket.resume();
    },
    cut,
    connections: () => made,
  };
}
