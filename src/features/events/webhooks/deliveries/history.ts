import { Failure } from '#src/contract/errors.js';
import { subscribableEvents } from '#src/contract/events.js';
import { webhookLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { PageWindow } from '#src/platform/list-query/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { Webhook } from '../model/store.js';
import { toEnvelope } from './envelope.js';
import { attemptOf } from './outcome.js';
import type { Post } from './post.js';
import type { DeliveryPosition, ReplaySelection } from './replay-store.js';
import { sampleOf } from './samples.js';
import type { DeliveryStore } from './store.js';
import { type Attempt, type Delivery, deliveries, deliveryAttempts } from './tables.js';

/** An attempt in a list. */
export interface ListedAttempt extends Attempt {
  /** True if the delivery is a test. */
  readonly test: boolean;
}

/** The page size of lists of attempts. */
export const attemptsInPage = { defaultLimit: 100, max: webhookLimits.page } as const;

/** Deliveries replayed per unit. */
const replayedAtOnce = 500;

const testsStay = 'This is a test delivery, and those are never replayed. Send another test instead.';

type SubscribableEvent = (typeof subscribableEvents)[number];

/** Waiting deliveries and their ages. */
interface Backlog {
  readonly waiting: number;
  readonly oldestSeconds: number;
  readonly dueSeconds: number;
}

/** The history of deliveries. */
export interface DeliveryHistory {
  /** Attempts, newest first. `total` counts all pages, up to the limit of totals. */
  list(
    reader: Reader,
    webhook: Webhook,
    page: PageWindow,
    counted: boolean,
  ): Promise<{ total: number; attempts: ListedAttempt[] }>;
  /** Replays a delivery with the same event id. A pending or running delivery stays unchanged. */
  replay(by: AuditContext, webhook: Webhook, id: string): Promise<Delivery>;
  /** Replays the delivery of an event. Returns 1, or 0 if it is pending or running. */
  replayEvent(by: AuditContext, webhook: Webhook, eventId: string): Promise<number>;
  /** Replays undelivered deliveries since a time, or all of them. Returns their number. Tests are never replayed. */
  replaySome(by: AuditContext, webhook: Webhook, selection: ReplaySelection): Promise<number>;
  /**
   * Posts a sample event at once, even to a disabled webhook, and stores the result. A test is not retried and does not count as a
   * failure of the webhook.
   */
  test(by: AuditContext, project: Project, webhook: Webhook, wanted?: SubscribableEvent): Promise<ListedAttempt>;
  /** Waiting deliveries, for the metrics. */
  backlog(oldestEvent: () => Promise<string | null>): Promise<Backlog>;
}

interface Deps extends Pick<Runtime, 'db' | 'clock' | 'random' | 'config'> {
  readonly store: DeliveryStore;
  readonly post: Post;
}

/** Lists and replays deliveries, and sends test deliveries. */
export function createHistory(
  runtime: Omit<Deps, 'store' | 'post'>,
  store: DeliveryStore,
  post: Post,
): DeliveryHistory {
  const deps: Deps = { ...runtime, store, post };
  return bind(deps, { list, replay, replayEvent, replaySome, test, backlog });
}

async function list({ store, config }: Deps, reader: Reader, webhook: Webhook, page: PageWindow, counted: boolean) {
  const rows = await reader.all(store.attempts(webhook, page));
  const total = counted ? await reader.one(store.countAttempts(webhook, config.totalLimit)) : undefined;
  return { total: Number(total?.total ?? 0), attempts: rows.map(listedOf) };
}

function listedOf({ last, state, due, test: isTest, ...row }: Row): ListedAttempt {
  const attempt = { ...deliveryAttempts.decode(row as typeof row & { packed: string }), test: Number(isTest) === 1 };
  // If the last attempt is to be retried, shows the current state of its delivery.
  if (attempt.state !== 'retrying' || attempt.attempt !== Number(last)) return attempt;
  return {
    ...attempt,
    state: String(state),
    nextAttemptAt: state === 'retrying' || state === 'pending' ? String(due) : null,
  };
}

function replay(deps: Deps, by: AuditContext, webhook: Webhook, id: string): Promise<Delivery> {
  const { db, store } = deps;
  return db.work(by, async (unit) => {
    requireEnabled(webhook);
    const { delivery } = await begin(deps, unit, await unit.one(store.find(webhook, id)));
    const now = await unit.one(store.find(webhook, delivery.id));
    return now === undefined ? delivery : deliveries.decode(now);
  });
}

function requireEnabled({ enabled }: Webhook): void {
  if (!enabled) throw new Failure('webhook_disabled');
}

/**
 * Replays a delivery. `isBegun` is false if it is pending or running, and stays unchanged. Throws Failure if there is none, and for a
 * test.
 */
async function begin(
  { store }: Deps,
  unit: Unit,
  found: Row | undefined,
): Promise<{ delivery: Delivery; isBegun: boolean }> {
  if (found === undefined) throw new Failure('webhook_delivery_not_found');
  const delivery = deliveries.decode(found);
  if (delivery.test) throw new Failure('general_argument_invalid', { message: testsStay });
  return { delivery, isBegun: (await unit.run(store.replay(delivery.id, unit.now))) > 0 };
}

function replayEvent(deps: Deps, by: AuditContext, webhook: Webhook, eventId: string): Promise<number> {
  return deps.db.work(by, async (unit) => {
    requireEnabled(webhook);
    return (await begin(deps, unit, await unit.one(deps.store.findByEvent(webhook, eventId)))).isBegun ? 1 : 0;
  });
}

async function replaySome({ db, clock, store }: Deps, by: AuditContext, webhook: Webhook, selection: ReplaySelection) {
  requireEnabled(webhook);
  // Excludes later events: they are delivered anyway.
  const bounds = { ...selection, until: instantOf(clock.now()) };
  let replayed = 0;
  let last: DeliveryPosition | undefined;
  for (;;) {
    const { rows, begun } = await db.work(by, async (unit) => {
      const selected = await unit.all(store.selected(webhook, bounds, replayedAtOnce, last));
      const ids = selected.map(({ id }) => String(id));
      return { rows: selected, begun: await unit.run(store.replaySome(ids, selection.all, unit.now)) };
    });
    replayed += begun;
    // Continues after the selected rows: other processes may have replayed or claimed some of them since.
    const end = rows.length === replayedAtOnce ? rows.at(-1) : undefined;
    if (end === undefined) return replayed;
    last = { createdAt: String(end.created_at), id: String(end.id) };
  }
}

async function test(deps: Deps, by: AuditContext, project: Project, webhook: Webhook, wanted?: SubscribableEvent) {
  const { db, clock, random, store, post } = deps;
  const event = wanted ?? subscribableEvents.find((name) => webhook.events.includes(name)) ?? 'documentCreated';
  const createdAt = instantOf(clock.now());
  const eventId = random.id();
  const data = sampleOf(event, createdAt);
  const body = toEnvelope(project.id, { id: eventId, type: event, createdAt, sequence: 0, data });
  const outcome = await post(project, webhook, { eventId, event, body });
  const of = { projectId: project.id, webhookId: webhook.id, eventId, event, sequence: 0, bytes: 0 };
  const ended = { attempt: 1, state: outcome.ok ? 'delivered' : 'dead', dueAt: null, replayed: false, test: true };
  const unleased = { owner: null, leaseUntil: null, fence: 0 };
  return db.work(by, async (unit) => {
    // The webhook may have been removed during the request.
    if ((await unit.one(store.lockWebhook(webhook))) === undefined) throw new Failure('webhook_not_found');
    const delivery = { id: random.id(), ...of, ...ended, ...unleased, createdAt, updatedAt: unit.now };
    await unit.run(store.insert(delivery));
    const attempt = attemptOf(delivery, outcome, { id: random.id(), createdAt: unit.now }, delivery);
    store.appendAttempt(unit, attempt);
    return { ...attempt, test: true };
  });
}

async function backlog({ db, clock, store }: Deps, oldestEvent: () => Promise<string | null>): Promise<Backlog> {
  const row = await db.one(store.backlog(instantOf(clock.now())));
  const unnumbered = await oldestEvent();
  const secondsSince = (...instants: unknown[]) => {
    const known = instants.filter((one) => one !== null && one !== undefined);
    return (clock.now() - Math.min(clock.now(), ...known.map((one) => Date.parse(String(one))))) / 1000;
  };
  return {
    waiting: Number(row?.waiting),
    oldestSeconds: secondsSince(row?.oldest, unnumbered),
    dueSeconds: secondsSince(row?.due, unnumbered),
  };
}
