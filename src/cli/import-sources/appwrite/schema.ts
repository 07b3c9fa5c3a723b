import { everyEvent, subscribableEvents } from '#src/contract/events.js';
import { fromAppwriteFile, withKnownTypes } from '../../project-file/appwrite.js';
import type { ProjectFile } from '../../project-file/file.js';
import type { ImportSource } from '../source.js';
import { createUnsupportedList, type UnsupportedList } from '../unsupported-list.js';
import type { ApiClient, Json } from './client.js';
import { BrokenList, listEntries, problemOf, whyUnlisted } from './pages.js';

/** A collection of the source, and how to read its documents. */
export interface SourceCollection {
  /** The path of its list of documents or rows, and the name of the list in the answer. */
  readonly path: string;
  readonly member: 'documents' | 'rows';
  /** Keys of all relationships. */
  readonly relations: readonly string[];
  /** Keys of the relationships that state every link once. */
  readonly stated: readonly string[];
  /** Keys of attributes that have no counterpart here. */
  readonly left: string[];
}

/** The schema of a source. */
interface SourceSchema {
  readonly schema: ProjectFile;
  /** By `databaseId/collectionId`. */
  readonly collections: ReadonlyMap<string, SourceCollection>;
  readonly unread: Remarks['unread'];
  readonly teamTimes: ReadonlyMap<string, string>;
}

/** Parts that are not imported, and parts that could not be read. */
interface Remarks {
  readonly left: UnsupportedList;
  readonly unread: NonNullable<ImportSource['unreadSchema']>[number][];
}

/** Reads a list, or reports why it cannot be read. */
async function listOf(
  client: ApiClient,
  path: string,
  member: string,
  kind: string,
  { left, unread }: Remarks,
): Promise<Json[]> {
  const entries: Json[] = [];
  try {
    for await (const entry of listEntries(client, path, member)) {
      const problem = problemOf(entry);
      if (problem === undefined) entries.push(entry);
      else unread.push({ kind: member, id: path, problem });
    }
  } catch (error) {
    const reason = whyUnlisted(error, path);
    if (error instanceof BrokenList)
      unread.push({ kind: member, id: path, problem: error.message, type: 'source_incomplete' });
    else if (reason === undefined) throw error;
    else left.addUncounted(kind, reason);
  }
  return entries;
}

/** Reads teams, databases, collections, buckets and webhooks. Adds what cannot be imported to `left`. */
export async function readSchema(client: ApiClient, projectId: string, left: UnsupportedList): Promise<SourceSchema> {
  const remarks: Remarks = { left, unread: [] };
  const teams = await listOf(client, '/teams', 'teams', 'teams', remarks);
  const withPrefs = teams.filter(({ prefs }) => Object.keys(prefs ?? {}).length > 0).length;
  left.add('preferences of teams', 'Teams are imported without them. Set them with PUT /teams/{id}/prefs.', withPrefs);
  const { databases, tablesDB } = await readDatabases(client, remarks);
  const collections: Json[] = [];
  const tables: Json[] = [];
  for (const { $id } of databases)
    collections.push(
      ...(await listOf(client, `/databases/${$id}/collections`, 'collections', `collections of ${$id}`, remarks)),
    );
  for (const { $id } of tablesDB)
    tables.push(...(await listOf(client, `/tablesdb/${$id}/tables`, 'tables', `tables of ${$id}`, remarks)));
  const buckets = await listOf(client, '/storage/buckets', 'buckets', 'buckets', remarks);
  const content = { projectId, teams, databases, tablesDB, collections, tables, buckets };
  const { file } = fromAppwriteFile(content);
  const found = new Map<string, SourceCollection>();
  for (const [list, isTable] of [
    [collections, false],
    [tables, true],
  ] as const)
    for (const one of list) found.set(`${one.databaseId}/${one.$id}`, sourceCollection(one, isTable));
  return {
    schema: { ...knownParts(file, found, left), webhooks: await readWebhooks(client, remarks) },
    collections: found,
    unread: remarks.unread,
    teamTimes: new Map(teams.map(({ $id, $createdAt }) => [String($id), String($createdAt)])),
  };
}

/** Appwrite 1.8 and later list databases of the newer API separately; svc lists all of them under both names. */
async function readDatabases(client: ApiClient, remarks: Remarks) {
  const databases = await listOf(client, '/databases', 'databases', 'databases', remarks);
  const isTables = ({ type }: Json) => type === 'tablesdb';
  const known = new Set(databases.map(({ $id }) => $id));
  const newer = await listOf(client, '/tablesdb', 'databases', '', { ...remarks, left: createUnsupportedList() });
  const tablesDB = [...databases.filter(isTables), ...newer.filter(({ $id }) => !known.has($id))];
  return { databases: databases.filter((one) => !isTables(one)), tablesDB };
}

const fieldsOf = (collection: Json) => ((collection.attributes ?? collection.columns ?? []) as Json[]) || [];

function sourceCollection(collection: Json, isTable: boolean): SourceCollection {
  const { databaseId, $id } = collection;
  const relations = fieldsOf(collection).filter(({ type }) => type === 'relationship');
  return {
    path: isTable
      ? `/tablesdb/${databaseId}/tables/${$id}/rows`
      : `/databases/${databaseId}/collections/${$id}/documents`,
    member: isTable ? 'rows' : 'documents',
    relations: relations.map(({ key }) => String(key)),
    stated: relations.filter(isStated).map(({ key }) => String(key)),
    left: [],
  };
}

