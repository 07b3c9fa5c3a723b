import { article, documentsPath } from './articles.js';
import type { BenchRequest } from './request.js';
import type { World } from './world.js';

/** How many different requests a load is made of: as many as there are articles, so that each is asked for, and every session several times. */
const different = 10_000;

const session = ({ project, sessions }: World, turn: number): Record<string, string> => ({
  'X-Service-Project': project,
  'X-Service-Session': sessions[turn % sessions.length] ?? '',
});
const turns = <T>(make: (turn: number) => T): T[] => Array.from({ length: different }, (_, turn) => make(turn));
const pick = <T>(list: readonly T[], turn: number): T => list[(turn * 37) % list.length] as T;
const newestOf = (author: string) => [
  JSON.stringify({ method: 'equal', attribute: 'author', values: [author] }),
  JSON.stringify({ method: 'orderDesc', attribute: 'publishedAt' }),
  JSON.stringify({ method: 'limit', values: [25] }),
];

/** One article by its id. */
export const getDocument = (world: World): BenchRequest[] =>
  turns((turn) => ({
    method: 'GET',
    path: `${documentsPath(world.articles.collection)}/${pick(world.articles.ids, turn)}`,
    headers: session(world, turn),
  }));

/** The newest 25 of an author's hundred articles, with their number. */
export const listDocuments = (world: World): BenchRequest[] =>
  turns((turn) => {
    const queries = newestOf(pick(world.articles.authors, turn));
    const search = queries.map((query, at) => `queries%5B${at}%5D=${encodeURIComponent(query)}`).join('&');
    return {
      method: 'GET',
      path: `${documentsPath(world.articles.collection)}?${search}`,
      headers: session(world, turn),
    };
  });

/** Pages of 2 500 articles, of more than a megabyte each. */
export const listMany = (world: World): BenchRequest[] =>
  turns((turn) => {
    const query = encodeURIComponent(JSON.stringify({ method: 'limit', values: [2500] }));
    return {
      method: 'GET',
      path: `${documentsPath(world.articles.collection)}?queries%5B0%5D=${query}&total=false`,
      headers: session(world, turn),
    };
  });

/** A new article; its creator may change and delete it, as by default. */
export const createDocument = (world: World): BenchRequest[] =>
  turns((turn) => ({
    method: 'POST',
    path: documentsPath(world.articles.growing),
    headers: session(world, turn),
    body: { documentId: 'unique()', data: article(turn) },
  }));

const graphql = (world: World, turn: number, query: string, variables: object): BenchRequest => ({
  method: 'POST',
  path: '/v1/graphql',
  headers: session(world, turn),
  body: {
    query,
    variables: { database: world.articles.database, collection: world.articles.collection, ...variables },
  },
});

/** The same articles as `getDocument` asks for. */
export const graphqlGet = (world: World): BenchRequest[] =>
  turns((turn) =>
    graphql(
      world,
      turn,
      `query ($database: String!, $collection: String!, $id: String!) {
        documentGet(databaseId: $database, collectionId: $collection, documentId: $id) { id data permissions createdAt updatedAt }
      }`,
      { id: pick(world.articles.ids, turn) },
    ),
  );

/** The same pages as `listDocuments` asks for. */
export const graphqlList = (world: World): BenchRequest[] =>
  turns((turn) =>
    graphql(
      world,
      turn,
      `query ($database: String!, $collection: String!, $queries: [String!]) {
        documentList(databaseId: $database, collectionId: $collection, queries: $queries) {
          total documents { id data permissions createdAt updatedAt }
        }
      }`,
      { queries: newestOf(pick(world.articles.authors, turn)) },
    ),
  );
