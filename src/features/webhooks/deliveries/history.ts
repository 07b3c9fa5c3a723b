import { Failure } from '#src/contract/errors.js';
import { everyEvent, type subscribableEvents } from '#src/contract/events.js';
import { webhookLimits } from '#src/contract/limits.js';
import type { Page } from '#src/contract/paging.js';
import type { Project } from '#src/contract/project.js';
import { instantOf } from '#src/platform/clock.js';
import type { By } from '#src/platform/db/ledger.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Platform } from '#src/platform/index.js';
import type { Webhook } from '../store.js';
import { headOf } from './fan-out.js';
import type { Post } from './post.js';
import {
  type Attempt,
  type Delivery,
  type DeliveryStore,
  deliveries,
  deliveryAttempts,
  type ReplaySelection,
} from './store.js';

/** Deliveries begun anew in one unit. */
const replayedAtOnce = 500;

/** Looks back at deliveries, begins them anew, and makes single ones to see whether a receiver answers. */
export function createHistory(
  { db, clock, random, config }: Pick<Platform, 'db' | 'clock' | 'random' | 'config'>,
  store: DeliveryStore,
  post: Post,
) {
  const demandEnabled = ({ enabled }: Webhook): void => {
    if (!enabled) throw new Failure('webhook_disabled');
  };
  return {
    /** Attempts, newest first, and how many there are in all pages, as far as totals are counted. */
    list: async (
      reader: Reader,
      webhook: Webhook,
      page: Page,
      counted: boolean,
    ): Promise<{ total: number; attempts: Attempt[] }> => {
      const rows = await reader.all(store.attempts(webhook, page));
      const total = counted ? await reader.one(store.countAttempts(webhook, config.totalLimit)) : undefined;
      return {
        total: Number(total?.total ?? 0),
        attempts: rows.map(({ last, state, due, ...row }) => {
          const attempt = deliveryAttempts.decode(row as typeof row & { packed: string });
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
    replay: (by: By, webhook: Webhook, id: string): Promise<Delivery> =>
      db.work(by, async (unit) => {
        demandEnabled(webhook);
        const row = await unit.one(store.find(webhook, id));
        if (row === undefined) throw new Failure('webhook_delivery_not_found');
        const delivery = deliveries.decode(row);
        await unit.run(store.replay(delivery.id, unit.now));
        const now = await unit.one(store.find(webhook, delivery.id));
        return now === undefined ? delivery : deliveries.decode(now);
      }),
    /** Begins anew the delivery of an event, or all that were given up since a time; tells how many. */
    replaySome: async (by: By, webhook: Webhook, selection: ReplaySelection): Promise<number> => {
      demandEnabled(webhook);
      if ('event' in selection && (await db.one(store.hasEvent(webhook, selection.event))) === undefined)
        throw new Failure('webhook_delivery_not_found');
      let replayed = 0;
      for (;;) {
        const some = await db.work(by, (unit) =>
          unit.run(store.replaySome(webhook, selection, unit.now, replayedAtOnce)),
        );
        replayed += some;
        if (some < replayedAtOnce) return replayed;
      }
    },
    /** Posts a made-up event at once, to a disabled webhook too, and keeps how it went; nothing is tried again or held against it. */
    test: async (
      by: By,
      project: Project,
      webhook: Webhook,
      wanted?: (typeof subscribableEvents)[number],
    ): Promise<Attempt> => {
      const event = wanted ?? webhook.events.find((name) => name !== everyEvent) ?? 'documentCreated';
      const createdAt = instantOf(clock.now());
      const eventId = random.id();
      const body = `${headOf(project.id, { id: eventId, type: event, createdAt, sequence: 0 })}{"test":true}}`;
      const { statusCode, ok, error, durationMs, response } = await post(project, webhook, { eventId, event, body });
      const state = ok ? 'delivered' : 'dead';
      const of = { projectId: project.id, webhookId: webhook.id, eventId, event, attempt: 1, state };
      return db.work(by, async (unit) => {
        const deliveryId = random.id();
        const free = { dueAt: null, owner: null, fence: 0, replayed: false };
        await unit.run(store.insert({ ...of, ...free, id: deliveryId, body, createdAt, updatedAt: unit.now }));
        const attempt: Attempt = {
          ...{ ...of, id: random.id(), deliveryId, statusCode, ok, error, durationMs, nextAttemptAt: null, response },
          createdAt: unit.now,
        };
        await unit.run(store.insertAttempt(attempt));
        return attempt;
      });
    },
    /** What waits for webhooks, for the metrics. */
    backlog: async (oldestEvent: () => Promise<string | null>): Promise<{ waiting: number; oldestSeconds: number }> => {
      const row = await db.one(store.backlog());
      const instants = [row?.oldest ?? null, await oldestEvent()].filter((one) => one !== null);
      const oldest = Math.min(clock.now(), ...instants.map((one) => Date.parse(String(one))));
      return { waiting: Number(row?.waiting), oldestSeconds: (clock.now() - oldest) / 1000 };
    },
  };
}

/** The page size of lists of attempts. */
export const attemptsInPage = { usual: 100, most: webhookLimits.page } as const;
