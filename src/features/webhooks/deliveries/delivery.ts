import { webhookLimits } from '#src/contract/limits.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import { nameOf } from '#src/platform/worker.js';
import type { Projects } from '../../projects/index.js';
import type { Webhooks } from '../service.js';
import { type Webhook, type WebhookStore, webhooks } from '../store.js';
import type { Outcome } from './outcome.js';
import type { Post } from './post.js';
import { delayAfter } from './schedule.js';
import { type Delivery, type DeliveryState, type DeliveryStore, deliveries } from './store.js';

type Parts = Pick<Platform, 'db' | 'clock' | 'random' | 'log'>;

/** What deliveries lean on. */
interface Needs {
  readonly projects: Projects;
  readonly webhooks: Webhooks;
  readonly post: Post;
  readonly store: DeliveryStore;
  readonly webhookStore: WebhookStore;
}

const gone = 410;
const failingMs = webhookLimits.failingDays * 86_400_000;

/**
 * Delivers what is due: claims it for a minute, posts it outside of any unit, and records what came of it. A process that dies loses its
 * claims to the others; what it posted before may then arrive twice, under the same event id.
 */
export function createDeliveries({ db, clock, random, log }: Parts, needs: Needs) {
  const { projects, post, store, webhookStore } = needs;
  const owner = random.id();
  const underWay = new Set<Promise<void>>();
  const perWebhook = new Map<string, number>();
  let posting = 0;
  let turn = 0;
  const keyOf = ({ projectId, id }: Webhook) => `${projectId}/${id}`;
  const by = (projectId: string | null, requestId = '') => ({
    ...{ projectId, requestId, actor: { kind: 'service', id: 'webhooks' } },
  });

  /** Takes as much of what is due as can be posted at once: a receiver that hangs keeps its own few places and no others. */
  const claim = async (): Promise<{ readonly webhook: Webhook; readonly delivery: Delivery }[]> => {
    const now = instantOf(clock.now());
    const rows = await db.all(store.waitingWebhooks({ now }));
    // Each round begins with another one, so that where places are short everybody has a turn.
    turn = rows.length === 0 ? 0 : (turn + 1) % rows.length;
    const waiting = [...rows.slice(turn), ...rows.slice(0, turn)].map((row) => webhooks.decode(row));
    let free = webhookLimits.atOnce - posting;
    const shares = waiting.flatMap((webhook) => {
      // Those that fail get at most half of all places: they may well be those that hang.
      const room = webhook.attempts > 0 ? free - webhookLimits.atOnce / 2 : free;
      const places = webhookLimits.atOncePerWebhook - (perWebhook.get(keyOf(webhook)) ?? 0);
      const most = webhook.enabled ? Math.min(places, room) : 0;
      if (most > 0) free -= most;
      return most > 0 || !webhook.enabled ? [{ webhook, most }] : [];
    });
    if (shares.length === 0) return [];
    return db.work(by(null), async (unit) => {
      const claimed: { webhook: Webhook; delivery: Delivery }[] = [];
      const until = instantOf(millisecondsOf(unit.now) + webhookLimits.leaseMs);
      for (const { webhook, most } of shares) {
        if (!webhook.enabled) await unit.run(store.discard(webhook, unit.now));
        else {
          const { projectId, id } = webhook;
          const taken = await unit.all(store.claim({ projectId, id, now: unit.now, until, owner, most }));
          claimed.push(...taken.map((row) => ({ webhook, delivery: deliveries.decode(row) })));
        }
      }
      return claimed;
    });
  };

  /** What comes after an attempt. */
  const next = (attempt: number, outcome: Outcome): { state: DeliveryState; dueAt: string | null } => {
    if (outcome.ok) return { state: 'delivered', dueAt: null };
    const delay = outcome.statusCode === gone ? undefined : delayAfter(attempt, outcome, random, clock.now());
    if (delay === undefined) return { state: 'dead', dueAt: null };
    return { state: 'retrying', dueAt: instantOf(clock.now() + delay) };
  };

  /** Counts a failure against the webhook, and disables it where it is gone or has done nothing but fail for days. */
  const blame = async (unit: Unit, { projectId, webhookId, replayed }: Delivery, outcome: Outcome): Promise<void> => {
    const query = replayed
      ? webhookStore.find(projectId, webhookId)
      : webhookStore.markFailing(projectId, webhookId, outcome.error, unit.now);
    const row = await unit.one(query);
    if (row === undefined) return;
    const webhook = webhooks.decode(row);
    const since = webhook.failingSince;
    const isHopeless = !replayed && since !== null && millisecondsOf(unit.now) - millisecondsOf(since) >= failingMs;
    if (!webhook.enabled) await unit.run(store.discard(webhook, unit.now));
    else if (outcome.statusCode === gone) await needs.webhooks.disable(unit, webhook, 'the receiver answered 410');
    else if (isHopeless)
      await needs.webhooks.disable(unit, webhook, `nothing but failures for ${webhookLimits.failingDays} days`);
  };

  /** Records an attempt, unless somebody else has taken the delivery over meanwhile. */
  const settle = (delivery: Delivery, outcome: Outcome): Promise<void> =>
    db.work(by(delivery.projectId, delivery.id), async (unit) => {
      const { id, projectId, webhookId, eventId, event } = delivery;
      const attempt = delivery.attempt + 1;
      const { state, dueAt } = next(attempt, outcome);
      if ((await unit.run(store.finish(delivery, { state, attempt, dueAt, updatedAt: unit.now }))) === 0) return;
      if (outcome.ok) await unit.run(webhookStore.markWorking(projectId, webhookId));
      else await blame(unit, delivery, outcome);
      const { statusCode, ok, error, durationMs, response } = outcome;
      await unit.run(
        store.insertAttempt({
          ...{ id: random.id(), projectId, webhookId, deliveryId: id, eventId, event, attempt, state, statusCode },
          ...{ ok, error, durationMs, nextAttemptAt: dueAt, response, createdAt: unit.now },
        }),
      );
    });

  /** Posts and records; the place at the webhook is free as soon as the receiver has answered. */
  const deliver = async (webhook: Webhook, delivery: Delivery, then: () => void): Promise<void> => {
    const key = keyOf(webhook);
    perWebhook.set(key, (perWebhook.get(key) ?? 0) + 1);
    posting += 1;
    let outcome: Outcome;
    try {
      outcome = await post(await projects.current(delivery.projectId), webhook, delivery);
    } finally {
      posting -= 1;
      const left = (perWebhook.get(key) ?? 1) - 1;
      if (left > 0) perWebhook.set(key, left);
      else perWebhook.delete(key);
      then();
    }
    await settle(delivery, outcome);
  };

  return {
    /** Begins as many deliveries as there is room for; `then` is called as each of them leaves its place. */
    begin: async (then: () => void): Promise<void> => {
      for (const { webhook, delivery } of await claim()) {
        const work = deliver(webhook, delivery, then)
          .catch((error: unknown) => {
            // The lease ends by itself and the delivery is made again.
            log.error('webhooks.delivery.failed', { delivery: delivery.id, error: nameOf(error) });
          })
          .finally(() => underWay.delete(work));
        underWay.add(work);
      }
    },
    /** Resolves when nothing is under way; each attempt has its time limit. */
    idle: async (): Promise<void> => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
