// Public interface of the area `events`. It provides the activity of users from the audit log. The streams are built last, as they need
// other areas to check read permissions.

import type { User } from '#src/contract/actor.js';
import type { Runtime } from '#src/platform/index.js';
import type { Lists } from '#src/platform/list-query/index.js';
import type { Installation } from '../installation/index.js';
import { createActivity } from './activity/index.js';
import { createAuditFeature, type SubjectErasure } from './audit/index.js';
import { createFeedFeature, type FeedAccess, openFeed } from './feed/index.js';
import { createEventOutbox, createPayloads, type Payloads } from './outbox/index.js';
import { createReaders, type ReaderSources } from './readers/index.js';
import { createRealtime } from './realtime/index.js';
import { createRefusals } from './refusals/index.js';
import { createWebhooksFeature, type EventErasure, sealedWebhooks } from './webhooks/index.js';

export {
  type Activity,
  type ActivityLog,
  createDeviceReader,
  logListShape,
  toLog,
  unknownDevice,
} from './activity/index.js';
export type { ReaderCredential, ReaderSources } from './readers/index.js';

/** Erases personal data from the audit log and from events. */
export interface PersonErasure {
  readonly subjects: SubjectErasure;
  readonly events: EventErasure;
}

/** Columns of this area with sealed values. */
export const sealedInEvents = Object.values(sealedWebhooks);

interface EventDeps extends Pick<Installation, 'masterKey' | 'projects'> {
  readonly lists: Lists;
}

/** Builds the recording of changes, and the features that read, seal and deliver the records. */
export function createEvents(runtime: Runtime, { masterKey, projects, lists }: EventDeps) {
  createEventOutbox(runtime);
  const payloads = createPayloads(runtime, projects);
  const activity = createActivity(runtime);
  const refusals = createRefusals(runtime, projects);
  const log = createAuditFeature(runtime, masterKey);
  const hooks = createWebhooksFeature(runtime, projects, lists, payloads);
  const feed = openFeed(runtime, payloads);
  hooks.follow(feed.watch.wake, feed.watch.isFollowed);
  return {
    activity,
    recorded: { subjects: log.subjects, events: hooks.erasure },
    audit: log.audit,
    refusals,
    webhooks: hooks.webhooks,
    worker: hooks.worker,
    feed,
    payloads,
    workers: [hooks.worker, refusals.worker, log.worker],
    operations: [...hooks.operations, ...log.operations],
    jobs: [...hooks.jobs, ...log.jobs],
    settles: [hooks.settle],
  };
}

interface StreamDeps extends Pick<Installation, 'projects' | 'serverKeys'> {
  readonly feed: FeedAccess;
  readonly payloads: Payloads;
  readonly sources: ReaderSources;
  readonly printUser: (user: User) => unknown;
}

/** Builds live streams of events: the feed and realtime sockets. A client only gets events it may read at that moment. */
export function createEventStreams(runtime: Runtime, deps: StreamDeps) {
  const { db } = runtime;
  const { feed, payloads, projects, serverKeys, sources, printUser } = deps;
  const readers = createReaders(sources, async (projectId, resources) => {
    const rows = await db.all(feed.store.lastStates(projectId, resources));
    const states = rows.map(({ id, resource, data, audience }) => ({
      id: String(id),
      resource: String(resource),
      data: String(data),
      audience: audience === null ? null : String(audience),
    }));
    const opened = await payloads.openAll(db, projectId, states);
    // Without known permissions, no caller can read it.
    return states.map((state, at) => ({ ...state, data: opened[at] ?? '{}' }));
  });
  const feedFeature = createFeedFeature(runtime, {
    ...feed,
    projects,
    readers,
    keyCounts: (project, key) => serverKeys.counts(project, key.id, 'events.read'),
  });
  const realtime = createRealtime(runtime, { ...feed, projects, readers, printUser });
  return {
    realtime,
    operations: feedFeature.operations,
    stop: () => {
      feed.watch.stop();
      realtime.stop();
    },
  };
}
