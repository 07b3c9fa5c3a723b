import { Failure } from '#src/contract/errors.js';
import { feedLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import type { AnswerReader } from '#src/platform/db/answer-reader.js';
import type { Query } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Payloads } from '../outbox/index.js';
import { type EventFilter, type FeedStore, type StoredEvent, toStoredEvent } from './store.js';

/** A page of events in the order of their numbers. */
export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** The number after which the next page starts. */
  readonly cursor: number;
  /** True if there may be more events already. */
  readonly more: boolean;
}

/** Selection of a page: events after a number, or from the first stored event if it is null. */
export interface PageRequest {
  readonly after: number | null;
  readonly limit: number;
  readonly filter: EventFilter;
}

/** All events, with the largest page size. */
export const everything: Pick<PageRequest, 'limit' | 'filter'> = {
  limit: feedLimits.page,
  filter: { types: [], resource: undefined },
};

/** The feed: events of a project by their numbers, without gaps. */
export interface Feed {
  /**
   * Returns as many events as fit into the response, at least one. Throws Failure `general_cursor_not_found` if events after the number were
   * removed, or if the number was never assigned.
   */
  page(reader: AnswerReader, projectId: string, request: PageRequest): Promise<EventPage>;
  /** The number of an event. Also accepts the initial id of a stream, which is a number. Throws Failure `event_not_found`. */
  position(reader: Reader, projectId: string, id: string): Promise<number>;
  /** Throws Failure `general_cursor_not_found` if `page` would. */
  requireKept(reader: Reader, projectId: string, after: number): Promise<void>;
  /** The number before the first event since a time. */
  since(reader: Reader, projectId: string, time: Instant): Promise<number>;
  /** The number before the last `count` events that match a filter. */
  before(reader: Reader, projectId: string, count: number, filter: EventFilter): Promise<number>;
  /** Events whose payload is still the current state: there is no later event of their resource, and it was not deleted. */
  current(reader: Reader, projectId: string, events: readonly StoredEvent[]): Promise<ReadonlySet<StoredEvent>>;
  /** The number of the last event. */
  last(reader: Reader, projectId: string): Promise<number>;
}

/** The initial id of a stream, before its first event: a cursor number. Ids of events are longer. */
const beginning = /^\d{1,16}$/;

/** The numbers of the first stored event and of the last one. */
interface Bounds {
  readonly first: number;
  readonly last: number;
}

/** True if the number was assigned and all events after it are still stored. */
const isKept = (after: number, { first, last }: Bounds) => after <= last && after >= first - 1;

const lostCursor = [
  'general_cursor_not_found',
  {
    message:
      'The cursor is not one of the events that are kept. Events are kept for 30 days; without a cursor the feed begins with the first of them.',
  },
] as const;

interface Deps extends Pick<Runtime, 'config'>, Pick<Payloads, 'openAll'> {
  readonly store: FeedStore;
}

/** Creates the service. */
export function createFeed(
  { config }: Pick<Runtime, 'config'>,
  store: FeedStore,
  { openAll }: Pick<Payloads, 'openAll'>,
): Feed {
  return bind({ config, openAll, store }, { page, position, requireKept, since, before, current, last });
}

