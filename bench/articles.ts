import { type BenchRequest, sendOnce } from './request.js';

/** Two collections of the same shape: one that is read, and one that only grows. Any signed-in user may read and create. */
export interface Articles {
  readonly database: string;
  readonly collection: string;
  readonly growing: string;
  readonly ids: readonly string[];
  readonly authors: readonly string[];
}

/** Who makes the collections, and where. */
export interface Maker {
  readonly port: number;
  readonly project: string;
  readonly key: string;
}

const count = 10_000;
const atOnce = 32;
const database = 'press';
const authors = Array.from({ length: 100 }, (_, number) => `author${number}`);

const path = (collection?: string, rest = '') =>
  `/v1/databases${collection === undefined ? '' : `/${database}/collections${collection}`}${rest}`;

/** The path of the documents of a collection. */
export function documentsPath(collection: string): string {
  return path(`/${collection}`, '/documents');
}

/** What an article holds: eight attributes of usual types and sizes. */
export function article(number: number): Record<string, unknown> {
  return {
    title: `What article number ${number} has to say about its subject`,
    body: `Paragraph ${number}. `.repeat(20),
    author: authors[number % authors.length],
    state: number % 4 === 0 ? 'draft' : 'published',
    views: number * 37,
    rating: (number % 50) / 10,
    featured: number % 10 === 0,
    publishedAt: new Date(Date.UTC(2026, 0, 1) + number * 60_000).toISOString(),
  };
}

const attributes = [
  ['string', { key: 'title', size: 200, required: true }],
  ['string', { key: 'body', size: 20_000, required: true }],
  ['string', { key: 'author', size: 36, required: true }],
  ['enum', { key: 'state', elements: ['draft', 'published'], required: true }],
  ['integer', { key: 'views', required: false, default: 0, min: 0 }],
  ['float', { key: 'rating', required: false }],
  ['boolean', { key: 'featured', required: false, default: false }],
  ['datetime', { key: 'publishedAt', required: false }],
] as const;

/** Makes the database, both collections and the articles of the first. */
export async function createArticles(maker: Maker): Promise<Articles> {
  await expect(maker, path(), { databaseId: database, name: 'Press' }, 201);
  for (const collection of ['articles', 'submissions']) await createCollection(maker, collection);
  const ids = Array.from({ length: count }, (_, number) => `article${number}`);
  let next = 0;
  const fill = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) {
      const body = { documentId: ids[number], data: article(number), permissions: [] };
      await expect(maker, documentsPath('articles'), body, 201);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, fill));
  return { database, collection: 'articles', growing: 'submissions', ids, authors };
}

async function createCollection(maker: Maker, collectionId: string): Promise<void> {
  const permissions = ['read("users")', 'create("users")'];
  await expect(maker, path(''), { collectionId, name: collectionId, permissions }, 201);
  for (const [type, body] of attributes)
    await expect(maker, path(`/${collectionId}`, `/attributes/${type}`), body, 202);
  const index = { key: 'by_author', type: 'key', attributes: ['author', 'publishedAt'], orders: ['ASC', 'DESC'] };
  await expect(maker, path(`/${collectionId}`, '/indexes'), index, 202);
}

async function expect({ port, project, key }: Maker, to: string, body: object, status: number): Promise<void> {
  const headers = { 'X-Service-Project': project, 'X-Service-Key': key };
  const request: BenchRequest = { method: 'POST', path: to, headers, body };
  const response = await sendOnce(request, port);
  const text = await response.text();
  if (response.status !== status) throw new Error(`POST ${to}: ${response.status} ${text}`);
}
