import { setMaxListeners } from 'node:events';
import type { Runtime } from '#src/platform/index.js';
import { numberedChannel } from '../../webhooks/index.js';
import type { FeedStore } from '../store.js';

/** How often a process looks whether others have numbered events: SQLite tells nobody, Postgres may have lost its connection. */
const lookMs = { sqlite: 250, postgres: 1000 } as const;

/** Told that a project has events with new numbers, or that the project is gone. */
type Listener = (change: 'numbered' | 'gone') => void;

/** Tells readers of the feed that there is more, whichever process has numbered it. Nothing is looked at while nobody reads. */
export interface EventWatch {
  /** Calls the listener from now on, and of what came after the number that it has seen; returns what ends that. */
  follow(projectId: string, listener: Listener, seen?: number): () => void;
  /** Events of a project were numbered here. */
  wake(projectId: string): void;
  isFollowed(): boolean;
  /** Ends what waits; the signal is aborted. */
  readonly ended: AbortSignal;
  stop(): void;
}

/** Listeners of a project, with the last number that each was told of or has seen: what came while one began was told to the others only. */
type Followed = Map<Listener, number | undefined>;

/** Creates the watch of a process. */
export function createEventWatch(
  { db, sql, driver }: Pick<Runtime, 'db' | 'sql' | 'driver'>,
  store: FeedStore,
): EventWatch {
  const followed = new Map<string, Followed>();
  const ending = new AbortController();
  // Every reader listens to it, and the places of readers bound how many there are.
  setMaxListeners(0, ending.signal);
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let again = false;
  let isListening = false;

  /** Tells of the last number of a project; undefined where that is gone. */
  const tell = (listeners: Followed, last: number | undefined) => {
    for (const [listener, seen] of [...listeners]) {
      if (last !== undefined && last === seen) continue;
      if (listeners.has(listener)) listeners.set(listener, last);
      listener(last === undefined ? 'gone' : 'numbered');
    }
  };
  const lookOnce = async (): Promise<void> => {
    const ids = [...followed.keys()];
    const rows = await db.all(store.lasts(ids));
    const lasts = new Map(rows.map(({ id, last }) => [String(id), Number(last)]));
    for (const id of ids) {
      const listeners = followed.get(id);
      if (listeners !== undefined) tell(listeners, lasts.get(id));
    }
  };
  const look = async (): Promise<void> => {
    again = true;
    if (isLooking) return;
    isLooking = true;
    while (again && followed.size > 0) {
      again = false;
      // While the database is away nothing is numbered; the next look comes by itself.
      await lookOnce().catch(() => {});
    }
    isLooking = false;
  };
  const begin = (): void => {
    timer ??= setInterval(() => void look(), lookMs[sql.dialect]).unref();
    if (isListening) return;
    isListening = true;
    driver.listen(numberedChannel, (projectId) => {
      if (projectId === undefined || followed.has(projectId)) void look();
    });
  };
  return {
    follow: (projectId, listener, seen) => {
      const listeners: Followed = followed.get(projectId) ?? new Map();
      followed.set(projectId, listeners);
      listeners.set(listener, seen);
      begin();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && followed.get(projectId) === listeners) followed.delete(projectId);
        if (followed.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    wake: (projectId) => {
      if (followed.has(projectId)) void look();
    },
    isFollowed: () => followed.size > 0,
    ended: ending.signal,
    stop: () => ending.abort(),
  };
}