async function page(
  deps: Deps,
  reader: AnswerReader,
  projectId: string,
  { after, limit, filter }: PageRequest,
): Promise<EventPage> {
  const { config, store } = deps;
  const { bytes } = reader;
  const bounds = await boundsOf(deps, reader, projectId);
  const start = after ?? bounds.first - 1;
  if (!isKept(start, bounds)) throw new Failure(...lostCursor);
  const rows = await reader.all(store.page(projectId, { after: start, limit, filter, maxBytes: bytes.left }));
  const found = rows.filter(({ data }) => data !== null);
  const [next] = rows;
  if (next !== undefined && found.length === 0) {
    const needed = Number(next.bytes);
    // A payload always fits: it is a resource, and a resource fits into a response.
    if (bytes.left < config.answerMaxBytes)
      bytes.require(Math.max(bytes.left + 1, Math.min(needed, config.answerMaxBytes)));
    // A sealed payload is longer than its text, which fits.
    const alone = { after: start, limit: 1, filter, maxBytes: needed };
    const events = await opened(deps, reader, projectId, await reader.all(store.page(projectId, alone)));
    const size = events.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0);
    bytes.require(size);
    bytes.count(size);
    const cursor = events.at(-1)?.sequence ?? start;
    return { events, cursor, more: cursor < bounds.last };
  }
  const events = await opened(deps, reader, projectId, found);
  const isCut = found.length < rows.length || rows.length === limit;
  const cursor = isCut ? (events.at(-1)?.sequence ?? bounds.last) : bounds.last;
  bytes.count(Number(found.at(-1)?.bytes ?? 0));
  return { events, cursor, more: cursor < bounds.last };
}

async function boundsOf({ store }: Deps, reader: Reader, projectId: string): Promise<Bounds> {
  const row = await reader.one(store.bounds(projectId));
  const last = Number(row?.last ?? 0);
  return { last, first: Number(row?.first ?? last + 1) };
}

async function opened({ openAll }: Deps, reader: Reader, projectId: string, rows: readonly Row[]) {
  const stored = rows.map(toStoredEvent);
  const payloads = await openAll(reader, projectId, stored);
  return stored.map((event, at) => ({ ...event, data: payloads[at] ?? lost(event) }));
}

/** Replaces a payload that cannot be opened: the ids of the document, as after an erasure. */
function lost({ resource }: StoredEvent): string {
  const [, $databaseId, , $collectionId, , $id] = (resource ?? '').split('/');
  return JSON.stringify({ $id, $databaseId, $collectionId, erased: true });
}

async function position(deps: Deps, reader: Reader, projectId: string, id: string): Promise<number> {
  if (beginning.test(id)) {
    if (!isKept(Number(id), await boundsOf(deps, reader, projectId))) throw new Failure('event_not_found');
    return Number(id);
  }
  const row = await reader.one(deps.store.position(projectId, id));
  if (row === undefined) throw new Failure('event_not_found');
  return Number(row.sequence);
}

async function requireKept(deps: Deps, reader: Reader, projectId: string, after: number): Promise<void> {
  if (!isKept(after, await boundsOf(deps, reader, projectId))) throw new Failure(...lostCursor);
}

function since(deps: Deps, reader: Reader, projectId: string, time: Instant): Promise<number> {
  return numberBefore(deps, reader, projectId, deps.store.since(projectId, time));
}

function before(deps: Deps, reader: Reader, projectId: string, count: number, filter: EventFilter): Promise<number> {
  return numberBefore(deps, reader, projectId, deps.store.newest(projectId, filter, count));
}

/** The number before the first event of a query, or the last one if there is none. */
async function numberBefore(deps: Deps, reader: Reader, projectId: string, query: Query): Promise<number> {
  const first = (await reader.one(query))?.first;
  return first === null || first === undefined ? last(deps, reader, projectId) : Number(first) - 1;
}

async function current({ store }: Deps, reader: Reader, projectId: string, events: readonly StoredEvent[]) {
  const kept = events.filter(({ type }) => !type.endsWith('Deleted'));
  const resources = [...new Set(kept.flatMap(({ resource }) => resource ?? []))];
  const rows = resources.length === 0 ? [] : await reader.all(store.latest(projectId, resources));
  const lasts = new Map(rows.map((row) => [row.resource, Number(row.unnumbered) === 0 ? Number(row.last) : null]));
  return new Set(kept.filter(({ resource, sequence }) => lasts.get(resource) === sequence));
}

async function last(deps: Deps, reader: Reader, projectId: string): Promise<number> {
  return (await boundsOf(deps, reader, projectId)).last;
}
