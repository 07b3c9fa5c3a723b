import { Failure } from '#src/contract/errors.js';
import { subscribableEvents } from '#src/contract/events.js';
import { webhookLimits } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { instantOf } from '#src/platform/clock.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Page } from '#src/platform/list-query/index.js';
import type { Webhook } from '../store.js';
import { toEnvelope } from './envelope.js';
import type { Post } from './post.js';
import type { DeliveryPosition, ReplaySelection } from './replay-store.js';
import { sampleOf } from './samples.js';
import type { DeliveryStore } from './store.js';
import { type Attempt, type Delivery, deliveries, deliveryAttempts } from './tables.js';

/** An attempt as lists have it. */
export interface ListedAttempt extends Attempt {
  /** Whether its delivery is a test. */
  readonly test: boolean;
}

/** Deliveries begun anew in one unit. */
const replayedAtOnce = 500;

const testsStay = 'This is a test delivery, and those are never replayed. Send another test instead.';

/** Looks back at deliveries, begins them anew, and makes single ones to see whether a receiver answers. */
export function createHistory(
  { db, clock, random, config }: Pick<Runtime, 'db' | 'clock' | 'random' | 'config'>,
  store: DeliveryStore,
  post: Post,
) {
  const demandEnabled = ({ enabled }: Webhook): void => {
    if (!enabled) throw new Failure('webhook_disabled');
  };
  /** Begins a delivery anew; false where it waits or is under way, and stays as it is. Throws Failure for none, and for a test. */
  const begin = async (unit: Unit, found: Row | undefined): Promise<{ delivery: Delivery; isBegun: boolean }> => {
    if (found === undefined) throw new Failure('webhook_delivery_not_found');
    const delivery = deliveries.decode(found);
    if (delivery.test) throw new Failure('general_argument_invalid', { message: testsStay });
    return { delivery, isBegun: (await unit.run(store.replay(delivery.id, unit.now))) > 0 };
  };
  return {
    /** Attempts, newest first, and how many there are in all pages, as far as totals are counted. */
    list: async (
      reader: Reader,
      webhook: Webhook,
      page: Page,
      counted: boolean,
    ): Promise<{ total: number; attempts: ListedAttempt[] }> => {
      const rows = await reader.all(store.attempts(webhook, page));
      const total = counted ? await reader.one(store.countAttempts(webhook, config.totalLimit)) : undefined;
      return {
        total: Number(total?.total ?? 0),
        attempts: rows.map(({ last, state, due, test, ...row }) => {
          const attempt = {
            ...deliveryAttempts.decode(row as typeof row & { packed: string }),
            test: Number(test) === 1,
          };
          // What was to be tried again stands where its delivery stands now.
          if (attempt.state !== 'retrying' || attempt.attempt !== Number(last)) return attempt;
          return {
            ...attempt,
            state: String(state),
            nextAttemptAt: state === 'retrying' || state === 'pending' ? String(due) : null,
          };
        }),
      };
    },
    /** Begins a delivery anew, with the same event id; one that waits or is under way stays as it is. */
    replay: (by: AuditContext, webhook: Webhook, id: string): Promise<Delivery> =>
      db.work(by, async (unit) => {
        demandEnabled(webhook);
        const { delivery } = await begin(unit, await unit.one(store.find(webhook, id)));
        const now = await unit.one(store.find(webhook, delivery.id));
        return now === undefined ? delivery : deliveries.decode(now);
      }),
    /** Begins anew the delivery of an event, and tells how many that are: none where it waits or is under way. */
    replayEvent: (by: AuditContext, webhook: Webhook, eventId: string): Promise<number> =>
      db.work(by, async (unit) => {
        demandEnabled(webhook);
        return (await begin(unit, await unit.one(store.findByEvent(webhook, eventId)))).isBegun ? 1 : 0;
      }),
    /** Begins anew what was not delivered since a time, or all; tells how many. Tests are never among them. */
    replaySome: async (by: AuditContext, webhook: Webhook, selection: ReplaySelection): Promise<number> => {
      demandEnabled(webhook);
      // What happens from now on is delivered anyway.
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
        // Others may have begun or claimed some of what was selected meanwhile: the walk goes on behind it.
        const end = rows.length === replayedAtOnce ? rows.at(-1) : undefined;
        if (end === undefined) return replayed;
        last = { createdAt: String(end.created_at), id: String(end.id) };
      }
    },
    /** Posts a made-up event at once, to a disabled webhook too, and keeps how it went; nothing is tried again or held against it. */
    test: async (
      by: AuditContext,
      project: Project,
      webhook: Webhook,
      wanted?: (typeof subscribableEvents)[number],
    ): Promise<ListedAttempt> => {
      const event = wanted ?? subscribableEvents.find((name) => webhook.events.includes(name)) ?? 'documentCreated';
      const createdAt = instantOf(clock.now());
      const eventId = random.id();
      const data = sampleOf(event, createdAt);
      const body = toEnvelope(project.id, { id: eventId, type: event, createdAt, sequence: 0, data });
      const { statusCode, ok, error, durationMs, response } = await post(project, webhook, { eventId, event, body });
      const state = ok ? 'delivered' : 'dead';
      const of = { projectId: project.id, webhookId: webhook.id, eventId, event, attempt: 1, state };
      return db.work(by, async (unit) => {
        // The receiver had seconds to answer in, and somebody else to remove the webhook in.
        if ((await unit.one(store.lockWebhook(webhook))) === undefined) throw new Failure('webhook_not_found');
        const deliveryId = random.id();
        const ended = { dueAt: null, leaseUntil: null, owner: null, fence: 0, replayed: false, test: true };
        await unit.run(
          store.insert({ ...of, ...ended, id: deliveryId, sequence: 0, bytes: 0, createdAt, updatedAt: unit.now }),
        );
        const attempt: Attempt = {
          ...of,
          id: random.id(),
          deliveryId,
          statusCode,
          ok,
          error,
          durationMs,
          nextAttemptAt: null,
          response,
          createdAt: unit.now,
        };
        store.appendAttempt(unit, attempt);
        return { ...attempt, test: true };
      });
    },
    /** What waits for webhooks, for the metrics. */
    backlog: async (
      oldestEvent: () => Promise<string | null>,
    ): Promise<{ waiting: number; oldestSeconds: number; dueSeconds: number }> => {
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
    },
  };
}

/** The page size of lists of attempts. */
export const attemptsInPage = { defaultLimit: 100, max: webhookLimits.page } as const;
