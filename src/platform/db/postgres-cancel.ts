import { once } from 'node:events';
import { connect } from 'node:net';
import type pg from 'pg';

/** What a request to cancel is known by (PostgreSQL, Message Formats, CancelRequest). */
const cancelCode = 80_877_102;
const cancelMs = 1000;

/** What pg keeps of a connection, for which it has no public names. */
interface Backend {
  readonly host: string;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/**
 * Asks the server to end what runs on a connection; resolved when it has been told so, or cannot be. As psql does it: by a connection of its
 * own that says nothing else, is never encrypted and is closed by the server once the signal is sent. Where that fails, the time limit of
 * the statement is left.
 */
export async function cancel(client: pg.PoolClient): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as Backend;
  if (processID === null || secretKey === null) return;
  const message = Buffer.alloc(16);
  for (const [at, word] of [16, cancelCode, processID, secretKey].entries()) message.writeInt32BE(word | 0, 4 * at);
  const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  socket.setTimeout(cancelMs, () => socket.destroy());
  socket.on('error', () => {});
  socket.end(message);
  socket.resume();
  await once(socket, 'close').catch(() => {});
}
