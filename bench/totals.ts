import { createCollection, documentsPath } from './articles.js';
import { expectStatus, forEachNumber, type Maker, make } from './maker.js';
import type { BenchRequest } from './request.js';
import type { ComparisonScenario } from './scenario-kinds.js';
import { search } from './secured.js';
import type { World } from './world.js';

const collection = 'counted';
const documents = 10_000;

/** Matches of a list, and the attribute that has each value so often. */
const matches = [
  { count: 250, key: 'section' },
  { count: 5000, key: 'half' },
] as const;

const groupOf = (number: number, count: number) => `value${number % (documents / count)}`;

/** Makes a collection with document security, whose documents every user may read. */
export async function createCounted(maker: Maker): Promise<void> {
  await createCollection(maker, collection, { permissions: [], documentSecurity: true });
  const path = documentsPath(collection).replace(/\/documents$/, '');
  for (const { key } of matches) {
    await make(maker, `${path}/attributes/string`, { key, size: 36, required: true }, 202);
    const index = { key: `by_${key}`, type: 'key', attributes: [key, 'publishedAt'], orders: ['ASC', 'DESC'] };
    await make(maker, `${path}/indexes`, index, 202);
  }
  await forEachNumber(documents, (number) => {
    const data = {
      ...{ title: `Article ${number}`, body: `Paragraph ${number}. `.repeat(20), author: 'author', state: 'draft' },
      publishedAt: new Date(Date.UTC(2026, 0, 1) + number * 60_000).toISOString(),
      ...Object.fromEntries(matches.map(({ key, count }) => [key, groupOf(number, count)])),
    };
    return make(maker, documentsPath(collection), { data, documentId: `c${number}`, permissions: ['read("users")'] });
  });
}

function lists(key: string, count: number, rest: string): (world: World) => BenchRequest[] {
  return ({ project, sessions }) =>
    sessions.map((session, turn) => {
      const queries = [
        { method: 'equal', attribute: key, values: [groupOf(turn, count)] },
        { method: 'orderDesc', attribute: 'publishedAt' },
        { method: 'limit', values: [25] },
      ];
      return {
        method: 'GET',
        path: `${documentsPath(collection)}?${search(queries)}${rest}`,
        headers: { 'X-Service-Project': project, 'X-Service-Session': session },
      };
    });
}

/** Lists of 25 with their total, held against the same lists without it. */
export const totalScenarios: readonly ComparisonScenario[] = matches.map(({ count, key }) => ({
  kind: 'comparison',
  name: `total of ${count}`,
  connections: 32,
  requests: lists(key, count, ''),
  base: lists(key, count, '&total=false'),
  status: 200,
  target: 0.5,
}));

/** Checks that the lists count what their names say. */
export async function checkCounted({ port }: Pick<Maker, 'port'>, world: World): Promise<void> {
  for (const { count, key } of matches) {
    const [request] = lists(key, count, '')(world);
    const { total } = request === undefined ? {} : await expectStatus(request, port, 200);
    if (total !== count) throw new Error(`a total of ${total} in place of ${count}`);
  }
}
