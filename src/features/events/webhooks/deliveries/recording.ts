import { webhookLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { createBatcher } from '#src/platform/db/batch.js';
import { byService } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import { type Webhook, type WebhookStore, webhooks } from '../model/store.js';
import { attemptOf, type Outcome } from './outcome.js';
import { delayAfter } from './schedule.js';
import { createStateLog, type StateLog } from './state-log.js';
import type { DeliveryStore } from './store.js';
import type { Delivery, DeliveryState, WebhookStates } from './tables.js';

interface Deps extends Pick<Runtime, 'db' | 'clock' | 'random'> {
  readonly webhooks: WebhookStates;
  readonly store: DeliveryStore;
  readonly webhookStore: WebhookStore;
  readonly states: StateLog;
}

/** A delivery with the outcome of an attempt. */
interface Attempted {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
}

/** Attempts recorded per unit. */
const maxTogether = 64;
const gone = 410;
const dayMs = 86_400_000;
const failingMs = webhookLimits.failingDays * dayMs;

/** Records the outcomes of attempts, unless another process has claimed the delivery since. */
export function createRecording(
  runtime: Pick<Runtime, 'db' | 'clock' | 'random' | 'log'>,
  parts: Pick<Deps, 'webhooks' | 'store' | 'webhookStore'>,
) {
  const deps: Deps = { ...runtime, ...parts, states: createStateLog(runtime) };
  const recordSuccess = createBatcher<Attempted, true>((attempted) => recordSuccesses(deps, attempted), {
    max: maxTogether,
    atOnce: 1,
  });
  return async (delivery: Delivery, outcome: Outcome): Promise<void> => {
    if (outcome.ok) await recordSuccess({ delivery, outcome });
    else await recordFailedAttempt(deps, delivery, outcome);
  };
}

/** Records successes in a batch: unlike failures, they never lead to a retry or disable the webhook. */
async function recordSuccesses(deps: Deps, attempted: readonly Attempted[]): Promise<true[]> {
  const { db, store, webhookStore, states } = deps;
  await db.work(byService('webhooks'), async (unit) => {
    const made = attempted.map(({ delivery }) => delivery);
    // Webhooks are always locked before their deliveries, which avoids deadlocks.
    const [recovered = [], settled = []] = await unit.together([
      webhookStore.markWorking(made),
      store.settleDelivered(made, unit.now),
    ]);
    unit.afterCommit(() => {
      for (const { project_id: projectId, id } of recovered)
        states.working({ projectId: String(projectId), id: String(id) });
    });
    const ids = new Set(settled.map(({ id }) => id));
    for (const { delivery, outcome } of attempted)
      if (ids.has(delivery.id)) appendAttempt(deps, unit, delivery, outcome, { state: 'delivered', dueAt: null });
  });
  return attempted.map(() => true);
}

/** State of a delivery after an attempt. */
interface Next {
  readonly state: DeliveryState;
  readonly dueAt: Instant | null;
}

function appendAttempt({ store, random }: Deps, unit: Unit, delivery: Delivery, outcome: Outcome, next: Next): void {
  const own = { id: random.id(), createdAt: unit.now };
  store.appendAttempt(unit, attemptOf(delivery, outcome, own, { ...next, attempt: delivery.attempt + 1 }));
}

async function recordFailedAttempt(deps: Deps, delivery: Delivery, outcome: Outcome): Promise<void> {
  const { db, store } = deps;
  const { projectId, webhookId: id } = delivery;
  const isDisabled = await db.work(byService('webhooks', projectId, delivery.id), async (unit) => {
    // Webhooks are always locked before their deliveries, which avoids deadlocks.
    if ((await unit.one(store.lockWebhook({ projectId, id }))) === undefined) return false;
    const attempt = delivery.attempt + 1;
    const next = nextState(deps, attempt, outcome);
    const { state, dueAt } = next;
    if ((await unit.run(store.settle(delivery, { state, attempt, dueAt, updatedAt: unit.now }))) === 0) return false;
    appendAttempt(deps, unit, delivery, outcome, next);
    return recordFailure(deps, unit, delivery, outcome);
  });
  if (isDisabled) await deps.webhooks.giveUp(byService('webhooks', projectId), { projectId, id });
}

/** The state after a failed attempt. */
function nextState({ clock, random }: Deps, attempt: number, outcome: Outcome): Next {
  const delay = outcome.statusCode === gone ? undefined : delayAfter(attempt, outcome, random, clock.now());
  if (delay === undefined) return { state: 'dead', dueAt: null };
  return { state: 'retrying', dueAt: instantOf(clock.now() + delay) };
}

/**
 * Records a failure of the webhook. Disables it after a 410 or days of nothing but failures. Returns true if the webhook is disabled, now
 * or before; then the caller gives up its waiting deliveries.
 */
async function recordFailure(
  deps: Deps,
  unit: Unit,
  { projectId, webhookId, replayed }: Delivery,
  outcome: Outcome,
): Promise<boolean> {
  const { webhookStore, states } = deps;
  const query = replayed
    ? webhookStore.find(projectId, webhookId)
    : webhookStore.markFailing(projectId, webhookId, outcome.error, unit.now);
  const row = await unit.one(query);
  if (row === undefined) return false;
  const webhook = webhooks.decode(row);
  // `attempts` counts from the last success. All processes update this row in turn, so only one of them sees 1.
  if (!replayed && webhook.attempts === 1) unit.afterCommit(() => states.failing(webhook, outcome.error));
  const since = webhook.failingSince;
  const isHopeless = !replayed && since !== null && millisecondsOf(unit.now) - millisecondsOf(since) >= failingMs;
  if (!webhook.enabled) return true;
  if (outcome.statusCode === gone) await deps.webhooks.disable(unit, webhook, 'the receiver answered 410');
  else if (isHopeless && (await hasFailedThroughout(deps, unit, webhook)))
    await deps.webhooks.disable(unit, webhook, `nothing but failures for ${webhookLimits.failingDays} days`);
  else {
    if (isHopeless) await unit.one(webhookStore.update(projectId, webhookId, { failingSince: unit.now }));
    return false;
  }
  return true;
}

/**
 * True if an attempt failed in the period before its last day. Retries are at most a day apart, so there is none only if the machine was
 * suspended.
 */
async function hasFailedThroughout({ store }: Deps, unit: Unit, webhook: Webhook): Promise<boolean> {
  const now = millisecondsOf(unit.now);
  const failed = store.failedBetween(webhook, instantOf(now - failingMs), instantOf(now - dayMs));
  return (await unit.one(failed)) !== undefined;
}
