import { everyEvent } from '#src/contract/events.js';
import { toWireInstant } from '#src/contract/shapes.js';
import type { Platform } from '#src/platform/index.js';
import type { DeliveryDraft, EventStore } from './event-store.js';

/** Rows of one unit: events, and deliveries made of them. */
const most = { events: 500, deliveries: 1000 } as const;

interface WaitingEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: string;
}

/**
 * Numbers events without gaps and makes a delivery of each for every webhook that subscribes to it. Whoever does it holds the project's
 * sequence until the commit, so any process may, at any time.
 */
export function createFanOut({ db, random }: Pick<Platform, 'db' | 'random'>, store: EventStore) {
  const drafts = (
    projectId: string,
    events: readonly (WaitingEvent & { readonly sequence: number })[],
    subscribers: readonly { readonly id: string; readonly events: readonly string[] }[],
  ): DeliveryDraft[] =>
    events.flatMap((event) =>
      subscribers
        .filter(({ events: names }) => names.includes(everyEvent) || names.includes(event.type))
        .map((webhook): DeliveryDraft => [random.id(), webhook.id, event.id, headOf(projectId, event)]),
    );

  const fanOutSome = (projectId: string): Promise<boolean> =>
    db.work({ projectId, actor: { kind: 'service', id: 'webhooks' }, requestId: '' }, async (unit) => {
      const sequence = await unit.one(store.lockSequence(projectId));
      if (sequence === undefined) {
        for (const query of store.remove(projectId)) await unit.run(query);
        return false;
      }
      const subscribers = (await unit.all(store.subscribers(projectId))).map(({ id, events }) => ({
        id: String(id),
        events: JSON.parse(String(events)) as string[],
      }));
      const batch = Math.min(most.events, Math.ceil(most.deliveries / Math.max(1, subscribers.length)));
      const rows = await unit.all(store.waiting(projectId, batch));
      if (rows.length === 0) return false;
      const last = Number(sequence.last);
      const events = rows.map(({ id, type, created_at }, index) => ({
        ...{ id: String(id), type: String(type), createdAt: String(created_at), sequence: last + index + 1 },
      }));
      const numbered = events.map(({ id, sequence: number }) => [id, number] as const);
      await unit.run(store.number(numbered, unit.now));
      await unit.run(store.advanceSequence(projectId, last + events.length));
      const made = drafts(projectId, events, subscribers);
      if (made.length > 0) await unit.run(store.insertDeliveries(projectId, made, unit.now));
      return true;
    });

  /** Fans out some events of each project that has any, and tells whether there may be more. */
  return async (): Promise<boolean> => {
    let more = false;
    for (const { id } of await db.all(store.waitingProjects())) {
      if (await fanOutSome(String(id))) more = true;
    }
    return more;
  };
}

/** The body of a delivery up to the event's data, which follows as the text that it is, with a closing brace. */
export function headOf(
  projectId: string,
  { id, type, createdAt, sequence }: WaitingEvent & { readonly sequence: number },
): string {
  const head = JSON.stringify({ id, type, timestamp: toWireInstant(createdAt), sequence, projectId });
  return `${head.slice(0, -1)},"data":`;
}
