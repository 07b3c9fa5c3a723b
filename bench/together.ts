import { article, createCollection, documentsPath } from './articles.js';
import { type Maker, make } from './maker.js';
import type { BenchRequest } from './request.js';
import type { ComparisonScenario, ThroughputScenario } from './scenario-kinds.js';
import type { World } from './world.js';

/** Documents of a bulk request. */
const documents = 20;
/** Related documents of a nested create. */
const related = 4;
/** How many different requests a load is made of. */
const different = 1000;

const [batches, posts, comments] = ['batches', 'posts', 'comments'];

/** Makes the collections whose documents are written several at a time. */
export async function createTogether(maker: Maker): Promise<void> {
  await createCollection(maker, batches, { permissions: [] });
  for (let batch = 0; batch < different; batch += 1)
    await make(maker, documentsPath(batches), { documents: batchOf(batch, `first${batch}`) });
  await createCollection(maker, comments, { permissions: [] });
  await createCollection(maker, posts, { permissions: [] });
  const relationship = { relatedCollectionId: comments, type: 'oneToMany', twoWay: true, onDelete: 'cascade' };
  const path = documentsPath(posts).replace(/documents$/, 'attributes/relationship');
  await make(maker, path, { ...relationship, key: 'comments', twoWayKey: 'post' }, 202);
}

/** Loads of requests that write several documents each. */
export const togetherScenarios: readonly ThroughputScenario[] = [
  scenario(`bulk create of ${documents}`, 201, (turn) => ({
    method: 'POST',
    path: documentsPath(batches),
    body: { documents: batchOf(turn) },
  })),
  scenario(`bulk update of ${documents}`, 200, (turn) => ({
    method: 'PATCH',
    path: documentsPath(batches),
    body: {
      data: { views: turn },
      queries: [JSON.stringify({ method: 'equal', attribute: 'author', values: [`first${turn}`] })],
    },
  })),
  scenario(`nested create of ${related}`, 201, (turn) => ({
    method: 'POST',
    path: documentsPath(posts),
    body: {
      documentId: 'unique()',
      data: { ...article(turn), comments: Array.from({ length: related }, (_, at) => article(at)) },
    },
  })),
];

/** Documents of a transaction. */
const staged = 4;

/** Transactions of three requests each: begin, stage and commit. They are held against creates of the same documents one by one. */
export const transactionScenario: ComparisonScenario = {
  kind: 'comparison',
  name: `transaction of ${staged}`,
  connections: 32,
  requests: (world) => Array.from({ length: different }, (_, turn) => transaction(world, turn)).flat(),
  sequence: 3,
  base: (world) => Array.from({ length: different }, (_, turn) => withKey(world, createOne(turn))),
  status: 201,
};

function transaction(world: World, turn: number): BenchRequest[] {
  const path = '/v1/databases/transactions';
  const place = { databaseId: world.articles.database, collectionId: batches };
  const operations = Array.from({ length: staged }, (_, at) => ({
    ...place,
    action: 'create',
    documentId: 'unique()',
    data: article(turn + at),
  }));
  return [
    withKey(world, { method: 'POST', path, body: {} }),
    withKey(world, { method: 'POST', path: `${path}/{id}/operations`, body: { operations } }),
    withKey(world, { method: 'PATCH', path: `${path}/{id}`, body: { commit: true } }),
  ];
}

function createOne(turn: number): Unsigned {
  return {
    method: 'POST',
    path: documentsPath(batches),
    body: { documentId: 'unique()', data: article(turn) },
  };
}

function batchOf(batch: number, author?: string): object[] {
  return Array.from({ length: documents }, (_, at) => ({
    $id: 'unique()',
    ...article(batch + at),
    ...(author === undefined ? {} : { author }),
  }));
}

function scenario(name: string, status: number, make: (turn: number) => Unsigned): ThroughputScenario {
  const requests = (world: World): BenchRequest[] =>
    Array.from({ length: different }, (_, turn) => withKey(world, make(turn)));
  return { kind: 'throughput', name, connections: 32, requests, status };
}

type Unsigned = Pick<BenchRequest, 'method' | 'path' | 'body'>;

function withKey({ project, key }: World, request: Unsigned): BenchRequest {
  return { ...request, headers: { 'X-Service-Project': project, 'X-Service-Key': key } };
}
