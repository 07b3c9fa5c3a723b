import pg from 'pg';

/** Pause before another attempt to connect, in milliseconds. */
const retryMs = 1000;

/** Receives the notifications of a channel on its own connection until it is stopped. */
interface Listening {
  /** Connects again: the server in use has changed. */
  restart(): void;
  stop(): Promise<void>;
}

/**
 * Listens to a channel (`LISTEN`). Reconnects if the connection breaks. Calls the listener without a payload after each connect, because
 * earlier notifications were missed. A pooler that shares connections between transactions delivers no notifications.
 */
export function listenTo(
  settings: pg.ClientConfig,
  url: () => string,
  channel: string,
  listener: (payload: string | undefined) => void,
): Listening {
  let stopped = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;

  const again = (broken: pg.Client): void => {
    if (client !== broken) return;
    client = undefined;
    broken.end().catch(() => {});
    if (!stopped) timer = setTimeout(connect, retryMs).unref();
  };
  const connect = (): void => {
    const next = new pg.Client({
      ...settings,
      connectionString: url(),
      application_name: `svc/${process.pid} listen`,
    });
    client = next;
    next.on('error', () => again(next));
    next.on('end', () => again(next));
    next.on('notification', ({ payload }) => listener(payload));
    next
      .connect()
      .then(() => next.query(`listen ${pg.escapeIdentifier(channel)}`))
      .then(() => listener(undefined))
      .catch(() => again(next));
  };
  connect();
  return {
    restart: () => {
      if (client !== undefined) again(client);
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      const last = client;
      client = undefined;
      await last?.end().catch(() => {});
    },
  };
}