/** True for the side that states a link: the only one, the one with one related document, or else the parent. */
function isStated({ relationType, twoWay, side }: Json): boolean {
  const isChild = side === 'child';
  if (twoWay !== true) return !isChild;
  if (relationType === 'oneToMany') return isChild;
  return !isChild;
}

/** Leaves out attributes of types that do not exist here, and indexes over them. */
function knownParts(whole: ProjectFile, found: ReadonlyMap<string, SourceCollection>, left: UnsupportedList) {
  const { file, left: parts } = withKnownTypes(whole);
  for (const { kind, path, type } of parts) {
    if (kind !== 'attribute') continue;
    const [databaseId, collectionId, key] = path;
    left.add(
      `attribute ${path.join('/')}`,
      `There is no type ${type} here. The documents are imported without these values.`,
    );
    found.get(`${databaseId}/${collectionId}`)?.left.push(key);
  }
  return file;
}

async function readWebhooks(client: ApiClient, remarks: Remarks): Promise<ProjectFile['webhooks']> {
  const known: readonly string[] = [everyEvent, ...subscribableEvents];
  const found = await listOf(client, '/webhooks', 'webhooks', 'webhooks', remarks);
  const { left } = remarks;
  const webhooks = found.map((one) => {
    const events = (Array.isArray(one.events) ? one.events.map(String) : []).flatMap((event) => {
      if (known.includes(event)) return event;
      const { events: ours, isWider } = eventsOf(event);
      if (!isWider) return ours;
      left.add(
        `event of webhook ${one.$id}`,
        `${event} has no counterpart for single ids. ${ours.join(', ')} would also send those of all others; add it with svc webhook update --events if the receiver may get them.`,
      );
      return [];
    });
    const authUsername = String(one.authUsername ?? one.httpUser ?? '');
    return {
      $id: String(one.$id),
      name: String(one.name),
      url: String(one.url),
      events: [...new Set(events)],
      enabled: one.enabled !== false,
      tls: (one.tls ?? one.security) !== false,
      ...(authUsername === '' ? {} : { authUsername }),
    };
  });
  const count = (matches: (webhook: (typeof webhooks)[number]) => boolean) => webhooks.filter(matches).length;
  left.add(
    'webhooks',
    `None of their events exists here. Events are ${known.join(', ')}.`,
    count(({ events }) => events.length === 0),
  );
  left.add(
    'webhook passwords',
    'The API does not show them. Set them with svc webhook update.',
    count((one) => 'authUsername' in one),
  );
  left.add(
    'switched-on webhooks',
    'Webhooks arrive switched off, so that receivers get nothing of the import and no event from both sides. Switch them on at the switch-over: svc webhook update ID --enabled on.',
    count(({ events, enabled }) => events.length > 0 && enabled),
  );
  return webhooks.filter(({ events }) => events.length > 0);
}

type Event = (typeof subscribableEvents)[number] | typeof everyEvent;

const documents: readonly Event[] = ['documentCreated', 'documentUpdated', 'documentDeleted'];
const documentEvents: Readonly<Record<string, readonly Event[]>> = {
  '': documents,
  create: ['documentCreated'],
  update: ['documentUpdated'],
  delete: ['documentDeleted'],
};
const fileEvents: Readonly<Record<string, readonly Event[]>> = {
  '': ['fileCreated', 'fileDeleted'],
  create: ['fileCreated'],
  delete: ['fileDeleted'],
};
const sessionEvents: Readonly<Record<string, readonly Event[]>> = {
  '': ['sessionCreated', 'sessionDeleted'],
  create: ['sessionCreated'],
  delete: ['sessionDeleted'],
};

/** The paths of events of Appwrite, with the events here by their last word. */
const paths: readonly (readonly [path: RegExp, events: Readonly<Record<string, readonly Event[]>>])[] = [
  [/^databases\.([^.]+)\.(?:collections|tables)\.([^.]+)\.(?:documents|rows)\.([^.]+)(?:\.(\w+))?$/, documentEvents],
  [/^tablesdb\.([^.]+)\.tables\.([^.]+)\.rows\.([^.]+)(?:\.(\w+))?$/, documentEvents],
  [/^buckets\.([^.]+)\.files\.([^.]+)(?:\.(\w+))?$/, fileEvents],
  [/^users\.([^.]+)\.sessions\.([^.]+)(?:\.(\w+))?$/, sessionEvents],
];

/** The events here that an event of Appwrite means, and whether they are sent for more than the event of Appwrite, which names ids. */
function eventsOf(event: string): { readonly events: readonly Event[]; readonly isWider: boolean } {
  for (const [path, events] of paths) {
    const found = path.exec(event);
    if (found === null) continue;
    const parts = found.slice(1);
    const [ids, last] = [parts.slice(0, -1), parts.at(-1) ?? ''];
    return { events: events[last] ?? [], isWider: ids.some((id) => id !== '*') };
  }
  return { events: [], isWider: false };
}
