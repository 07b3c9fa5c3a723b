// A project with everything that imports and exports of whole projects take, filled and compared through the SDK.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  Client,
  Databases,
  DatabasesIndexType,
  type Models,
  Permission,
  Query,
  RelationMutate,
  RelationshipType,
  Role,
  Storage,
  Teams,
  Users,
} from 'node-appwrite';
import { InputFile } from 'node-appwrite/file';
import { vectors } from '../users/vectors.js';
import type { Installation, Server } from './cli.js';

/** The address of a project and a key of it. */
export interface ServedProject {
  readonly url: string;
  readonly project: string;
  readonly key: string;
}

const ownPassword = 'own long password';
/** A user of each kind of hash. */
const logins: readonly (readonly [email: string, password: string])[] = [
  ...[...new Set(vectors.map(({ route }) => route))].map((kind) => {
    const at = vectors.findIndex(({ route }) => route === kind);
    return [`v${at}@mail.example`, vectors[at]?.password ?? ''] as const;
  }),
  ['own@mail.example', ownPassword],
];

export function clientOf({ url, project, key }: ServedProject): Client {
  return new Client().setEndpoint(url).setProject(project).setKey(key);
}

/** Creates a project with a key of all scopes. */
export async function keyedProject(of: Installation, { url }: Server, id: string): Promise<ServedProject> {
  await of.json(['project', 'create', id, '--id', id]);
  const create = ['apikey', 'create', '--name', 'all', '--project', id, '--scopes', 'all'];
  const { secret } = await of.json<{ secret: string }>(create);
  return { url, project: id, key: secret };
}

