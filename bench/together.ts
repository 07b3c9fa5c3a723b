import { article, createCollection, documentsPath } from './articles.js';
import { type Maker, make } from './maker.js';
import type { BenchRequest } from './request.js';
import type { ThroughputScenario } from './scenario-kinds.js';
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

function batchOf(batch: number, author?: string): object[] {
  return Array.from({ length: documents }, (_, at) => ({
    $id: 'unique()',
    ...article(batch + at),
    ...(author === undefined ? {} : { author }),
  }));
}

function scenario(
  name: string,
  status: number,
  make: (turn: number) => Pick<BenchRequest, 'method' | 'path' | 'body'>,
): ThroughputScenario {
  const requests = ({ project, key }: World): BenchRequest[] =>
    Array.from({ length: different }, (_, turn) => ({
      ...make(turn),
      headers: { 'X-Service-Project': project, 'X-Service-Key': key },
    }));
  return { kind: 'throughput', name, connections: 32, requests, status };
}
