import { webhookLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { instantOf, millisecondsOf } from '#src/platform/clock.js';
import { createBatcher } from '#src/platform/db/batch.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Webhooks } from '../service.js';
import { type Webhook, type WebhookStore, webhooks } from '../store.js';
import type { Outcome } from './outcome.js';
import { delayAfter } from './schedule.js';
import { createStateLog } from './state-log.js';
import type { DeliveryStore } from './store.js';
import type { Attempt, Delivery, DeliveryState } from './tables.js';

interface Deps {
  readonly webhooks: Webhooks;
  readonly store: DeliveryStore;
  readonly webhookStore: WebhookStore;
}

/** A delivery and how its attempt ended. */
interface Attempted {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
}

/** Attempts that are recorded in one unit. */
const maxTogether = 64;
const gone = 410;
const dayMs = 86_400_000;
const failingMs = webhookLimits.failingDays * dayMs;

/** Records how attempts ended, unless another process has taken the delivery over meanwhile. */
export function createRecording(
  { db, clock, random, log }: Pick<Runtime, 'db' | 'clock' | 'random' | 'log'>,
  { store, webhookStore, ...deps }: Deps,
) {
  const states = createStateLog({ clock, log });
  const by = (projectId: string | null, requestId = '') => ({
    projectId,
    requestId,
    actor: { kind: 'service', id: 'webhooks' },
  });

  /** The state after an attempt that failed. */
  const nextState = (attempt: number, outcome: Outcome): { state: DeliveryState; dueAt: string | null } => {
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

  /** Counts a failure against the webhook, disables it where it is gone or has done nothing but fail for days, and tells whether it is disabled. */
  const recordFailure = async (
    unit: Unit,
    { projectId, webhookId, replayed }: Delivery,
    outcome: Outcome,
  ): Promise<boolean> => {
    const query = replayed
      ? webhookStore.find(projectId, webhookId)
      : webhookStore.markFailing(projectId, webhookId, outcome.error, unit.now);
    const row = await unit.one(query);
    if (row === undefined) return false;
    const webhook = webhooks.decode(row);
    // Counted from the last success, in the row that all processes change one after another.
    if (!replayed && webhook.attempts === 1)
      unit.afterCommit(() => states.failing({ projectId, webhookId }, outcome.error));
    const since = webhook.failingSince;
    const isHopeless = !replayed && since !== null && millisecondsOf(unit.now) - millisecondsOf(since) >= failingMs;
    if (!webhook.enabled) return true;
    if (outcome.statusCode === gone) await deps.webhooks.disable(unit, webhook, 'the receiver answered 410');
    else if (isHopeless && (await hasFailedThroughout(unit, webhook)))
      await deps.webhooks.disable(unit, webhook, `nothing but failures for ${webhookLimits.failingDays} days`);
    else {
      if (isHopeless) await unit.one(webhookStore.update(projectId, webhookId, { failingSince: unit.now }));
      return false;
    }
    return true;
  };

  /** Records attempts that succeeded, those of a moment together: there is nothing to decide about them. */
  const recordSuccess = createBatcher<Attempted, true>(
    async (attempted) => {
      await db.work(by(null), async (unit) => {
        const made = attempted.map(({ delivery }) => delivery);
        // The webhooks before the deliveries, as whoever changes both does.
        const [recovered = [], settled = []] = await unit.together([
          webhookStore.markWorking(made),
          store.settleDelivered(made, unit.now),
        ]);
        unit.afterCommit(() => {
          for (const { project_id: projectId, id } of recovered)
            states.working({ projectId: String(projectId), webhookId: String(id) });
        });
        const ids = new Set(settled.map(({ id }) => id));
        for (const { delivery, outcome } of attempted)
          if (ids.has(delivery.id))
            store.appendAttempt(unit, attemptOf(delivery, outcome, 'delivered', null, unit.now));
      });
      return attempted.map(() => true);
    },
    { max: maxTogether, atOnce: 1 },
  );

  const attemptOf = (
    delivery: Delivery,
    { statusCode, ok, error, durationMs, response }: Outcome,
    state: DeliveryState,
    nextAttemptAt: Instant | null,
    createdAt: Instant,
  ): Attempt => ({
    id: random.id(),
    projectId: delivery.projectId,
    webhookId: delivery.webhookId,
    deliveryId: delivery.id,
    eventId: delivery.eventId,
    event: delivery.event,
    attempt: delivery.attempt + 1,
    state,
    statusCode,
    ok,
    error,
    durationMs,
    nextAttemptAt,
    response,
    createdAt,
  });

  /** Records an attempt that failed, unless another process has taken the delivery over meanwhile. */
  const recordFailedAttempt = async ({ delivery, outcome }: Attempted): Promise<void> => {
    const { projectId, webhookId: id } = delivery;
    const isDisabled = await db.work(by(projectId, delivery.id), async (unit) => {
      // Before the delivery, as whoever removes the webhook does.
      if ((await unit.one(store.lockWebhook({ projectId, id }))) === undefined) return false;
      const attempt = delivery.attempt + 1;
      const { state, dueAt } = nextState(attempt, outcome);
      if ((await unit.run(store.settle(delivery, { state, attempt, dueAt, updatedAt: unit.now }))) === 0) return false;
      store.appendAttempt(unit, attemptOf(delivery, outcome, state, dueAt, unit.now));
      return recordFailure(unit, delivery, outcome);
    });
    if (isDisabled) await deps.webhooks.giveUp(by(projectId), { projectId, id });
  };

  return async (delivery: Delivery, outcome: Outcome): Promise<void> => {
    if (outcome.ok) await recordSuccess({ delivery, outcome });
    else await recordFailedAttempt({ delivery, outcome });
  };
}
