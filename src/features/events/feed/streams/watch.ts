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
  /** Calls the listener from now on; returns what ends that. */
  follow(projectId: string, listener: Listener): () => void;
  /** Events of a project were numbered here. */
  wake(projectId: string): void;
  isFollowed(): boolean;
  /** Ends what waits; the signal is aborted. */
  readonly ended: AbortSignal;
  stop(): void;
}

interface Followed {
  readonly listeners: Set<Listener>;
  last: number | undefined;
}

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

  const tell = (projectId: string, change: 'numbered' | 'gone') => {
    for (const listener of [...(followed.get(projectId)?.listeners ?? [])]) listener(change);
  };
  const lookOnce = async (): Promise<void> => {
    const ids = [...followed.keys()];
    const rows = await db.all(store.lasts(ids));
    const lasts = new Map(rows.map(({ id, last }) => [String(id), Number(last)]));
    for (const id of ids) {
      const entry = followed.get(id);
      const last = lasts.get(id);
      if (entry === undefined) continue;
      if (last === undefined) tell(id, 'gone');
      else if (last !== entry.last) {
        entry.last = last;
        tell(id, 'numbered');
      }
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
    follow: (projectId, listener) => {
      const entry = followed.get(projectId) ?? { listeners: new Set(), last: undefined };
      followed.set(projectId, entry);
      entry.listeners.add(listener);
      begin();
      return () => {
        entry.listeners.delete(listener);
        if (entry.listeners.size === 0 && followed.get(projectId) === entry) followed.delete(projectId);
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
