import { Failure } from '#src/contract/errors.js';
import { everyEvent, subscribableEvents } from '#src/contract/events.js';
import { byService } from '#src/platform/db/outbox.js';
import type { Query } from '#src/platform/db/query.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { DeliveryDraft, EventStore } from './event-store.js';

/** Maximum rows per unit: events without subscribers, events with deliveries, and those deliveries. */
const maxRows = { unsubscribed: 2000, events: 500, deliveries: 1000 } as const;

/** Events that `*` includes. The feed has more. */
const sentToWebhooks: ReadonlySet<string> = new Set(subscribableEvents);

/**
 * Numbers events without gaps and creates a delivery for each webhook that subscribes to them. Locks the project's sequence until the
 * commit, so any process may run it at any time.
 */
export interface FanOut {
  /** Fans out events of each project. Returns true if there may be more. */
  run(): Promise<boolean>;
  /** True if the last run found subscribers. */
  hasSubscribers(): boolean;
}

interface Deps extends Pick<Runtime, 'db' | 'random'> {
  readonly store: EventStore;
  readonly onNumbered: (projectId: string) => void;
  /** `isSubscribed` is true if a webhook subscribed in one of the last projects with events. */
  readonly state: { isSubscribed: boolean };
}

/** Creates the fan-out of a process. */
export function createFanOut(
  { db, random }: Pick<Runtime, 'db' | 'random'>,
  store: EventStore,
  onNumbered: (projectId: string) => void,
): FanOut {
  const deps: Deps = { db, random, store, onNumbered, state: { isSubscribed: true } };
  return { run: () => run(deps), hasSubscribers: () => deps.state.isSubscribed };
}

async function run(deps: Deps): Promise<boolean> {
  const projects = await deps.db.all(deps.store.waitingProjects());
  if (projects.length > 0) deps.state.isSubscribed = false;
  let more = false;
  for (const { id } of projects) {
    if (await fanOutSome(deps, String(id)).catch(isOfNone)) more = true;
  }
  return more;
}

function fanOutSome(deps: Deps, projectId: string): Promise<boolean> {
  const { db, store, random, state } = deps;
  return db.work(byService('webhooks', projectId), async (unit) => {
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
    if (subscribers.length > 0) state.isSubscribed = true;
    else {
      const count = await unit.run(store.number(projectId, { last, now: unit.now, limit: maxRows.unsubscribed }));
      if (count > 0) await advance(deps, unit, projectId, last + count, []);
      return count === maxRows.unsubscribed;
    }
    const limit = Math.min(maxRows.events, Math.ceil(maxRows.deliveries / subscribers.length));
    const rows = await unit.all(store.numberSome(projectId, { last, now: unit.now, limit }));
    if (rows.length === 0) return false;
    const drafts = rows
      .map(({ id, type, sequence: number }) => ({ id: String(id), type: String(type), sequence: Number(number) }))
      .sort((a, b) => a.sequence - b.sequence)
      .flatMap((event) =>
        subscribers
          .filter(({ events }) => sentToWebhooks.has(event.type) && isWanted(events, event.type))
          .map((webhook): DeliveryDraft => [random.id(), webhook.id, event.id]),
      );
    const inserted = drafts.length > 0 ? [store.insertDeliveries(projectId, drafts, unit.now)] : [];
    await advance(deps, unit, projectId, last + rows.length, inserted);
    return true;
  });
}

/** Writes the numbers. Notifies readers of the feed after the commit, in other processes only if the database supports it. */
async function advance(
  { store, onNumbered }: Deps,
  unit: Unit,
  projectId: string,
  last: number,
  made: readonly Query[],
): Promise<void> {
  await unit.together([...made, store.advanceSequence(projectId, last), ...store.notify(projectId)]);
  unit.afterCommit(() => onNumbered(projectId));
}

/** Ignores a deleted project: the next round removes its events. */
function isOfNone(error: unknown): true {
  if (error instanceof Failure && error.type === 'project_not_found') return true;
  throw error;
}

function isWanted(names: readonly string[], type: string): boolean {
  return names.includes(everyEvent) || names.includes(type);
}