/** Sends a request with the key. */
export async function send(of: ServedProject, method: string, path: string, body?: object) {
  const answer = await fetch(of.url + path, {
    method,
    headers: { 'Content-Type': 'application/json', 'X-Appwrite-Project': of.project, 'X-Appwrite-Key': of.key },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

/** Fills an empty project. */
export async function fillProject(of: ServedProject, authors = 3, posts = 7): Promise<void> {
  const client = clientOf(of);
  const [users, teams, databases, storage] = [
    new Users(client),
    new Teams(client),
    new Databases(client),
    new Storage(client),
  ];
  for (const [at, { route, body }] of vectors.entries())
    await send(of, 'POST', `/users/${route}`, { userId: `vector-${at}`, email: `v${at}@mail.example`, ...body });
  await users.create({ userId: 'own', email: 'own@mail.example', password: ownPassword, name: 'Own 😀' });
  await users.create({ userId: 'caller', phone: '+4915112345678', name: 'Caller' });
  await users.updateLabels({ userId: 'own', labels: ['vip', 'staff'] });
  await users.updatePrefs({ userId: 'own', prefs: { theme: { dark: true } } });
  await users.updateEmailVerification({ userId: 'own', emailVerification: true });
  await users.updateStatus({ userId: 'caller', status: false });
  for (const id of ['crew', 'board']) await teams.create({ teamId: id, name: `Team ${id}` });
  await teams.createMembership({ teamId: 'crew', roles: ['owner', 'captain'], userId: 'own' });
  await teams.createMembership({ teamId: 'crew', roles: [], userId: 'vector-0' });
  await teams.createMembership({ teamId: 'board', roles: ['chair'], userId: 'caller' });

  await databases.create({ databaseId: 'blog', name: 'Blog' });
  const inBlog = { databaseId: 'blog' };
  for (const id of ['posts', 'authors', 'tags'])
    await databases.createCollection({
      ...inBlog,
      collectionId: id,
      name: `All ${id}`,
      documentSecurity: true,
      permissions: [Permission.read(Role.any())],
    });
  const [authorOf, postOf] = [
    { ...inBlog, collectionId: 'authors' },
    { ...inBlog, collectionId: 'posts' },
  ];
  await databases.createStringAttribute({ ...authorOf, key: 'name', size: 100, required: true });
  await databases.createStringAttribute({ ...inBlog, collectionId: 'tags', key: 'word', size: 20, required: false });
  await databases.createStringAttribute({ ...postOf, key: 'title', size: 100, required: true });
  await databases.createIntegerAttribute({ ...postOf, key: 'big', required: false, min: 0 });
  await databases.createFloatAttribute({ ...postOf, key: 'part', required: false });
  await databases.createDatetimeAttribute({ ...postOf, key: 'when', required: false });
  await databases.createStringAttribute({ ...postOf, key: 'words', size: 20, required: false, array: true });
  await databases.createEnumAttribute({
    ...postOf,
    key: 'state',
    elements: ['new', 'done'],
    required: false,
    xdefault: 'new',
  });
  await databases.createRelationshipAttribute({
    ...authorOf,
    relatedCollectionId: 'posts',
    type: RelationshipType.OneToMany,
    twoWay: true,
    key: 'posts',
    twoWayKey: 'author',
    onDelete: RelationMutate.SetNull,
  });
  await databases.createRelationshipAttribute({
    ...postOf,
    relatedCollectionId: 'tags',
    type: RelationshipType.ManyToMany,
    key: 'tags',
  });
  await databases.createRelationshipAttribute({
    ...postOf,
    relatedCollectionId: 'posts',
    type: RelationshipType.OneToOne,
    key: 'next',
    onDelete: RelationMutate.SetNull,
  });
  await databases.createIndex({ ...postOf, key: 'by_title', type: DatabasesIndexType.Key, attributes: ['title'] });
  for (let at = 0; at < 4; at++)
    await databases.createDocument({
      ...inBlog,
      collectionId: 'tags',
      documentId: `tag-${at}`,
      data: { word: `w${at}` },
    });
  for (let at = 0; at < authors; at++)
    await databases.createDocument({ ...authorOf, documentId: `author-${at}`, data: { name: `Name ${at}` } });
  for (let at = 0; at < posts; at++)
    await send(of, 'POST', '/databases/blog/collections/posts/documents', {
      documentId: `post-${at}`,
      data: {
        ...{ title: `Title ${at} "ü"`, part: 0.1 + at, when: '2020-02-03T04:05:06.007+00:00', words: ['a', 'b'] },
        ...{ author: `author-${at % authors}`, tags: [`tag-${at % 4}`, `tag-${(at + 1) % 4}`] },
        ...(at === 0 ? {} : { next: `post-${at - 1}` }),
        ...{ $createdAt: `2021-01-0${1 + (at % 9)}T00:00:00.000+00:00`, $updatedAt: '2022-03-04T05:06:07.008+00:00' },
      },
      permissions:
        at % 2 === 0 ? [] : [Permission.read(Role.user('own')), Permission.update(Role.team('crew', 'captain'))],
    });
  await storage.createBucket({
    bucketId: 'pictures',
    name: 'Pictures',
    fileSecurity: true,
    maximumFileSize: 20_000_000,
    allowedFileExtensions: ['txt', 'bin'],
  });
  for (const [id, bytes] of [
    ['small', Buffer.from('hello')],
    ['large', Buffer.alloc(12_000_000, 'svc ')],
  ] as const)
    await storage.createFile({
      bucketId: 'pictures',
      fileId: id,
      file: InputFile.fromBuffer(bytes, `${id} ü.bin`),
      permissions: [Permission.read(Role.users())],
    });
  await send(of, 'POST', '/webhooks', {
    webhookId: 'hook',
    name: 'Hook',
    url: 'https://hooks.example.com/svc',
    events: ['documentCreated'],
    enabled: false,
  });
}

/** Reads everything through the SDK, in a form that is equal for equal projects. */
export async function readProject(of: ServedProject, withHashes = true): Promise<Record<string, unknown>> {
  const client = clientOf(of);
  const [users, teams, databases, storage] = [
    new Users(client),
    new Teams(client),
    new Databases(client),
    new Storage(client),
  ];
  const all = [Query.limit(5000)];
  const populated = [...all, Query.select(['*', 'author.$id', 'tags.$id', 'next.$id', 'tags.word'])];
  const { users: people } = await users.list({ queries: all });
  const { teams: groups } = await teams.list({ queries: all });
  const { files } = await storage.listFiles({ bucketId: 'pictures', queries: all });
  const documents: Record<string, unknown> = {};
  for (const collectionId of ['authors', 'posts', 'tags']) {
    const queries = collectionId === 'posts' ? populated : all;
    documents[collectionId] = (await databases.listDocuments({ databaseId: 'blog', collectionId, queries })).documents;
  }
  const memberships: Models.Membership[] = [];
  for (const { $id } of groups)
    memberships.push(...(await teams.listMemberships({ teamId: $id, queries: all })).memberships);
  const contents: string[] = [];
  for (const { $id } of files)
    contents.push(digest(await storage.getFileDownload({ bucketId: 'pictures', fileId: $id })));
  const { collections } = await databases.listCollections({ databaseId: 'blog', queries: all });
  return plain({
    people: people.sort(byId).map((one) => (withHashes ? one : { ...one, hash: '', password: '', hashOptions: {} })),
    groups: groups.sort(byId),
    memberships: memberships.sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1)),
    collections: collections.sort(byId),
    documents,
    files: files.sort(byId),
    contents: contents.sort(),
    buckets: (await storage.listBuckets({ queries: all })).buckets,
    webhooks: (await send(of, 'GET', '/webhooks')).webhooks,
  });
}

const placeOf = ({ teamId, userId }: Models.Membership) => `${teamId}/${userId}`;
const digest = (bytes: ArrayBuffer) => createHash('md5').update(Buffer.from(bytes)).digest('hex');
const byId = (one: { $id: string }, other: { $id: string }) => (one.$id < other.$id ? -1 : 1);

/** Members that a copy does not keep: orders of indexes that are not given, parameters that the text of a hash contains, numbers of rows, sizes in the store, and times of things other than users, documents and files. */
const own = new Set([
  '$sequence',
  'orders',
  'memoryCost',
  'timeCost',
  'threads',
  'targets',
  'accessedAt',
  'userAccessedAt',
  'totalSize',
  'sizeActual',
  'chunksTotal',
  'chunksUploaded',
]);
const timed = new Set(['groups', 'memberships', 'collections', 'buckets', 'webhooks', 'attributes', 'indexes']);

/** Lists whose order has no meaning. */
const ordered = new Set(['attributes', 'indexes', 'allowedFileExtensions']);
const byText = (one: unknown, other: unknown) => (textOf(one) < textOf(other) ? -1 : 1);
const textOf = (value: unknown) => (typeof value === 'string' ? value : (value as { key: string }).key);

function plain(value: unknown, list = ''): Record<string, unknown> {
  return strip(value, list) as Record<string, unknown>;
}

function strip(value: unknown, list: string): unknown {
  if (Array.isArray(value)) {
    const stripped = value.map((one) => strip(one, list));
    return ordered.has(list) ? stripped.sort(byText) : stripped;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => {
    if (own.has(name)) return false;
    if (name === '$createdAt') return !timed.has(list);
    return name !== '$updatedAt' || list === 'files' || list === 'posts';
  });
  return Object.fromEntries(entries.map(([name, one]) => [name, strip(one, Array.isArray(one) ? name : list)]));
}

/** Users with a password log in, one of each kind of hash. Their hashes are then those of svc. */
export async function assertAllLogIn({ url, project }: ServedProject): Promise<void> {
  for (const [email, password] of logins) {
    const answer = await fetch(`${url}/account/sessions/email`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Appwrite-Project': project },
      body: JSON.stringify({ email, password }),
    });
    assert.equal(answer.status, 201, `${email}: ${await answer.text()}`);
  }
}
