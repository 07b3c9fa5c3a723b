import type { Look } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { feedLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type EventFilter, type FeedStore, type StoredEvent, toStoredEvent } from './store.js';

/** Some events in the order of their numbers. */
export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** The number after which to go on. */
  readonly cursor: number;
  /** Whether there may be more already. */
  readonly more: boolean;
}

/** What is read of the feed: events after a number, from the first that is kept where it is null. */
export interface PageRequest {
  readonly after: number | null;
  readonly limit: number;
  readonly filter: EventFilter;
}

/** Everything, a page at a time. */
export const everything: Pick<PageRequest, 'limit' | 'filter'> = {
  limit: feedLimits.page,
  filter: { types: [], resource: undefined },
};

/** The feed: events of a project by their numbers, without gaps. */
export interface Feed {
  /**
   * Events of at most so many bytes, or the size of the first where that is larger. Throws Failure `general_cursor_not_found` where events
   * after the number were removed, or there were never so many.
   */
  page(reader: Reader, projectId: string, request: PageRequest, maxBytes: number): Promise<Look<EventPage>>;
  /** The number of an event, or that which a stream began with as its id. Throws Failure `event_not_found`. */
  position(reader: Reader, projectId: string, id: string): Promise<number>;
  /** Throws Failure `general_cursor_not_found` where `page` would. */
  demandKept(reader: Reader, projectId: string, after: number): Promise<void>;
  /** The number after which the events since a time come. */
  since(reader: Reader, projectId: string, time: Instant): Promise<number>;
  /** The number after which the last events that a filter selects come, so many of them. */
  before(reader: Reader, projectId: string, count: number, filter: EventFilter): Promise<number>;
  /** The number of the last event. */
  last(reader: Reader, projectId: string): Promise<number>;
}

/** The id that a stream begins with, before its first event: a number as those of cursors; ids of events are longer. */
const beginning = /^\d{1,16}$/;

/** Whether every event after a number is there still, and the number was given already. */
function isKept(after: number, { first, last }: { readonly first: number; readonly last: number }): boolean {
  return after <= last && after >= first - 1;
}

/** Creates the service. */
export function createFeed({ config }: Pick<Runtime, 'config'>, store: FeedStore): Feed {
  const bounds = async (reader: Reader, projectId: string) => {
    const row = await reader.one(store.bounds(projectId));
    const last = Number(row?.last ?? 0);
    return { last, first: Number(row?.first ?? last + 1) };
  };
  return {
    page: async (reader, projectId, { after, limit, filter }, maxBytes) => {
      const { first, last } = await bounds(reader, projectId);
      const start = after ?? first - 1;
      if (!isKept(start, { first, last })) throw new Failure(...lostCursor);
      const rows = await reader.all(store.page(projectId, { after: start, limit, filter, maxBytes }));
      const found = rows.filter(({ data }) => data !== null);
      const [next] = rows;
      if (next !== undefined && found.length === 0)
        // A payload is a resource that could be answered, so it fits into an answer.
        return { bytes: Math.max(maxBytes + 1, Math.min(Number(next.bytes), config.answerMaxBytes)) };
      const events = found.map(toStoredEvent);
      const isCut = found.length < rows.length || rows.length === limit;
      const cursor = isCut ? (events.at(-1)?.sequence ?? last) : last;
      const bytes = Number(found.at(-1)?.bytes ?? 0);
      return { bytes, value: { events, cursor, more: cursor < last } };
    },
    position: async (reader, projectId, id) => {
      if (beginning.test(id)) {
        if (!isKept(Number(id), await bounds(reader, projectId))) throw new Failure('event_not_found');
        return Number(id);
      }
      const row = await reader.one(store.position(projectId, id));
      if (row === undefined) throw new Failure('event_not_found');
      return Number(row.sequence);
    },
    demandKept: async (reader, projectId, after) => {
      if (!isKept(after, await bounds(reader, projectId))) throw new Failure(...lostCursor);
    },
    since: async (reader, projectId, time) => {
      const first = (await reader.one(store.since(projectId, time)))?.first;
      return first === null || first === undefined ? (await bounds(reader, projectId)).last : Number(first) - 1;
    },
    before: async (reader, projectId, count, filter) => {
      const first = (await reader.one(store.newest(projectId, filter, count)))?.first;
      return first === null || first === undefined ? (await bounds(reader, projectId)).last : Number(first) - 1;
    },
    last: async (reader, projectId) => (await bounds(reader, projectId)).last,
  };
}

const lostCursor = [
  'general_cursor_not_found',
  {
    message:
      'The cursor is not one of the events that are kept. Events are kept for 30 days; without a cursor the feed begins with the first of them.',
  },
] as const;
