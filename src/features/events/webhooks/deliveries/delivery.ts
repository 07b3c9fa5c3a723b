import { webhookLimits } from '#src/contract/limits.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { createLeasedQueue } from '#src/platform/leased-queue.js';
import type { Projects } from '../../../installation/index.js';
import type { Webhooks } from '../service.js';
import { type Webhook, type WebhookStore, webhooks } from '../store.js';
import type { Outcome } from './outcome.js';
import type { Post } from './post.js';
import { delayAfter } from './schedule.js';
import type { DeliveryStore } from './store.js';
import { type Delivery, type DeliveryState, deliveries } from './tables.js';

interface Deps {
  readonly projects: Projects;
  readonly webhooks: Webhooks;
  readonly post: Post;
  readonly store: DeliveryStore;
  readonly webhookStore: WebhookStore;
}

/** A claimed delivery and its webhook as it was then. */
interface Claimed {
  readonly webhook: Webhook;
  readonly delivery: Delivery;
}

const gone = 410;
const dayMs = 86_400_000;
const failingMs = webhookLimits.failingDays * dayMs;

/** Delivers events that are due. A delivery that is made twice, because a process died, has the same event id both times. */
export function createDeliveries(
  { db, clock, random, log }: Pick<Runtime, 'db' | 'clock' | 'random' | 'log'>,
  deps: Deps,
) {
  const { projects, post, store, webhookStore } = deps;
  let turn = 0;
  const queueOf = ({ projectId, id }: Pick<Webhook, 'projectId' | 'id'>) => `${projectId}/${id}`;
  const by = (projectId: string | null, requestId = '') => ({
    projectId,
    requestId,
    actor: { kind: 'service', id: 'webhooks' },
  });

  /** How many deliveries each webhook may begin: a receiver that hangs has its own few places and no others. */
  const sharesOf = (waiting: readonly Webhook[], busy: (place?: string) => number) => {
    let free = webhookLimits.atOnce - busy();
    return waiting.flatMap((webhook) => {
      // Webhooks that fail get at most half of all places: their receivers may hang.
      const room = webhook.attempts > 0 ? free - webhookLimits.atOnce / 2 : free;
      const places = webhookLimits.atOncePerWebhook - busy(queueOf(webhook));
      const limit = webhook.enabled ? Math.min(places, room) : 0;
      if (limit > 0) free -= limit;
      return limit > 0 || !webhook.enabled ? [{ webhook, limit }] : [];
    });
  };

  /** The state after an attempt. */
  const nextState = (attempt: number, outcome: Outcome): { state: DeliveryState; dueAt: string | null } => {
    if (outcome.ok) return { state: 'delivered', dueAt: null };
    const delay = outcome.statusCode === gone ? undefined : delayAfter(attempt, outcome, random, clock.now());
    if (delay === undefined) return { state: 'dead', dueAt: null };
    return { state: 'retrying', dueAt: instantOf(clock.now() + delay) };
  };

  /**
   * Whether it has failed all these days, and not before and after a sleep of the machine: then there is an attempt in between, as the
   * longest pause between two of them is a day.
   */
  const hasFailedThroughout = async (unit: Unit, webhook: Webhook): Promise<boolean> => {
    const now = millisecondsOf(unit.now);
    return (
      (await unit.one(store.failedBetween(webhook, instantOf(now - failingMs), instantOf(now - dayMs)))) !== undefined
    );
  };

  /** Counts a failure against the webhook, and disables it where it is gone or has done nothing but fail for days. */
  const recordFailure = async (
    unit: Unit,
    { projectId, webhookId, replayed }: Delivery,
    outcome: Outcome,
  ): Promise<void> => {
    const query = replayed
      ? webhookStore.find(projectId, webhookId)
      : webhookStore.markFailing(projectId, webhookId, outcome.error, unit.now);
    const row = await unit.one(query);
    if (row === undefined) return;
    const webhook = webhooks.decode(row);
    const since = webhook.failingSince;
    const isHopeless = !replayed && since !== null && millisecondsOf(unit.now) - millisecondsOf(since) >= failingMs;
    if (!webhook.enabled) await unit.run(store.discard(webhook, unit.now));
    else if (outcome.statusCode === gone) await deps.webhooks.disable(unit, webhook, 'the receiver answered 410');
    else if (isHopeless && (await hasFailedThroughout(unit, webhook)))
      await deps.webhooks.disable(unit, webhook, `nothing but failures for ${webhookLimits.failingDays} days`);
    else if (isHopeless) await unit.one(webhookStore.update(projectId, webhookId, { failingSince: unit.now }));
  };

  /** Records an attempt, unless another process has taken the delivery over meanwhile. */
  const recordAttempt = (delivery: Delivery, outcome: Outcome): Promise<void> =>
    db.work(by(delivery.projectId, delivery.id), async (unit) => {
      const { id, projectId, webhookId, eventId, event } = delivery;
      const attempt = delivery.attempt + 1;
      const { state, dueAt } = nextState(attempt, outcome);
      if ((await unit.run(store.settle(delivery, { state, attempt, dueAt, updatedAt: unit.now }))) === 0) return;
      if (outcome.ok) await unit.run(webhookStore.markWorking(projectId, webhookId));
      else await recordFailure(unit, delivery, outcome);
      const { statusCode, ok, error, durationMs, response } = outcome;
      await unit.run(
        store.insertAttempt({
          id: random.id(),
          projectId,
          webhookId,
          deliveryId: id,
          eventId,
          event,
          attempt,
          state,
          statusCode,
          ok,
          error,
          durationMs,
          nextAttemptAt: dueAt,
          response,
          createdAt: unit.now,
        }),
      );
    });

  const claim: Parameters<typeof createLeasedQueue<Claimed, Outcome>>[1]['claim'] = async (leaseAt, busy) => {
    const rows = await db.all(store.waitingWebhooks({ now: instantOf(clock.now()) }));
    // Each round begins with another webhook, so that all of them get places where these are short.
    turn = rows.length === 0 ? 0 : (turn + 1) % rows.length;
    const waiting = [...rows.slice(turn), ...rows.slice(0, turn)].map((row) => webhooks.decode(row));
    const shares = sharesOf(waiting, busy);
    if (shares.length === 0) return [];
    return db.work(by(null), async (unit) => {
      const claimed: Claimed[] = [];
      for (const { webhook, limit } of shares) {
        if (!webhook.enabled) await unit.run(store.discard(webhook, unit.now));
        else {
          const scope = { project_id: webhook.projectId, webhook_id: webhook.id };
          const taken = await unit.all(store.claim(scope, leaseAt(unit.now), limit));
          claimed.push(...taken.map((row) => ({ webhook, delivery: deliveries.decode(row) })));
        }
      }
      return claimed;
    });
  };

  return createLeasedQueue<Claimed, Outcome>(random, {
    leaseMs: webhookLimits.leaseMs,
    claim,
    queueOf: ({ webhook }) => queueOf(webhook),
    attempt: async ({ webhook, delivery }) => post(await projects.current(delivery.projectId), webhook, delivery),
    settle: ({ delivery }, outcome) => recordAttempt(delivery, outcome),
    onTrouble: ({ delivery }, error) => log.error('webhooks.delivery.failed', { delivery: delivery.id, error }),
  });
}
