import type { Runtime } from '#src/platform/index.js';
import type { WebhookAddress } from './tables.js';

/** Minimum time between two log lines of a kind about a webhook. A receiver that fails every other time must not flood the log. */
const quietMs = 60_000;
/** Maximum number of webhooks to remember. Beyond it, the oldest is dropped. */
const remembered = 1000;

/** Logs when a webhook starts failing and when it works again, not each attempt. */
export interface StateLog {
  failing(webhook: WebhookAddress, error: string): void;
  working(webhook: WebhookAddress): void;
}

/** Creates the log of a process. */
export function createStateLog({ clock, log }: Pick<Runtime, 'clock' | 'log'>): StateLog {
  const last = new Map<string, number>();
  const isQuiet = (kind: string, { projectId, id }: WebhookAddress): boolean => {
    const key = JSON.stringify([kind, projectId, id]);
    const [now, before] = [clock.monotonic(), last.get(key)];
    if (before !== undefined && now - before < quietMs) return true;
    last.delete(key);
    last.set(key, now);
    const [oldest] = last.keys();
    if (last.size > remembered && oldest !== undefined) last.delete(oldest);
    return false;
  };
  return {
    failing: (webhook, error) => {
      const { projectId: project, id } = webhook;
      if (!isQuiet('failing', webhook)) log.warn('webhooks.failing', { project, webhook: id, error });
    },
    working: (webhook) => {
      const { projectId: project, id } = webhook;
      if (!isQuiet('working', webhook)) log.info('webhooks.working', { project, webhook: id });
    },
  };
}
