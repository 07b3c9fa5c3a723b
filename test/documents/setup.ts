// Databases and collections for tests, made as an application's backend makes them.

import { printJson } from '#src/platform/text/json.js';
import { aServerKey } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';

/** What a test says of an attribute; `required` is false unless told otherwise. */
export interface AttributeGiven {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** What a test says of a collection. */
export interface CollectionGiven {
  readonly permissions?: readonly string[];
  readonly documentSecurity?: boolean;
  readonly enabled?: boolean;
  readonly attributes?: Readonly<Record<string, AttributeGiven>>;
}

/** A collection with the paths of what it holds. */
export interface TestCollection {
  readonly databaseId: string;
  readonly id: string;
  /** Below /v1. */
  readonly path: string;
  readonly documents: string;
  readonly attributes: string;
  readonly indexes: string;
}

/** The backend of an application with a database of its own. */
interface Backend {
  readonly key: Client;
  readonly databaseId: string;
  collection(given?: CollectionGiven): Promise<TestCollection>;
}

let made = 0;

/** Makes a database and a key with every scope. */
export async function aBackend(target: TestAppliance): Promise<Backend> {
  made += 1;
  const databaseId = `database-${made}`;
  const { client: key } = await aServerKey(target);
  (await key.post('/databases', { databaseId, name: 'Test' })).expect(201);
  return {
    key,
    databaseId,
    collection: async ({ attributes = {}, ...given } = {}) => {
      made += 1;
      const id = `collection-${made}`;
      const base = `/databases/${databaseId}/collections`;
      (await key.post(base, { collectionId: id, name: 'Test', ...given })).expect(201);
      const path = `${base}/${id}`;
      for (const [name, attribute] of Object.entries(attributes)) await addAttribute(key, path, name, attribute);
      const below = { documents: `${path}/documents`, attributes: `${path}/attributes`, indexes: `${path}/indexes` };
      return { databaseId, id, path, ...below };
    },
  };
}

/** Adds an attribute to the collection at a path. */
export async function addAttribute(
  key: Client,
  path: string,
  name: string,
  { type, ...rest }: AttributeGiven,
): Promise<void> {
  const body = { key: name, required: false, ...rest };
  // 64 bits are exact only in text of our own.
  (await key.post(`${path}/attributes/${type}`, printJson(body))).expect(202);
}

/** The query string of a list. */
export function queryString(queries: readonly unknown[], more: Readonly<Record<string, string>> = {}): string {
  const parameters = new URLSearchParams(more);
  for (const [index, query] of queries.entries()) parameters.append(`queries[${index}]`, printJson(query));
  return `?${parameters}`;
}

/** Runs jobs, a few at a time. */
export async function inParallel(width: number, jobs: Iterable<() => Promise<void>>): Promise<void> {
  const queue = jobs[Symbol.iterator]();
  const worker = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) await next.value();
  };
  await Promise.all(Array.from({ length: width }, worker));
}
