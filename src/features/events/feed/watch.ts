import { setMaxListeners } from 'node:events';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { numberedChannel } from '../webhooks/index.js';
import type { FeedStore } from './store.js';

/** Milliseconds between two checks for events numbered by other processes. Notifications may be lost with their connection. */
const lookMs = { alone: 250, withNotifications: 1000 } as const;

/** Called if a project has newly numbered events, or if it is gone. */
type Listener = (change: 'numbered' | 'gone') => void;

/** Notifies readers of the feed about new events from any process. Idle without readers. */
export interface EventWatch {
  /** Calls the listener for events after `seen` from now on. Returns a function that stops it. */
  follow(projectId: string, listener: Listener, seen?: number): () => void;
  /** Reports newly numbered events of this process. */
  wake(projectId: string): void;
  isFollowed(): boolean;
  /** Aborted by `stop`; ends waiting requests. */
  readonly ended: AbortSignal;
  stop(): void;
}

/**
 * Listeners of a project, each with the last number it was notified of or has seen. They differ if events were numbered while a listener
 * was added.
 */
type Followed = Map<Listener, number | undefined>;

interface Deps extends Pick<Runtime, 'db' | 'sql' | 'driver'> {
  readonly store: FeedStore;
  readonly followed: Map<string, Followed>;
  readonly state: { timer: NodeJS.Timeout | undefined; isListening: boolean; isLooking: boolean; again: boolean };
}

/** Creates the watch of a process. */
export function createEventWatch(runtime: Pick<Runtime, 'db' | 'sql' | 'driver'>, store: FeedStore): EventWatch {
  const followed = new Map<string, Followed>();
  const ending = new AbortController();
  // Every reader adds a listener. The reader slots limit their number.
  setMaxListeners(0, ending.signal);
  const state = { timer: undefined, isListening: false, isLooking: false, again: false };
  const deps: Deps = { ...runtime, store, followed, state };
  return {
    ...bind(deps, { follow, wake }),
    isFollowed: () => followed.size > 0,
    ended: ending.signal,
    stop: () => ending.abort(),
  };
}

function follow(deps: Deps, projectId: string, listener: Listener, seen?: number): () => void {
  const { followed, state } = deps;
  const listeners: Followed = followed.get(projectId) ?? new Map();
  followed.set(projectId, listeners);
  listeners.set(listener, seen);
  begin(deps);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && followed.get(projectId) === listeners) followed.delete(projectId);
    if (followed.size > 0) return;
    clearInterval(state.timer);
    state.timer = undefined;
  };
}

function begin(deps: Deps): void {
  const { driver, state } = deps;
  const everyMs = driver.notifies() ? lookMs.withNotifications : lookMs.alone;
  state.timer ??= setInterval(() => void look(deps), everyMs).unref();
  if (state.isListening || !driver.notifies()) return;
  state.isListening = true;
  driver.listen(numberedChannel, (projectId) => {
    if (projectId === undefined || deps.followed.has(projectId)) void look(deps);
  });
}

function wake(deps: Deps, projectId: string): void {
  if (deps.followed.has(projectId)) void look(deps);
}

async function look(deps: Deps): Promise<void> {
  const { followed, state } = deps;
  state.again = true;
  if (state.isLooking) return;
  state.isLooking = true;
  while (state.again && followed.size > 0) {
    state.again = false;
    // Ignores errors: the next check comes anyway, and no event is numbered while the database is unavailable.
    await lookOnce(deps).catch(() => {});
  }
  state.isLooking = false;
}

async function lookOnce({ db, store, followed }: Deps): Promise<void> {
  const ids = [...followed.keys()];
  const rows = await db.all(store.lasts(ids));
  const lasts = new Map(rows.map(({ id, last }) => [String(id), Number(last)]));
  for (const id of ids) {
    const listeners = followed.get(id);
    if (listeners !== undefined) tell(listeners, lasts.get(id));
  }
}

/** Notifies listeners of the last number of a project; undefined if the project is gone. */
function tell(listeners: Followed, last: number | undefined): void {
  for (const [listener, seen] of [...listeners]) {
    if (last !== undefined && last === seen) continue;
    if (listeners.has(listener)) listeners.set(listener, last);
    listener(last === undefined ? 'gone' : 'numbered');
  }
}
