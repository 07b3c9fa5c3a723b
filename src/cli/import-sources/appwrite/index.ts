import type { ImportedDocument } from '#src/features/index.js';
import { notAllowedError, notFoundError, usageError } from '../../terminal/exit.js';
import type { ImportSource, Read, SourceFile, SourceMembership, Unread, Unsupported } from '../source.js';
import { createUnsupportedList, type UnsupportedList } from '../unsupported-list.js';
import { type ApiAccess, type ApiClient, ApiError, createApiClient, foreignAnswer, type Json } from './client.js';
import { BrokenList, isMissing, listEntries, problemOf, whyUnlisted } from './pages.js';
import { readSchema, type SourceCollection } from './schema.js';
import { importScopes } from './scopes.js';
import { type HiddenParts, readAppwriteUsers } from './users.js';

/** Kinds that svc does not have, with their lists. */
const foreign: readonly (readonly [kind: string, path: string, reason: string])[] = [
  ['functions', '/functions', 'svc runs no functions. Run their code as a service of your own, called by webhooks.'],
  ['sites', '/sites', 'svc hosts no sites.'],
  ['messaging providers', '/messaging/providers', 'svc sends mail and SMS by the settings of the installation.'],
  ['messaging topics', '/messaging/topics', 'svc has no topics.'],
  ['messages', '/messaging/messages', 'svc keeps no messages of other products.'],
];

/** The lists that a key must be able to read in part. If it can read none of them, it is wrong. */
const probed = ['/users', '/teams', '/databases', '/storage/buckets'] as const;

/**
 * Opens a project of Appwrite, or of another installation of svc, over its REST API. Throws CommandError if the endpoint, the project or the
 * key is wrong.
 */
export async function openAppwrite(access: ApiAccess): Promise<ImportSource> {
  const client = createApiClient(access);
  await requireAccess(client);
  const left = createUnsupportedList();
  const hidden: HiddenParts = { unsalted: 0, secondFactors: 0 };
  const { schema, collections, unread, teamTimes } = await readSchema(client, access.projectId, left);
  for (const [kind, path, reason] of foreign) await countForeign(client, kind, path, reason, left);
  return {
    schema,
    unreadSchema: unread,
    teamTimes,
    users: () => tolerant('users', '/users', readAppwriteUsers(client, hidden, left), left),
    memberships: () => readMemberships(client, schema.teams ?? [], left),
    documents: (databaseId, collectionId, part) =>
      readDocuments(client, collections.get(`${databaseId}/${collectionId}`), part, left),
    files: (bucketId) => readFiles(client, bucketId, left),
    unsupported: () => [...left.all(), ...hiddenRows(hidden)],
    close: async () => {},
  };
}

async function requireAccess(client: ApiClient): Promise<void> {
  const errors: ApiError[] = [];
  for (const path of probed)
    try {
      await client.get(path, [{ method: 'limit', values: [1] }], { once: true });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push(error);
    }
  const [first] = errors;
  if (first === undefined) return;
  if (errors.some(({ type }) => type === 'project_not_found'))
    throw notFoundError(
      'source_project_not_found',
      'The source has no such project.',
      'check --source-project and --endpoint',
    );
  if (errors.length < probed.length) return;
  if (errors.every(({ status, type }) => (status === 401 || status === 403) && type !== foreignAnswer))
    throw notAllowedError(
      'source_key_refused',
      'The source refuses the key.',
      `create a server key there with the scopes ${importScopes}, and write it into the file of --key-file`,
    );
  throw usageError(
    `The endpoint is not an API of Appwrite: ${first.message}`,
    'give the address of the API with --endpoint, such as https://cloud.appwrite.io/v1',
  );
}

/** Yields the entries of a list, and a problem if the list breaks. If the source refuses the list, adds the reason to `left`. */
async function* tolerant<T>(
  kind: string,
  path: string,
  entries: AsyncIterable<T>,
  left: UnsupportedList,
): AsyncGenerator<T | BrokenEnd> {
  try {
    yield* entries;
  } catch (error) {
    if (error instanceof BrokenList) {
      yield { id: path, problem: error.message, type: 'source_incomplete', line: 0, bytes: 0 };
      return;
    }
    const reason = whyUnlisted(error, path);
    if (reason === undefined) throw error;
    left.addUncounted(kind, reason);
  }
}

/** The end of a list that was not read completely, in the form of any record. */
type BrokenEnd = Unread & { readonly line: number; readonly bytes: number };

/** Converts the entries of a list. An entry that is no record becomes a problem. */
async function* converted<T>(entries: AsyncIterable<Json>, convert: (entry: Json) => T): AsyncGenerator<Read<T>> {
  for await (const entry of entries) {
    const problem = problemOf(entry);
    yield problem === undefined ? convert(entry) : { id: '', problem };
  }
}

