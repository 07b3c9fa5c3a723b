import pg from 'pg';

/** Pause before another attempt to connect. */
const retryMs = 1000;

/** Notifications of a channel, read on a connection of its own for as long as the process lives. */
interface Listening {
  stop(): Promise<void>;
}

/**
 * Listens to a channel (`LISTEN`). The connection is made anew where it breaks; the listener is called without a payload after each
 * connect, as what was notified before was missed. A pooler that shares connections between transactions passes nothing on.
 */
export function listenTo(
  settings: pg.ClientConfig,
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
    const next = new pg.Client({ ...settings, application_name: `svc/${process.pid} listen` });
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
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      const last = client;
      client = undefined;
      await last?.end().catch(() => {});
    },
  };
}
