import type { User } from '#src/contract/actor.js';
import type { Audience, ItemAudience } from '#src/contract/events.js';
import { allows, rolesOf } from '#src/contract/permissions.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';

/** A credential that was accepted when a stream or socket was opened. */
export interface ReaderCredential {
  readonly userId: string;
  /** Empty for a JWT that a server key had made without a session. */
  readonly sessionId: string;
  /** Of a JWT: when it ends, in seconds since the Unix epoch, and the password of its time, with which it ends too. */
  readonly jwt:
    | {
        readonly expires: number;
        readonly passwordUpdate: Instant | null;
        /** The server key that acts for the user by it, with which it ends too. */
        readonly actingKey: string | undefined;
      }
    | undefined;
}

/** Which roles read the documents of a collection or the files of a bucket, and one of them. */
export interface ItemReaders {
  /** No other collection or bucket has it, also none of the same id. */
  readonly containerKey: string;
  /** The stored permissions of the collection or bucket. */
  readonly container: readonly string[];
  /** Whether documents or files have permissions of their own. */
  readonly itemSecurity: boolean;
  /** The stored permissions of the document or file; undefined where there is none. */
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

/** What other wings know of readers and of what is read, as it is now. */
export interface ReaderSources {
  /** The users of those credentials that count still. */
  users(project: Project, credentials: readonly ReaderCredential[]): Promise<ReadonlyMap<ReaderCredential, User>>;
  /** Who reads documents; undefined where the collection is gone or disabled. */
  documents(project: Project, paths: readonly DocumentPath[]): Promise<readonly (ItemReaders | undefined)[]>;
  /** Who reads files; undefined where the bucket is gone or disabled. */
  files(project: Project, paths: readonly FilePath[]): Promise<readonly (ItemReaders | undefined)[]>;
}

/** An event as far as it matters who reads it. */
interface ReadableEvent {
  readonly type: string;
  readonly createdAt: Instant;
  readonly data: string;
  readonly resource: string | null;
  readonly audience: string | null;
}

/** The last state of a document or file that is gone. */
type LastState = Pick<ReadableEvent, 'data' | 'resource' | 'audience'>;

/** The payload that a reader is shown, as JSON text; undefined where it must not read the event. */
type Shown = (reader: User | undefined) => string | undefined;

/** The credential of a user, to be checked again later. */
export function credentialOf({ id, session, via, account, expires, actingKey }: User): ReaderCredential {
  return {
    userId: id,
    sessionId: session.id,
    jwt: via === 'jwt' ? { expires: expires ?? 0, passwordUpdate: account.passwordUpdate, actingKey } : undefined,
  };
}

/** The path of a document from that of a resource. */
function documentPathOf(resource: string | null): DocumentPath | undefined {
  const [, databaseId, collectionId, documentId] =
    /^databases\/([^/]+)\/collections\/([^/]+)\/documents\/([^/]+)$/.exec(resource ?? '') ?? [];
  if (databaseId === undefined || collectionId === undefined || documentId === undefined) return undefined;
  return { databaseId, collectionId, documentId };
}

/** The path of a file from that of a resource. */
function filePathOf(resource: string | null): FilePath | undefined {
  const [, bucketId, fileId] = /^buckets\/([^/]+)\/files\/([^/]+)$/.exec(resource ?? '') ?? [];
  return bucketId === undefined || fileId === undefined ? undefined : { bucketId, fileId };
}

const nobody: Shown = () => undefined;
const ownerRole = 'owner';

/**
 * Decides who reads events, by what holds at this moment. An event of a document or file is for those who may read it now and might have
 * read the state that the event carries: so neither an earlier state nor a later one shows more than the permissions of its time say.
 */
export function createReaders(
  sources: ReaderSources,
  lastStates: (projectId: string, resources: readonly string[]) => Promise<readonly LastState[]>,
) {
  const ofItem = (event: ReadableEvent, readers: ItemReaders, lastState: string | undefined): Shown => {
    let own: readonly string[] | undefined;
    const current = readers.item ?? (lastState === undefined ? undefined : permissionsOf(lastState));
    return (reader) => {
      const roles = rolesOf(reader ?? { kind: 'guest' });
      if (allows(readers.container, 'read', roles)) return event.data;
      if (!readers.itemSecurity || current === undefined || !allows(current, 'read', roles)) return undefined;
      own ??= permissionsOf(event.data);
      return allows(own, 'read', roles) ? event.data : undefined;
    };
  };
  /** What the events of one kind show, by who reads their items now. */
  const shownOf = async <P>(
    project: Project,
    events: readonly ReadableEvent[],
    pathOf: (event: ReadableEvent) => P | undefined,
    readersOf: (project: Project, paths: readonly P[]) => Promise<readonly (ItemReaders | undefined)[]>,
  ): Promise<readonly (readonly [ReadableEvent, Shown])[]> => {
    const found = events.flatMap((event) => {
      const path = pathOf(event);
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
      return [event, ofItem(event, of, last.get(event.resource))] as const;
    });
  };
  const items = async (project: Project, events: readonly ReadableEvent[]): Promise<Map<ReadableEvent, Shown>> => {
    const documents = events.filter(({ type }) => type.startsWith('document'));
    const files = events.filter(({ type }) => type.startsWith('file'));
    return new Map([
      ...(await shownOf(project, documents, ({ resource }) => documentPathOf(resource), sources.documents)),
      ...(await shownOf(project, files, ({ resource }) => filePathOf(resource), sources.files)),
    ]);
  };
  return {
    users: sources.users,
    /** What each event shows to whom. */
    of: async (project: Project, events: readonly ReadableEvent[]): Promise<readonly Shown[]> => {
      const ofItems = await items(project, events);
      return events.map((event) => {
        const audience: Audience | undefined = event.audience === null ? undefined : JSON.parse(event.audience);
        const isOfItem = audience === undefined || isItemAudience(audience);
        return isOfItem ? (ofItems.get(event) ?? nobody) : toAudience(project, event, audience);
      });
    },
  };
}

/** Decides who reads events. */
export type Readers = ReturnType<typeof createReaders>;

/** Whether an event names users or a team as its audience, or leaves it to permissions who reads it. */
function isItemAudience(audience: Audience): audience is ItemAudience {
  return typeof audience === 'number' || !('users' in audience || 'team' in audience);
}

/** Whether an event is of something in this collection or bucket, and not in an earlier one of the same id. */
function isOf({ audience }: Pick<ReadableEvent, 'audience'>, { containerKey }: ItemReaders): boolean {
  const of: ItemAudience = audience === null ? {} : JSON.parse(audience);
  const key = typeof of === 'number' ? String(of) : of.bucket;
  return key === undefined || key === containerKey;
}

/** The stored permissions of a printed document or file. */
function permissionsOf(data: string): readonly string[] {
  const { $permissions } = JSON.parse(data) as { $permissions?: readonly string[] };
  return $permissions ?? [];
}

/** What an event shows to its audience. What happened to other members before a reader has joined is not for this reader. */
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
