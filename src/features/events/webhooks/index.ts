import { auditContextOf, type Call, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { createWorker, type Worker } from '#src/platform/jobs/worker.js';
import { type Lists, listRequestOf, parsePage } from '#src/platform/list-query/index.js';
import type { Projects } from '../../installation/index.js';
import type { Payloads } from '../outbox/index.js';
import { webhooksApi } from './api.js';
import { createDeliveries } from './deliveries/delivery.js';
import { createEventErasure } from './deliveries/erasure.js';
import { createEventStore } from './deliveries/event-store.js';
import { createFanOut, type FanOut } from './deliveries/fan-out.js';
import { attemptsInPage, createHistory, type DeliveryHistory } from './deliveries/history.js';
import { createDeliveryMetrics } from './deliveries/metrics.js';
import { createPost } from './deliveries/post.js';
import { createDeliveryStore } from './deliveries/store.js';
import { createDeliverySettling, createWebhookJobs } from './jobs.js';
import { createWebhookStore } from './model/store.js';
import { createWebhooks, type Webhooks } from './service.js';
import { toAttempt, toDelivery, toWebhook } from './view.js';

export { webhooksApi } from './api.js';
export { toEnvelope } from './deliveries/envelope.js';
export type { EventErasure } from './deliveries/erasure.js';
export { idsIn } from './deliveries/erasure.js';
export { numberedChannel } from './deliveries/event-store.js';
export { type HeaderCheck, isSigningSecret, type ReceivedDelivery, verifyDelivery } from './deliveries/verification.js';
export { sealedWebhooks } from './model/store.js';

/** Delay before numbering events while no webhook or reader waits for them, in milliseconds. */
const unsubscribedMs = 100;

/** Builds webhooks: their management and the delivery of events. */
export function createWebhooksFeature(runtime: Runtime, projects: Projects, lists: Lists, payloads: Payloads) {
  const { db, sql } = runtime;
  const metrics = createDeliveryMetrics(runtime);
  const stores = {
    store: createWebhookStore(sql),
    deliveries: createDeliveryStore(sql),
    events: createEventStore(sql),
  };
  const post = createPost(runtime, metrics);
  const webhooks = createWebhooks(runtime, stores, lists);
  const history = createHistory(runtime, stores.deliveries, post);
  const numbered: ((projectId: string) => void)[] = [];
  const fanOut = createFanOut(runtime, stores.events, (projectId) => {
    for (const listener of numbered) listener(projectId);
  });
  /** True if readers in this process wait for events. */
  let isFollowed = () => false;
  const parts = { projects, payloads, webhooks, post, store: stores.deliveries, webhookStore: stores.store };
  const worker = createEventWorker(runtime, fanOut, parts);
  db.onAnnounced(() => worker.nudge(fanOut.hasSubscribers() || isFollowed() ? undefined : unsubscribedMs));
  const oldestEvent = async () => (await db.one(stores.events.oldestWaiting()))?.oldest?.toString() ?? null;
  const readBacklog = () => history.backlog(oldestEvent);
  runtime.metrics.beforeRender(async () => {
    const { waiting, oldestSeconds, dueSeconds } = await readBacklog();
    metrics.backlog(waiting, oldestSeconds, dueSeconds);
  });
  projects.emptiedBy(webhooks.emptyProject);
  projects.beforeRemoval(async (unit, projectId) => {
    for (const query of stores.events.remove(projectId)) await unit.run(query);
  });
  return {
    webhooks: { ...webhooks, replayEvent: history.replayEvent, replaySome: history.replaySome, backlog: readBacklog },
    worker,
    erasure: createEventErasure(runtime, payloads),
    /** Registers a listener for projects with newly numbered events. `isUrgent` returns true if readers wait for them. */
    follow: (listener: (projectId: string) => void, isUrgent: () => boolean) => {
      numbered.push(listener);
      isFollowed = isUrgent;
    },
    jobs: createWebhookJobs(runtime, worker, stores),
    settle: createDeliverySettling(runtime, stores.deliveries),
    operations: operationsOf(runtime, webhooks, history, worker),
  };
}

/** Numbers new events and begins the deliveries that are due. */
function createEventWorker(runtime: Runtime, fanOut: FanOut, parts: Parameters<typeof createDeliveries>[1]): Worker {
  const deliveries = createDeliveries(runtime, parts);
  /** True if there may be unnumbered events. A free delivery slot does not imply new events. */
  let mayHaveEvents = true;
  const loop = createWorker({
    round: async (again) => {
      const isAsked = mayHaveEvents;
      mayHaveEvents = false;
      if (isAsked && (await fanOut.run())) mayHaveEvents = true;
      await deliveries.begin(again);
      return mayHaveEvents;
    },
    idle: deliveries.idle,
    onTrouble: (error) => runtime.log.error('webhooks.failed', { error }),
  });
  const nudge = (afterMs?: number): void => {
    mayHaveEvents = true;
    loop.nudge(afterMs);
  };
  return { ...loop, nudge };
}

function operationsOf({ db }: Runtime, webhooks: Webhooks, history: DeliveryHistory, worker: Worker) {
  const named = ({ project, params }: Pick<Call<typeof webhooksApi.get>, 'project' | 'params'>) =>
    webhooks.get(db, project.id, params.webhookId);
  const rotate = async (call: Call<typeof webhooksApi.rotate | typeof webhooksApi.rotateByPatch>) => {
    const { secret, overlap } = call.body;
    const rotated = await db.work(auditContextOf(call), (unit) =>
      webhooks.rotate(unit, call.project, call.params.webhookId, { secret, overlapSeconds: overlap }),
    );
    return toWebhook(rotated.webhook, rotated.secret);
  };
  return implement(webhooksApi, {
    create: async (call) => {
      const { webhookId: id, ...input } = call.body;
      const made = await db.work(auditContextOf(call), (unit) => webhooks.create(unit, call.project, { id, ...input }));
      return toWebhook(made.webhook, made.secret);
    },
    list: async ({ project, query, request }) => {
      const { total, webhooks: found } = await webhooks.list(project.id, listRequestOf({ query, request }));
      return { total, webhooks: found.map((webhook) => toWebhook(webhook)) };
    },
    get: async (call) => toWebhook(await named(call)),
    update: async (call) => {
      const by = auditContextOf(call);
      const changed = await db.work(by, (unit) =>
        webhooks.update(unit, call.project, call.params.webhookId, call.body),
      );
      if (!changed.enabled) await webhooks.giveUp(by, changed);
      return toWebhook(changed);
    },
    delete: (call) => webhooks.remove(auditContextOf(call), call.project.id, call.params.webhookId),
    rotate,
    rotateByPatch: rotate,
    deliveries: async (call) => {
      const page = parsePage(call.query.queries, attemptsInPage);
      const { total, attempts } = await history.list(db, await named(call), page, call.query.total);
      return { total, deliveries: attempts.map(toAttempt) };
    },
    test: async (call) => ({
      delivery: toAttempt(await history.test(auditContextOf(call), call.project, await named(call), call.body.event)),
    }),
    replay: async (call) => {
      const delivery = await history.replay(auditContextOf(call), await named(call), call.params.deliveryId);
      worker.nudge();
      return toDelivery(delivery);
    },
  });
}
