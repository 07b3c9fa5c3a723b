import { webhookLimits } from '#src/contract/limits.js';
import { instantOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import { createLeasedQueue } from '#src/platform/leased-queue.js';
import type { Projects } from '../../../installation/index.js';
import type { Webhooks } from '../service.js';
import { type Webhook, type WebhookStore, webhooks } from '../store.js';
import type { Share } from './claim-store.js';
import { toEnvelope } from './envelope.js';
import { createLongBodies } from './long-bodies.js';
import type { Outcome } from './outcome.js';
import type { Post } from './post.js';
import { createRecording } from './recording.js';
import type { DeliveryStore } from './store.js';
import { type Delivery, deliveries } from './tables.js';

interface Deps {
  readonly projects: Projects;
  readonly webhooks: Webhooks;
  readonly post: Post;
  readonly store: DeliveryStore;
  readonly webhookStore: WebhookStore;
}

/** A claimed delivery, its webhook as it was then, and what is posted. */
interface Claimed {
  readonly webhook: Webhook;
  readonly delivery: Delivery;
  readonly body: string;
}

/** Delivers events that are due. A delivery that is made twice, because a process died, has the same event id both times. */
export function createDeliveries(
  { db, clock, random, log }: Pick<Runtime, 'db' | 'clock' | 'random' | 'log'>,
  deps: Deps,
) {
  const { projects, post, store } = deps;
  const record = createRecording({ db, clock, random, log }, deps);
  const longBodies = createLongBodies();
  let turn = 0;
  const queueOf = ({ projectId, id }: Pick<Webhook, 'projectId' | 'id'>) => `${projectId}/${id}`;
  const by = { projectId: null, requestId: '', actor: { kind: 'service', id: 'webhooks' } };

  /** What each webhook may begin: a receiver that hangs has its own few places and bytes, and no others. */
  const sharesOf = (waiting: readonly Webhook[], busy: (place?: string) => number): Share[] => {
    let free = webhookLimits.atOnce - busy();
    return waiting.flatMap((webhook): Share[] => {
      // Webhooks that fail get at most half of all places and bytes: their receivers may hang.
      const isFailing = webhook.attempts > 0;
      const room = isFailing ? free - webhookLimits.atOnce / 2 : free;
      const bytes = isFailing ? longBodies.room() - webhookLimits.longAtOnce / 2 : longBodies.room();
      const queue = queueOf(webhook);
      const limit = Math.min(webhookLimits.atOncePerWebhook - busy(queue), room);
      if (limit <= 0) return [];
      free -= limit;
      return [{ webhook, limit, longBytes: Math.min(longBodies.room(queue), bytes) }];
    });
  };

  const claim: Parameters<typeof createLeasedQueue<Claimed, Outcome>>[1]['claim'] = async (leaseAt, busy) => {
    const rows = await db.all(store.waitingWebhooks({ now: instantOf(clock.now()) }));
    // Each round begins with another webhook, so that all of them get places where these are short.
    turn = rows.length === 0 ? 0 : (turn + 1) % rows.length;
    const waiting = [...rows.slice(turn), ...rows.slice(0, turn)].map((row) => webhooks.decode(row));
    const disabled = waiting.filter(({ enabled }) => !enabled);
    const shares = sharesOf(
      waiting.filter(({ enabled }) => enabled),
      busy,
    );
    if (disabled.length + shares.length === 0) return [];
    return db.work(by, async (unit) => {
      for (const webhook of disabled) await deps.webhooks.giveUpSome(unit, webhook);
      if (shares.length === 0) return [];
      const [claimed = [], changes = []] = await unit.together([
        store.claim(shares, longBodies.room(), leaseAt(unit.now)),
        store.changedAt(shares.map(({ webhook }) => webhook)),
      ]);
      const changedAt = new Map(
        changes.map(({ project_id: projectId, id, updated_at: at }) => [
          queueOf({ projectId: String(projectId), id: String(id) }),
          at,
        ]),
      );
      const byQueue = new Map(waiting.map((webhook) => [queueOf(webhook), webhook]));
      const taken: Claimed[] = [];
      for (const { data, ...row } of claimed) {
        const delivery = deliveries.decode(row as typeof row & { packed: string });
        const { projectId, webhookId, eventId: id, event: type, createdAt, sequence } = delivery;
        const queue = queueOf({ projectId, id: webhookId });
        let webhook = byQueue.get(queue);
        if (webhook === undefined) continue;
        if ((changedAt.get(queue) ?? webhook.updatedAt) !== webhook.updatedAt) {
          // It was changed since it was seen, and events that follow a change are sent by it.
          webhook = await deps.webhooks.get(unit, projectId, webhookId);
          byQueue.set(queue, webhook);
          changedAt.delete(queue);
        }
        // Somebody has removed the event by SQL.
        if (data === null)
          await unit.run(store.settle(delivery, { state: 'discarded', dueAt: null, updatedAt: unit.now }));
        else
          taken.push({
            webhook,
            delivery,
            body: toEnvelope(projectId, { id, type, createdAt, sequence, data: String(data) }),
          });
      }
      return taken;
    });
  };

  return createLeasedQueue<Claimed, Outcome>(random, {
    leaseMs: webhookLimits.leaseMs,
    claim,
    queueOf: ({ webhook }) => queueOf(webhook),
    attempt: ({ webhook, delivery: { projectId, eventId, event, bytes }, body }) =>
      longBodies.during(queueOf(webhook), bytes, async () =>
        post(await projects.current(projectId), webhook, { eventId, event, body }),
      ),
    settle: ({ delivery }, outcome) => record(delivery, outcome),
    onTrouble: ({ delivery }, error) => log.error('webhooks.delivery.failed', { delivery: delivery.id, error }),
  });
}
