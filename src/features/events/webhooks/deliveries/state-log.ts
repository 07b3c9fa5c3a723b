import type { Runtime } from '#src/platform/index.js';

/** Minimum time between two log lines of a kind about a webhook. A receiver that fails every other time must not flood the log. */
const quietMs = 60_000;
/** Maximum number of webhooks to remember. Beyond it, the oldest is dropped. */
const remembered = 1000;

interface Place {
  readonly projectId: string;
  readonly webhookId: string;
}

/** Logs when a webhook starts failing and when it works again, not each attempt. */
export interface StateLog {
  failing(place: Place, error: string): void;
  working(place: Place): void;
}

/** Creates the log of a process. */
export function createStateLog({ clock, log }: Pick<Runtime, 'clock' | 'log'>): StateLog {
  const last = new Map<string, number>();
  const isQuiet = (kind: string, { projectId, webhookId }: Place): boolean => {
    const key = JSON.stringify([kind, projectId, webhookId]);
    const [now, before] = [clock.monotonic(), last.get(key)];
    if (before !== undefined && now - before < quietMs) return true;
    last.delete(key);
    last.set(key, now);
    const [oldest] = last.keys();
    if (last.size > remembered && oldest !== undefined) last.delete(oldest);
    return false;
  };
  return {
    failing: (place, error) => {
      if (isQuiet('failing', place)) return;
      log.warn('webhooks.failing', { project: place.projectId, webhook: place.webhookId, error });
    },
    working: (place) => {
      if (!isQuiet('working', place))
        log.info('webhooks.working', { project: place.projectId, webhook: place.webhookId });
    },
  };
}
