import type { User } from '#src/contract/actor.js';
import type { Audience, ItemAudience } from '#src/contract/events.js';
import { allows, rolesOf } from '#src/contract/permissions.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';

/** A credential that was accepted when a stream or socket was opened. */
export interface ReaderCredential {
  readonly userId: string;
  /** Empty for a JWT created by a server key without a session. */
  readonly sessionId: string;
  /**
   * Set for a JWT: its expiry in seconds since the Unix epoch, and the time of the user's last password change. A later change invalidates
   * it.
   */
  readonly jwt:
    | {
        readonly expires: number;
        readonly passwordUpdate: Instant | null;
        /** The server key that acts for the user. The JWT is valid only while the key is. */
        readonly actingKey: string | undefined;
      }
    | undefined;
}

/** Permissions that decide which roles can read a document or file. */
export interface ItemReaders {
  /** Never reused, not even by a collection or bucket with the same id. */
  readonly containerKey: string;
  /** The stored permissions of the collection or bucket. */
  readonly container: readonly string[];
  /** True if documents or files have their own permissions. */
  readonly itemSecurity: boolean;
  /** The stored permissions of the document or file; undefined if it does not exist. */
  readonly item: readonly string[] | undefined;
}

/** The path of a document. */
export interface DocumentPath {
  readonly databaseId: string;
  readonly collectionId: string;
  readonly documentId: string;
}

/** The path of a file. */
export interface FilePath {
  readonly bucketId: string;
  readonly fileId: string;
}

/** Current users and permissions, provided by other areas. */
export interface ReaderSources {
  /** The users of those credentials that are still valid. */
  users(project: Project, credentials: readonly ReaderCredential[]): Promise<ReadonlyMap<ReaderCredential, User>>;
  /** Readers of documents; undefined if the collection is gone or disabled. */
  documents(project: Project, paths: readonly DocumentPath[]): Promise<readonly (ItemReaders | undefined)[]>;
  /** Readers of files; undefined if the bucket is gone or disabled. */
  files(project: Project, paths: readonly FilePath[]): Promise<readonly (ItemReaders | undefined)[]>;
}

/** The parts of an event that decide which users can read it. */
interface ReadableEvent {
  readonly type: string;
  readonly createdAt: Instant;
  readonly data: string;
  readonly resource: string | null;
  readonly audience: string | null;
}

/** The last state of a deleted document or file. */
type LastState = Pick<ReadableEvent, 'data' | 'resource' | 'audience'>;

/** Returns the payload for a reader as JSON text; undefined if the reader may not see the event. */
type Shown = (reader: User | undefined) => string | undefined;

/** Converts an authenticated user to a credential that can be checked again later. */
export function credentialOf({ id, session, via, account, expires, actingKey }: User): ReaderCredential {
  return {
    userId: id,
    sessionId: session.id,
    jwt: via === 'jwt' ? { expires: expires ?? 0, passwordUpdate: account.passwordUpdate, actingKey } : undefined,
  };
}

const nobody: Shown = () => undefined;
const ownerRole = 'owner';

/** Decides which users can read events. */
export interface Readers {
  users(project: Project, credentials: readonly ReaderCredential[]): Promise<ReadonlyMap<ReaderCredential, User>>;
  /** Returns a `Shown` function for each event. */
  of(project: Project, events: readonly ReadableEvent[]): Promise<readonly Shown[]>;
}

interface Deps {
  readonly sources: ReaderSources;
  readonly lastStates: (projectId: string, resources: readonly string[]) => Promise<readonly LastState[]>;
}

/**
 * Decides which users can read an event, by current permissions. An event of a document or file requires permission for both its current
 * state and the state in the event. So neither state reveals more than its own permissions allow.
 */
export function createReaders(sources: ReaderSources, lastStates: Deps['lastStates']): Readers {
  const deps: Deps = { sources, lastStates };
  return { users: sources.users, of: (project, events) => shownOf(deps, project, events) };
}

async function shownOf(deps: Deps, project: Project, events: readonly ReadableEvent[]): Promise<readonly Shown[]> {
  const { documents, files } = deps.sources;
  const ofDocuments = events.filter(({ type }) => type.startsWith('document'));
  const ofFiles = events.filter(({ type }) => type.startsWith('file'));
  const ofItems = new Map([
    ...(await shownOfItems(deps, project, ofDocuments, documentPathOf, documents)),
    ...(await shownOfItems(deps, project, ofFiles, filePathOf, files)),
  ]);
  return events.map((event) => {
    const audience: Audience | undefined = event.audience === null ? undefined : JSON.parse(event.audience);
    const isOfItem = audience === undefined || isItemAudience(audience);
    return isOfItem ? (ofItems.get(event) ?? nobody) : toAudience(project, event, audience);
  });
}

