import { Failure } from '#src/contract/errors.js';
import type { EventStream } from '#src/contract/event-stream.js';
import { feedLimits } from '#src/contract/limits.js';
import { type Call, implement } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import { Quota } from '#src/platform/admission/quota.js';
import { readAnswer } from '#src/platform/db/answer-reader.js';
import type { Runtime } from '#src/platform/index.js';
import type { Projects } from '../../installation/index.js';
import type { Payloads } from '../outbox/index.js';
import type { Readers } from '../readers/index.js';
import { toEnvelope } from '../webhooks/index.js';
import { feedApi } from './api.js';
import { createReaderGauge } from './metrics.js';
import { createFeed, type EventPage, type Feed } from './service.js';
import { createSignal } from './signal.js';
import { createFeedStore, type FeedStore } from './store.js';
import { createStreams, type OpenStream } from './stream.js';
import { createEventWatch, type EventWatch } from './watch.js';

export { eventShape, feedApi } from './api.js';
export { everything, type Feed } from './service.js';
export type { StoredEvent } from './store.js';
export type { EventWatch } from './watch.js';

/** The feed as used by other features. */
export interface FeedAccess {
  readonly feed: Feed;
  readonly store: FeedStore;
  readonly watch: EventWatch;
}

/** Builds the feed and its wake-up of readers. */
export function openFeed(runtime: Pick<Runtime, 'db' | 'sql' | 'driver' | 'config'>, payloads: Payloads): FeedAccess {
  const store = createFeedStore(runtime.sql);
  return { store, feed: createFeed(runtime, store, payloads), watch: createEventWatch(runtime, store) };
}

interface Deps extends FeedAccess {
  readonly projects: Projects;
  readonly readers: Readers;
  readonly keyCounts: Parameters<typeof createStreams>[1]['keyCounts'];
}

type FeedCall = Call<typeof feedApi.list>;

/** Creates the slots of waiting and streaming readers. Each uses a connection and memory for a long time. */
function createReaderSlots(): Quota {
  const { readers: all, readersOfAccount: ofOwner, retrySeconds: retryAfter } = feedLimits;
  return new Quota({
    all,
    ofOwner,
    refuse: (bound) =>
      new Failure(bound === 'all' ? 'general_unavailable' : 'general_rate_limit_exceeded', { retryAfter }),
  });
}

/** Builds the HTTP feed: pages for backends, and a stream for backends and users. */
export function createFeedFeature(runtime: Pick<Runtime, 'db' | 'clock' | 'config' | 'metrics'>, deps: Deps) {
  const { db, clock } = runtime;
  const { feed, watch } = deps;
  const slots = createReaderSlots();
  const open = createStreams(runtime, deps);
  createReaderGauge(runtime, () => slots.held);

  const pageOf = ({ project, query, request }: FeedCall, after: number | null): Promise<EventPage> => {
    const { limit, types, resource } = query;
    return readAnswer(db, request, (reader) =>
      feed.page(reader, project.id, { after, limit, filter: { types, resource } }),
    );
  };
  const operations = implement(feedApi, {
    list: async (call) => {
      const { actor, request, query } = call;
      if (request.eventStream !== undefined) return openStream(call, { feed, db, slots, open });
      if (actor.kind === 'user') throw new Failure(...streamOnly);
      const first = await pageOf(call, query.cursor === undefined ? null : Number(query.cursor));
      const page =
        first.events.length > 0 || query.wait === 0
          ? first
          : await waitFor(call, first, { watch, slots, clock, read: (after) => pageOf(call, after) });
      if (!(await stillCounts(call, deps)))
        throw new Failure('general_unauthorized_scope', {
          message: 'The server key is no longer valid for this feed.',
        });
      return toReply(call.project.id, page);
    },
  });
  return { operations };
}

/** Checks a key again after a wait: it may have been revoked. */
async function stillCounts({ project, actor, query }: FeedCall, { keyCounts }: Deps): Promise<boolean> {
  return query.wait === 0 || actor.kind !== 'key' || keyCounts(project, actor);
}

/** Delays an empty response until there is a matching event, the wait ends, the client disconnects or the server stops. */
async function waitFor(
  { project, query, request }: FeedCall,
  first: EventPage,
  {
    watch,
    slots,
    clock,
    read,
  }: { watch: EventWatch; slots: Quota; clock: Runtime['clock']; read: (after: number) => Promise<EventPage> },
): Promise<EventPage> {
  const until = clock.monotonic() + query.wait * 1000;
  const leave = slots.hold(request.reading.account);
  const gone = new AbortController();
  const forget = request.reading.waiter.onGone(() => gone.abort());
  const signal = createSignal([watch.ended, gone.signal]);
  const unfollow = watch.follow(project.id, signal.raise, first.cursor);
  try {
    let page = first;
    while (page.events.length === 0 && clock.monotonic() < until && !signal.isOver()) {
      await signal.wait(until - clock.monotonic());
      page = await read(page.cursor);
    }
    return page;
  } finally {
    unfollow();
    signal.close();
    forget();
    leave();
  }
}

async function openStream(
  { project, actor, query, request }: FeedCall,
  deps: { feed: Feed; db: Runtime['db']; slots: Quota; open: OpenStream },
): Promise<EventStream> {
  const { feed, db, slots, open } = deps;
  const lastId = request.eventStream?.lastEventId ?? query.lastEventId;
  const { types, resource } = query;
  const past = await feed.last(db, project.id);
  const after = await startOf(lastId, query.cursor, { feed, db, projectId: project.id });
  const leave = slots.hold(request.reading.account);
  return open({ project, actor, reading: request.reading, filter: { types, resource }, after, past }, leave);
}

/**
 * The start of a stream. Throws Failure before the stream opens: an open one could only end, and its client would reconnect with the same
 * number.
 */
async function startOf(
  lastId: string | undefined,
  cursor: string | undefined,
  { feed, db, projectId }: { feed: Feed; db: Runtime['db']; projectId: string },
): Promise<number> {
  if (lastId !== undefined) return feed.position(db, projectId, lastId);
  if (cursor === undefined) return feed.last(db, projectId);
  await feed.requireKept(db, projectId, Number(cursor));
  return Number(cursor);
}

function toReply(projectId: string, { events, cursor, more }: EventPage): RawJson {
  const texts = events.map((event, at) => `${at === 0 ? '' : ','}${toEnvelope(projectId, event)}`);
  return new RawJson(['{"events":[', ...texts, `],"cursor":"${cursor}","more":${more}}`]);
}

const streamOnly = [
  'general_unauthorized_scope',
  { message: 'Users read events as a stream only: send the header Accept: text/event-stream.' },
] as const;
