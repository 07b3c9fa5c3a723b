import { Failure } from '#src/contract/errors.js';
import { everyEvent, subscribableEvents } from '#src/contract/events.js';
import type { Query } from '#src/platform/db/query.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { DeliveryDraft, EventStore } from './event-store.js';

/** Rows of one unit: events without a subscriber, events that become deliveries, and those deliveries. */
const maxRows = { unsubscribed: 2000, events: 500, deliveries: 1000 } as const;

/** What `*` stands for: the feed carries more. */
const sentToWebhooks: ReadonlySet<string> = new Set(subscribableEvents);

/**
 * Numbers events without gaps and makes a delivery of each for every webhook that subscribes to it. It locks the project's
 * sequence until the commit, so any process may do it, at any time.
 */
export function createFanOut(
  { db, random }: Pick<Runtime, 'db' | 'random'>,
  store: EventStore,
  onNumbered: (projectId: string) => void,
) {
  const drafts = (
    events: readonly { readonly id: string; readonly type: string }[],
    subscribers: readonly { readonly id: string; readonly events: readonly string[] }[],
  ): DeliveryDraft[] =>
    events.flatMap((event) =>
      subscribers
        .filter(({ events: names }) => sentToWebhooks.has(event.type) && isWanted(names, event.type))
        .map((webhook): DeliveryDraft => [random.id(), webhook.id, event.id]),
    );

  /** Whether some webhook subscribed where there were events last. */
  let isSubscribed = true;

  /** Readers of the feed are told after the commit: those of this process, and those of others where the database passes it on. */
  const advance = async (unit: Unit, projectId: string, last: number, made: readonly Query[]): Promise<void> => {
    await unit.together([...made, store.advanceSequence(projectId, last), ...store.notify(projectId)]);
    unit.afterCommit(() => onNumbered(projectId));
  };

  const fanOutSome = (projectId: string): Promise<boolean> =>
    db.work({ projectId, actor: { kind: 'service', id: 'webhooks' }, requestId: '' }, async (unit) => {
      const [[sequence] = [], subscribing = []] = await unit.together([
        store.lockSequence(projectId),
        store.subscribers(projectId),
      ]);
      if (sequence === undefined) {
        for (const query of store.remove(projectId)) await unit.run(query);
        return false;
      }
      const subscribers = subscribing.map(({ id, events }) => ({
        id: String(id),
        events: JSON.parse(String(events)) as string[],
      }));
      const last = Number(sequence.last);
      if (subscribers.length > 0) isSubscribed = true;
      else {
        const count = await unit.run(store.number(projectId, { last, now: unit.now, limit: maxRows.unsubscribed }));
        if (count > 0) await advance(unit, projectId, last + count, []);
        return count === maxRows.unsubscribed;
      }
      const limit = Math.min(maxRows.events, Math.ceil(maxRows.deliveries / subscribers.length));
      const rows = await unit.all(store.numberSome(projectId, { last, now: unit.now, limit }));
      if (rows.length === 0) return false;
      const events = rows
        .map(({ id, type, sequence: number }) => ({ id: String(id), type: String(type), sequence: Number(number) }))
        .sort((a, b) => a.sequence - b.sequence);
      const made = drafts(events, subscribers);
      const inserted = made.length > 0 ? [store.insertDeliveries(projectId, made, unit.now)] : [];
      await advance(unit, projectId, last + rows.length, inserted);
      return true;
    });

  return {
    /** Fans out some events of each project that has any, and tells whether there may be more. */
    run: async (): Promise<boolean> => {
      const projects = await db.all(store.waitingProjects());
      if (projects.length > 0) isSubscribed = false;
      let more = false;
      for (const { id } of projects) {
        if (await fanOutSome(String(id)).catch(isOfNone)) more = true;
      }
      return more;
    },
    /** Whether anybody waits for events, as far as was seen last. */
    hasSubscribers: () => isSubscribed,
  };
}

/** Of a project that was deleted meanwhile the next round removes the events. */
function isOfNone(error: unknown): true {
  if (error instanceof Failure && error.type === 'project_not_found') return true;
  throw error;
}

function isWanted(names: readonly string[], type: string): boolean {
  return names.includes(everyEvent) || names.includes(type);
}
