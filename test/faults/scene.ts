// An installation with a project, a key, people, a collection and a webhook, and how it is asked for things.
import assert from 'node:assert/strict';
import { type Installation, install, type Server } from '../harness/cli.js';
import type { Json } from './journal.js';

/** An installation with everything that the load writes to. */
export interface Scene {
  readonly place: Installation;
  /** Credentials of the project's key. */
  readonly key: Readonly<Record<string, string>>;
  /** Says the project only. */
  readonly guest: Readonly<Record<string, string>>;
  /** The ids of people who can log in. */
  readonly people: readonly string[];
}

/** An answer of the server. */
interface Answer {
  readonly status: number;
  readonly body: Json;
}

/** Everybody's password. */
export const password = 'correct horse';

/** Where documents are. */
export const documentsPath = '/databases/db/collections/notes/documents';

const settings = {
  SVC_RATE_LIMIT: 'off',
  SVC_WEBHOOK_ALLOW_INSECURE: 'true',
  SVC_LOG_LEVEL: 'warn',
  // The quicker of the two, as the load is to write and not to hash.
  SVC_PASSWORD_HASH: 'argon2id',
};

/** Makes an installation whose webhook tells `receiver` of every event; its Postgres server may be named. */
export async function setTheScene(receiver: string, people: number, postgres?: string): Promise<Scene> {
  const place = await install({ init: false, ...(postgres !== undefined && { postgres }) });
  Object.assign(place.env, settings);
  const { project, apiKey } = await place.json<{ project: { $id: string }; apiKey: { secret: string } }>([
    ...['init', '--yes', '--project', 'Faults'],
  ]);
  await place.json([
    ...['webhook', 'add', '--project', project.$id, '--name', 'All', '--url', receiver, '--events', '*', '--id', 'all'],
  ]);
  const guest = { 'X-Service-Project': project.$id, 'Content-Type': 'application/json' };
  return {
    place,
    guest,
    key: { ...guest, 'X-Service-Key': apiKey.secret },
    people: Array.from({ length: people }, (_, index) => `a-person-${index}`),
  };
}

/** Makes what is made by requests: the collection and the people. */
export async function furnish({ key, guest, people }: Scene, server: Server): Promise<void> {
  const made = async (headers: Scene['key'], path: string, body: Json) => {
    const answer = await ask(server, headers, 'POST', path, body);
    assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
  };
  const collection = '/databases/db/collections';
  await made(key, '/databases', { databaseId: 'db', name: 'Db' });
  await made(key, collection, { collectionId: 'notes', name: 'Notes' });
  await made(key, `${collection}/notes/attributes/integer`, { key: 'number', required: true });
  await made(key, `${collection}/notes/attributes/string`, { key: 'text', required: true, size: 300 });
  for (const id of people)
    await made(guest, '/account', { userId: id, email: `${id}@mail.example`, password, name: id });
}

/** Asks the server; fails with a TypeError where no whole answer comes. */
export async function ask(
  { url }: Server,
  headers: Scene['key'],
  method: string,
  path: string,
  body?: Json,
): Promise<Answer> {
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}
