import type { Runtime } from '#src/platform/index.js';

/** A receiver that fails every other time does not fill the log: each webhook has a line of either kind in this time. */
const quietMs = 60_000;
/** Webhooks that are remembered; beyond it, old ones are forgotten. */
const remembered = 1000;

interface Place {
  readonly projectId: string;
  readonly webhookId: string;
}

/** Logs when a webhook begins to fail and when it works again, not each attempt. */
export function createStateLog({ clock, log }: Pick<Runtime, 'clock' | 'log'>) {
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
    failing: (place: Place, error: string): void => {
      if (isQuiet('failing', place)) return;
      log.warn('webhooks.failing', { project: place.projectId, webhook: place.webhookId, error });
    },
    working: (place: Place): void => {
      if (!isQuiet('working', place))
        log.info('webhooks.working', { project: place.projectId, webhook: place.webhookId });
    },
  };
}
