// What the wing `events` offers the others: reading back what the audit log knows of a user. Its streams are built last, as they ask the
// other wings who may read.

import type { User } from '#src/contract/actor.js';
import type { Runtime } from '#src/platform/index.js';
import type { Lists } from '#src/platform/list-query/index.js';
import type { Installation, Projects } from '../installation/index.js';
import { createActivity } from './activity/index.js';
import { createAuditFeature, type SubjectErasure } from './audit/index.js';
import { createFeedFeature, type FeedAccess, openFeed } from './feed/index.js';
import { createEventOutbox } from './outbox/index.js';
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

/** Takes persons out of what has happened. */
export interface PersonErasure {
  readonly subjects: SubjectErasure;
  readonly events: EventErasure;
}

/** Columns of this wing that hold sealed values. */
export const sealedInEvents = Object.values(sealedWebhooks);

/** Builds what records changes, and what reads them back and tells others. */
export function createEvents(runtime: Runtime, { projects, lists }: { projects: Projects; lists: Lists }) {
  createEventOutbox(runtime);
  const activity = createActivity(runtime);
  const refusals = createRefusals(runtime);
  const log = createAuditFeature(runtime);
  const hooks = createWebhooksFeature(runtime, projects, lists);
  const feed = openFeed(runtime);
  hooks.follow(feed.watch.wake, feed.watch.isFollowed);
  return {
    activity,
    recorded: { subjects: log.subjects, events: hooks.erasure },
    audit: log.audit,
    refusals,
    webhooks: hooks.webhooks,
    worker: hooks.worker,
    feed,
    workers: [hooks.worker, refusals.worker, log.worker],
    operations: [...hooks.operations, ...log.operations],
    jobs: [...hooks.jobs, ...log.jobs],
    settles: [hooks.settle],
  };
}

interface StreamDeps extends Pick<Installation, 'projects' | 'serverKeys'> {
  readonly feed: FeedAccess;
  readonly sources: ReaderSources;
  readonly printUser: (user: User) => unknown;
}

/** Builds what tells clients of events as they happen, each only of what it may read at that moment. */
export function createEventStreams(runtime: Runtime, deps: StreamDeps) {
  const { db } = runtime;
  const { feed, projects, serverKeys, sources, printUser } = deps;
  const readers = createReaders(sources, async (projectId, resources) => {
    const rows = await db.all(feed.store.lastStates(projectId, resources));
    return rows.map(({ resource, data, audience }) => ({
      resource: String(resource),
      data: String(data),
      audience: audience === null ? null : String(audience),
    }));
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
