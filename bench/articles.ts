import { forEachNumber, type Maker, make } from './maker.js';

/** Two collections of the same shape: one that is read, and one that only grows. Any signed-in user may read and create. */
export interface Articles {
  readonly database: string;
  readonly collection: string;
  readonly growing: string;
  readonly ids: readonly string[];
  readonly authors: readonly string[];
}

const count = 10_000;
const database = 'press';
const authors = Array.from({ length: 100 }, (_, number) => authorName(number));

const path = (collection?: string, rest = '') =>
  `/v1/databases${collection === undefined ? '' : `/${database}/collections${collection}`}${rest}`;

/** The path of the documents of a collection. */
export function documentsPath(collection: string): string {
  return path(`/${collection}`, '/documents');
}

/** The value of `author` of the articles of one author. */
export function authorName(number: number): string {
  return `author${number}`;
}

/** What an article holds: eight attributes of usual types and sizes. */
export function article(number: number, authorCount = authors.length): Record<string, unknown> {
  return {
    title: `What article number ${number} has to say about its subject`,
    body: `Paragraph ${number}. `.repeat(20),
    author: authorName(number % authorCount),
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
  await make(maker, path(), { databaseId: database, name: 'Press' });
  for (const collection of ['articles', 'submissions'])
    await createCollection(maker, collection, { permissions: ['read("users")', 'create("users")'] });
  const ids = await forEachNumber(count, async (number) => {
    const documentId = `article${number}`;
    await make(maker, documentsPath('articles'), { documentId, data: article(number), permissions: [] });
    return documentId;
  });
  return { database, collection: 'articles', growing: 'submissions', ids, authors };
}

/** Makes an empty collection of articles. */
export async function createCollection(
  maker: Maker,
  collectionId: string,
  access: { readonly permissions: readonly string[]; readonly documentSecurity?: boolean },
): Promise<void> {
  await make(maker, path(''), { collectionId, name: collectionId, ...access });
  for (const [type, body] of attributes) await make(maker, path(`/${collectionId}`, `/attributes/${type}`), body, 202);
  const index = { key: 'by_author', type: 'key', attributes: ['author', 'publishedAt'], orders: ['ASC', 'DESC'] };
  await make(maker, path(`/${collectionId}`, '/indexes'), index, 202);
}
