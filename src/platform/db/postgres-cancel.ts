import { once } from 'node:events';
import { connect } from 'node:net';
import type pg from 'pg';

/** Code of a cancel request (PostgreSQL, Message Formats, CancelRequest). */
const cancelCode = 80_877_102;
/** As long as PgBouncer waits for a connection that it can forward the request on (`cancel_wait_timeout`). */
const cancelMs = 10_000;

/** Properties of a pg connection that are not public. */
interface Backend {
  readonly host: string;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/**
 * Asks the server to cancel the statement on a connection; resolves when the request is sent, or cannot be. Works as in psql: on a new,
 * unencrypted connection that sends nothing else and that the server closes once the signal is sent. PgBouncer before 1.20 can crash if this
 * side closes it earlier (pgbouncer#801). If it fails, the time limit of the statement still applies.
 */
export async function cancel(client: pg.PoolClient): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as Backend;
  if (processID === null || secretKey === null) return;
  const message = Buffer.alloc(16);
  for (const [at, word] of [16, cancelCode, processID, secretKey].entries()) message.writeInt32BE(word | 0, 4 * at);
  const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  socket.setTimeout(cancelMs, () => socket.destroy());
  socket.on('error', () => {});
  socket.write(message);
  socket.resume();
  await once(socket, 'close').catch(() => {});
}