async function countForeign(client: ApiClient, kind: string, path: string, reason: string, left: UnsupportedList) {
  try {
    const { body } = await client.get(path, [{ method: 'limit', values: [1] }], { once: true });
    left.add(kind, reason, Math.max(0, Number(body.total) || 0));
  } catch (error) {
    const refusal = whyUnlisted(error, path);
    if (refusal === undefined) throw error;
    // A source without the API has none of them.
    if (error instanceof ApiError && !isMissing(error)) left.addUncounted(kind, `They could not be counted. ${reason}`);
  }
}

function hiddenRows({ unsalted, secondFactors }: HiddenParts): readonly Unsupported[] {
  const rows = createUnsupportedList();
  rows.add(
    'password hashes (scrypt)',
    'The API does not show their salt. These users set a new password with a recovery link.',
    unsalted,
  );
  rows.add(
    'authenticator apps',
    'The API does not show their secrets. These users enrol their app again after the next login.',
    secondFactors,
  );
  return rows.all();
}

async function* readMemberships(
  client: ApiClient,
  teams: readonly { readonly $id: string }[],
  left: UnsupportedList,
): AsyncGenerator<Read<SourceMembership>> {
  for (const { $id: teamId } of teams) {
    const path = `/teams/${teamId}/memberships`;
    const list = converted(listEntries(client, path, 'memberships'), (one) => membershipOf(one, teamId));
    yield* tolerant(`memberships of ${teamId}`, path, list, left);
  }
}

function membershipOf(one: Json, teamId: string): SourceMembership {
  return {
    id: String(one.$id),
    teamId,
    userId: String(one.userId),
    roles: textsOf(one.roles),
    confirmed: one.confirm === true,
    invited: String(one.invited || one.$createdAt),
    joined: textOf(one.joined) ?? null,
  };
}

async function* readDocuments(
  client: ApiClient,
  collection: SourceCollection | undefined,
  part: 'values' | 'relationships',
  left: UnsupportedList,
): AsyncGenerator<Read<ImportedDocument>> {
  if (collection === undefined) return;
  const { path } = collection;
  const list = converted(selected(client, collection, part), (row) => documentOf(row, collection, part));
  yield* tolerant(`documents of ${path}`, path, list, left);
}

/** Reads documents with a selection, and in full if the source does not support it. */
async function* selected(client: ApiClient, { path, member, stated }: SourceCollection, part: string) {
  const values = part === 'values' ? ['*'] : ['$id', ...stated.map((key) => `${key}.$id`)];
  let isAnswered = false;
  try {
    for await (const entry of listEntries(client, path, member, [{ method: 'select', values }])) {
      isAnswered = true;
      yield entry;
    }
  } catch (error) {
    if (isAnswered || !(error instanceof ApiError) || error.status !== 400) throw error;
    yield* listEntries(client, path, member);
  }
}

function documentOf(
  row: Json,
  { relations, stated, left, member }: SourceCollection,
  part: 'values' | 'relationships',
): ImportedDocument {
  const id = String(row.$id);
  if (part === 'relationships') return { id, data: Object.fromEntries(stated.map((key) => [key, idsOf(row[key])])) };
  const omitted = new Set([...relations, ...left, ...(member === 'rows' ? ['$tableId'] : [])]);
  const { $permissions, $createdAt, $updatedAt } = row;
  return {
    id,
    permissions: textsOf($permissions),
    createdAt: textOf($createdAt),
    updatedAt: textOf($updatedAt),
    data: Object.fromEntries(Object.entries(row).filter(([key]) => !key.startsWith('$') && !omitted.has(key))),
  };
}

const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** The ids of related documents, which the source sends as ids or as documents. */
function idsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(idsOf);
  if (typeof value === 'object' && value !== null) return (value as Json).$id;
  return value === '' || value === undefined ? null : value;
}

async function* readFiles(
  client: ApiClient,
  bucketId: string,
  left: UnsupportedList,
): AsyncGenerator<Read<SourceFile>> {
  const path = `/storage/buckets/${bucketId}/files`;
  const list = converted(finishedFiles(client, path, bucketId, left), (one) => ({
    id: String(one.$id),
    name: String(one.name),
    permissions: textsOf(one.$permissions),
    createdAt: String(one.$createdAt),
    updatedAt: String(one.$updatedAt),
    size: Number(one.sizeOriginal),
    mimeType: String(one.mimeType),
    signature: textOf(one.signature),
    open: () => client.download(`${path}/${encodeURIComponent(String(one.$id))}/download`),
  }));
  yield* tolerant(`files of ${bucketId}`, path, list, left);
}

/** The files of a list without unfinished uploads, which are counted. */
async function* finishedFiles(client: ApiClient, path: string, bucketId: string, left: UnsupportedList) {
  let unfinished = 0;
  for await (const one of listEntries(client, path, 'files')) {
    const isUnfinished = Number(one.chunksUploaded ?? 0) < Number(one.chunksTotal ?? 0);
    if (isUnfinished && problemOf(one) === undefined) unfinished += 1;
    else yield one;
  }
  left.add(`uploads to ${bucketId}`, 'The source has only parts of these files.', unfinished);
}
