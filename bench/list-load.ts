import { authorName, documentsPath } from './articles.js';
import type { BenchRequest } from './request.js';
import type { Scenario } from './scenario-kinds.js';
import { type Audience, audiences, documentId, documentsOfOwner, search } from './secured.js';
import type { World } from './world.js';

/** A list of 25 of the collections with document security, by the number of the request. */
type ListKind = (world: World, audience: Audience, turn: number) => readonly object[];

const limit = { method: 'limit', values: [25] };
const newestFirst = { method: 'orderDesc', attribute: '$createdAt' };

const kinds: Readonly<Record<string, ListKind>> = {
  newest: () => [newestFirst, limit],
  // Of an owner's documents the author has the same number.
  'by index': ({ secured, owners }, audience, turn) => [
    {
      method: 'equal',
      attribute: 'author',
      values: [authorName(audience === 'owner' ? turn % owners.length : (turn * 37) % secured.owners)],
    },
    { method: 'orderDesc', attribute: 'publishedAt' },
    limit,
  ],
  cursor: (world, audience, turn) => [
    newestFirst,
    limit,
    { method: 'cursorAfter', values: [documentId(deepInside(world, audience, turn))] },
  ],
  default: () => [],
};

/** A document in the middle half of those that the caller sees, another one for each request. */
function deepInside({ secured, owners }: World, audience: Audience, turn: number): number {
  // Documents come in turns of one for each owner; the middle half begins after a quarter of the turns.
  const [first, half] = [documentsOfOwner / 4, documentsOfOwner / 2];
  if (audience !== 'owner') return first * secured.owners + ((turn * 7919) % (half * secured.owners));
  return (first + (Math.floor(turn / owners.length) % half)) * secured.owners + (turn % owners.length);
}

function requestsOf(kind: ListKind, audience: Audience, counted: boolean): (world: World) => BenchRequest[] {
  return (world) => {
    const sessions = audience === 'owner' ? world.ownerSessions : world.sessions;
    return sessions.map((session, turn) => {
      const parts = [search(kind(world, audience, turn)), counted ? '' : 'total=false'].filter((part) => part !== '');
      return {
        method: 'GET',
        path: `${documentsPath(audience)}${parts.length === 0 ? '' : `?${parts.join('&')}`}`,
        headers: { 'X-Service-Project': world.project, 'X-Service-Session': session },
      };
    });
  };
}

/** Documents of the collections with document security, each by its id. */
export const getScenarios: readonly Scenario[] = audiences.map((audience) => ({
  kind: 'throughput',
  name: `get, ${audience}`,
  connections: 32,
  requests: (world) =>
    (audience === 'owner' ? world.ownerSessions : world.sessions).map((session, turn) => ({
      method: 'GET',
      path: `${documentsPath(audience)}/${documentId(deepInside(world, audience, turn))}`,
      headers: { 'X-Service-Project': world.project, 'X-Service-Session': session },
    })),
  status: 200,
  audience,
}));

/** The lists with document security: each kind for each audience, with and without a total. */
export const listScenarios: readonly Scenario[] = Object.entries(kinds).flatMap(([name, kind]) =>
  audiences.flatMap((audience) =>
    [true, false].map((counted) => ({
      kind: 'throughput' as const,
      name: `${name}, ${audience}${counted ? '' : ', no total'}`,
      connections: 32,
      requests: requestsOf(kind, audience, counted),
      status: 200,
      audience,
      ...(counted ? { target: { sqlite: 0.2, postgres: 0.1 } } : {}),
    })),
  ),
);
