import { webhookLimits } from '#src/contract/limits.js';
import { Quota } from '#src/platform/admission/quota.js';
import { byService } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { createLeasedQueue } from '#src/platform/jobs/leased-queue.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../../../installation/index.js';
import type { Payloads } from '../../outbox/index.js';
import { type Webhook, type WebhookStore, webhooks } from '../model/store.js';
import type { Share } from './claim-store.js';
import { toEnvelope } from './envelope.js';
import { damaged, type Outcome } from './outcome.js';
import type { Post } from './post.js';
import { createRecording } from './recording.js';
import type { DeliveryStore } from './store.js';
import { type Delivery, deliveries, type WebhookStates } from './tables.js';

interface Deps extends Pick<Runtime, 'db' | 'clock'> {
  readonly projects: Projects;
  readonly payloads: Payloads;
  readonly webhooks: WebhookStates;
  readonly post: Post;
  readonly store: DeliveryStore;
  readonly webhookStore: WebhookStore;
  /** Bytes of long bodies being sent, per webhook. */
  readonly longBodies: Quota;
  /** `turn` is the index of the webhook that the last claim began with. */
  readonly state: { turn: number };
}

/** A claimed delivery, its webhook at that time, and the stored payload of its event. */
interface Claimed {
  readonly webhook: Webhook;
  readonly delivery: Delivery;
  readonly data: string;
}

const queueOf = ({ projectId, id }: Pick<Webhook, 'projectId' | 'id'>) => `${projectId}/${id}`;

type Claim = Parameters<typeof createLeasedQueue<Claimed, Outcome>>[1]['claim'];
type LeaseAt = Parameters<Claim>[0];
type Busy = Parameters<Claim>[1];

/** Delivers due events. A delivery made twice, as a process died, has the same event id both times. */
export function createDeliveries(
  runtime: Pick<Runtime, 'db' | 'clock' | 'random' | 'log'>,
  parts: Omit<Deps, 'db' | 'clock' | 'longBodies' | 'state'>,
) {
  const { longAtOnce: all, longAtOncePerWebhook: ofOwner } = webhookLimits;
  const longBodies = new Quota({ all, ofOwner });
  const deps: Deps = { ...runtime, ...parts, longBodies, state: { turn: 0 } };
  const record = createRecording(runtime, parts);
  return createLeasedQueue<Claimed, Outcome>(runtime.random, {
    leaseMs: webhookLimits.leaseMs,
    claim: (leaseAt, busy) => claim(deps, leaseAt, busy),
    queueOf: ({ webhook }) => queueOf(webhook),
    attempt: async (claimed) => {
      const [queue, { bytes }] = [queueOf(claimed.webhook), claimed.delivery];
      if (bytes <= webhookLimits.longBytes) return attempt(deps, claimed);
      longBodies.force(queue, bytes);
      return attempt(deps, claimed).finally(() => longBodies.give(queue, bytes));
    },
    recordOutcome: ({ delivery }, outcome) => record(delivery, outcome),
    onTrouble: ({ delivery }, error) => runtime.log.error('webhooks.delivery.failed', { delivery: delivery.id, error }),
  });
}

async function claim(deps: Deps, leaseAt: LeaseAt, busy: Busy): Promise<readonly Claimed[]> {
  const { db, clock, store, state } = deps;
  const rows = await db.all(store.waitingWebhooks({ now: instantOf(clock.now()) }));
  // Each round starts with another webhook, so that all of them get slots if these are scarce.
  state.turn = rows.length === 0 ? 0 : (state.turn + 1) % rows.length;
  const waiting = [...rows.slice(state.turn), ...rows.slice(0, state.turn)].map((row) => webhooks.decode(row));
  const disabled = waiting.filter(({ enabled }) => !enabled);
  const enabled = waiting.filter((webhook) => webhook.enabled);
  const shares = sharesOf(deps, enabled, busy);
  if (disabled.length + shares.length === 0) return [];
  return db.work(byService('webhooks'), async (unit) => {
    for (const webhook of disabled) await deps.webhooks.giveUpSome(unit, webhook);
    return shares.length === 0 ? [] : claimShares(deps, unit, leaseAt, shares, enabled);
  });
}

/** Splits free slots and bytes among webhooks. Limits each webhook, so that a hanging receiver cannot block others. */
function sharesOf({ longBodies }: Deps, waiting: readonly Webhook[], busy: Busy): Share[] {
  let free = webhookLimits.atOnce - busy();
  return waiting.flatMap((webhook): Share[] => {
    // Failing webhooks get at most half of all slots and bytes, as their receivers may hang.
    const isFailing = webhook.attempts > 0;
    const room = isFailing ? free - webhookLimits.atOnce / 2 : free;
    const bytes = isFailing ? longBodies.left() - webhookLimits.longAtOnce / 2 : longBodies.left();
    const queue = queueOf(webhook);
    const limit = Math.min(webhookLimits.atOncePerWebhook - busy(queue), room);
    if (limit <= 0) return [];
    free -= limit;
    return [{ webhook, limit, longBytes: Math.min(longBodies.left(queue), bytes) }];
  });
}

/** Claims deliveries of these webhooks. Discards those with a deleted event. */
async function claimShares(
  { store, longBodies, webhooks: states }: Deps,
  unit: Unit,
  leaseAt: LeaseAt,
  shares: readonly Share[],
  waiting: readonly Webhook[],
): Promise<Claimed[]> {
  const [claimed = [], changes = []] = await unit.together([
    store.claim(shares, longBodies.left(), leaseAt(unit.now)),
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
    const { projectId, webhookId } = delivery;
    const queue = queueOf({ projectId, id: webhookId });
    let webhook = byQueue.get(queue);
    if (webhook === undefined) continue;
    if ((changedAt.get(queue) ?? webhook.updatedAt) !== webhook.updatedAt) {
      // The webhook was changed after it was read. Events after the change must use the new version.
      webhook = await states.get(unit, projectId, webhookId);
      byQueue.set(queue, webhook);
      changedAt.delete(queue);
    }
    // The event was deleted by SQL.
    if (data === null) await unit.run(store.settle(delivery, { state: 'discarded', dueAt: null, updatedAt: unit.now }));
    else taken.push({ webhook, delivery, data: String(data) });
  }
  return taken;
}

async function attempt({ projects, payloads, post }: Deps, claimed: Claimed): Promise<Outcome> {
  const { webhook, delivery, data: stored } = claimed;
  const { projectId, eventId: id, event: type, createdAt, sequence } = delivery;
  const project = await projects.current(projectId);
  const data = payloads.open(project, { id, data: stored });
  if (data === undefined) return damaged;
  const body = toEnvelope(projectId, { id, type, createdAt, sequence, data });
  return post(project, webhook, { eventId: id, event: type, body });
}
