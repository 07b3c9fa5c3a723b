// A collection with attributes of every kind and documents in it, made anew whenever the attack has taken it away.
import type { Callers } from './callers.js';
import type { Pool } from './pool.js';
import type { Wire } from './wire.js';

const attributes: readonly (readonly [string, object])[] = [
  ['string', { key: 'title', size: 200, required: false }],
  ['string', { key: 'body', size: 100_000, required: false }],
  ['string', { key: 'tags', size: 50, required: false, array: true }],
  ['integer', { key: 'count', required: false }],
  ['integer', { key: 'numbers', required: false, array: true }],
  ['float', { key: 'ratio', required: false, min: -5, max: 5 }],
  ['boolean', { key: 'done', required: false }],
  ['datetime', { key: 'due', required: false }],
  ['email', { key: 'mail', required: false }],
  ['url', { key: 'link', required: false }],
  ['ip', { key: 'host', required: false }],
  ['enum', { key: 'kind', required: false, elements: ['a', 'b', 'c'] }],
];

/** Keeps something in place that requests can be about. */
export function createFurniture(wire: Wire, { post, upkeep }: Callers, pool: Pool) {
  let path = '';
  let number = 0;
  const get = (target: string) =>
    wire.send({
      method: 'GET',
      target: `/v1${target}`,
      headers: Object.entries(upkeep),
      body: undefined,
      chunked: false,
    });

  const furnish = async (): Promise<void> => {
    number += 1;
    const ids = { databaseId: `base-${number}`, collectionId: 'notes' };
    await post(upkeep, '/databases', { databaseId: ids.databaseId, name: 'Base' });
    const permissions = ['read', 'create', 'update', 'delete'].map((action) => `${action}("any")`);
    const collections = `/databases/${ids.databaseId}/collections`;
    await post(upkeep, collections, { collectionId: 'notes', name: 'Notes', permissions, documentSecurity: true });
    path = `${collections}/notes`;
    const bucketId = `bucket-${number}`;
    await post(upkeep, '/storage/buckets', { bucketId, name: 'Files', permissions, fileSecurity: true });
    pool.add('bucketId', { bucketId });
    for (const [type, given] of attributes) await post(upkeep, `${path}/attributes/${type}`, given);
    await post(upkeep, `${path}/indexes`, { key: 'by-count', type: 'key', attributes: ['count'] });
    await post(upkeep, `${path}/indexes`, { key: 'by-title', type: 'unique', attributes: ['title'] });
    for (let at = 0; at < 20; at++) {
      const data = {
        title: `Title ${at}`,
        body: 'text '.repeat(at),
        tags: ['a', 'b'],
        count: at,
        ratio: at / 10,
        kind: 'a',
      };
      const { $id = '' } = await post(upkeep, `${path}/documents`, { documentId: `note-${at}`, data });
      pool.add('documentId', { ...ids, documentId: $id });
    }
    const collection = await get(path);
    pool.add('databaseId', { databaseId: ids.databaseId });
    pool.learnCollection(ids, JSON.parse(collection.text));
  };
  return {
    /** Furnishes again where that is needed; the attack may take things away meanwhile. */
    keep: async (): Promise<void> => {
      if (path !== '' && (await get(path)).status !== 404) return;
      await furnish().catch((error: unknown) => {
        if (number === 1) throw error;
      });
    },
  };
}
