// The collections of the project, as the service lists them to a server key.
import { get, onKey, say, serverKey } from './access.js';

/** A list that was read this recently is used again. */
const freshMs = 5000;
const query = `queries[]=${encodeURIComponent('{"method":"limit","values":[500]}')}`;

const listeners = new Set();
let collections = [];
let readAt = Number.NEGATIVE_INFINITY;
let reading;

/** The collections that were read last: `{ databaseId, id, name, attributes }`. */
export const currentCollections = () => collections;

/** Calls this function after each change of the list. Returns a function that ends this. */
export function onCollections(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the collections, which are read again unless that was a moment ago. Empty without a key or if it lacks a scope. */
export async function freshCollections() {
  if (serverKey() === '') return [];
  if (performance.now() - readAt > freshMs) {
    reading ??= readAll().finally(() => {
      reading = undefined;
    });
    await reading;
  }
  return collections;
}

async function readAll() {
  try {
    const { databases } = JSON.parse(await get(`databases?${query}`));
    const lists = await Promise.all(
      databases.map(async ({ $id: databaseId }) => {
        const list = JSON.parse(await get(`databases/${encodeURIComponent(databaseId)}/collections?${query}`));
        return list.collections.map(({ $id: id, name, attributes }) => ({ databaseId, id, name, attributes }));
      }),
    );
    publish(lists.flat());
    say('read');
  } catch (error) {
    publish([]);
    say('failed', error.message);
  }
  readAt = performance.now();
}

function publish(list) {
  collections = list;
  for (const listener of listeners) listener();
}

onKey(() => {
  readAt = Number.NEGATIVE_INFINITY;
  say('loading');
  if (serverKey() === '') publish([]);
  else freshCollections();
});