/** Parses the resource path of a document. */
function documentPathOf(resource: string | null): DocumentPath | undefined {
  const [, databaseId, collectionId, documentId] =
    /^databases\/([^/]+)\/collections\/([^/]+)\/documents\/([^/]+)$/.exec(resource ?? '') ?? [];
  if (databaseId === undefined || collectionId === undefined || documentId === undefined) return undefined;
  return { databaseId, collectionId, documentId };
}

/** Parses the resource path of a file. */
function filePathOf(resource: string | null): FilePath | undefined {
  const [, bucketId, fileId] = /^buckets\/([^/]+)\/files\/([^/]+)$/.exec(resource ?? '') ?? [];
  return bucketId === undefined || fileId === undefined ? undefined : { bucketId, fileId };
}

/** Pairs events of documents or files with their `Shown` functions. */
async function shownOfItems<P>(
  { lastStates }: Deps,
  project: Project,
  events: readonly ReadableEvent[],
  pathOf: (resource: string | null) => P | undefined,
  readersOf: (project: Project, paths: readonly P[]) => Promise<readonly (ItemReaders | undefined)[]>,
): Promise<readonly (readonly [ReadableEvent, Shown])[]> {
  const found = events.flatMap((event) => {
    const path = pathOf(event.resource);
    return path === undefined ? [] : [{ event, path }];
  });
  if (found.length === 0) return [];
  const readers = await readersOf(
    project,
    found.map(({ path }) => path),
  );
  const gone = found.flatMap(({ event: { resource } }, at) =>
    readers[at]?.itemSecurity && readers[at].item === undefined && resource !== null ? [resource] : [],
  );
  const byResource = new Map(found.map(({ event }, at) => [event.resource, readers[at]]));
  const states = gone.length === 0 ? [] : await lastStates(project.id, [...new Set(gone)]);
  const last = new Map(
    states.flatMap((state) => {
      const of = byResource.get(state.resource);
      return of !== undefined && isOf(state, of) ? [[state.resource, state.data] as const] : [];
    }),
  );
  return found.map(({ event }, at) => {
    const of = readers[at];
    if (of === undefined || !isOf(event, of)) return [event, nobody] as const;
    return [event, shownToItemReaders(event, of, last.get(event.resource))] as const;
  });
}

/** True if an event belongs to this collection or bucket, not to an earlier one with the same id. */
function isOf({ audience }: Pick<ReadableEvent, 'audience'>, { containerKey }: ItemReaders): boolean {
  const of: ItemAudience = audience === null ? {} : JSON.parse(audience);
  const key = typeof of === 'number' ? String(of) : of.bucket;
  return key === undefined || key === containerKey;
}

function shownToItemReaders(event: ReadableEvent, readers: ItemReaders, lastState: string | undefined): Shown {
  let own: readonly string[] | undefined;
  const current = readers.item ?? (lastState === undefined ? undefined : permissionsOf(lastState));
  return (reader) => {
    const roles = rolesOf(reader ?? { kind: 'guest' });
    if (allows(readers.container, 'read', roles)) return event.data;
    if (!readers.itemSecurity || current === undefined || !allows(current, 'read', roles)) return undefined;
    own ??= permissionsOf(event.data);
    return allows(own, 'read', roles) ? event.data : undefined;
  };
}

/** The stored permissions in a printed document or file. */
function permissionsOf(data: string): readonly string[] {
  const { $permissions } = JSON.parse(data) as { $permissions?: readonly string[] };
  return $permissions ?? [];
}

/** True if permissions decide which users can read the event; false if its audience is users or a team. */
function isItemAudience(audience: Audience): audience is ItemAudience {
  return typeof audience === 'number' || !('users' in audience || 'team' in audience);
}

/** Returns the payload for the audience of an event. Members do not get events about others from before they joined. */
function toAudience(
  project: Project,
  { data, createdAt }: ReadableEvent,
  audience: Exclude<Audience, ItemAudience>,
): Shown {
  if ('users' in audience) return (reader) => (audience.users.includes(reader?.id ?? '') ? data : undefined);
  const { team, user, shown } = audience;
  return (reader) => {
    if (reader === undefined) return undefined;
    if (reader.id === user) return data;
    const own = reader.account.memberships.find(({ teamId }) => teamId === team);
    if (own === undefined) return undefined;
    if (shown === undefined) return data;
    if (createdAt < own.joined) return undefined;
    const mayReach = !project.settings['teams.hideMembers'] || own.roles.includes(ownerRole);
    if (!mayReach) return JSON.stringify(shown.withoutContacts);
    return shown.contacts === undefined ? data : JSON.stringify(shown.contacts);
  };
}
