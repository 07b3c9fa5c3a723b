// What describes a project follows its relationships at once, on every process: /openapi.json, and what GraphQL tells of collections. The schema that
// GraphQL answers with is one for all projects, as documents are JSON there, so it stays as it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery, printSchema } from 'graphql';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { graphql } from './graphql.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();
const { key, databaseId, collection } = await aBackend(target);
const { secret } = await aServerKey(target);
const clients = [createClient(target, { key: secret }), createClient(sibling, { key: secret })];

/** The members of a schema in the document that a process serves; null where there is no such schema. */
async function described(client: Client, name: string): Promise<string[] | null> {
  const { components } = JSON.parse((await client.get('/openapi.json')).expect(200).text);
  const schema = components.schemas[name];
  return schema === undefined ? null : Object.keys(schema.properties).filter((member) => !member.startsWith('$'));
}

/** The attributes of a collection as GraphQL lists them. */
async function listed(client: Client, id: string): Promise<string[]> {
  const query = 'query($db: String!) { collectionList(databaseId: $db) { collections { id attributes } } }';
  const { data, errors } = await graphql(client, query, { db: databaseId });
  assert.deepEqual(errors, []);
  const all = data.collectionList?.collections as { id: string; attributes: { key: string }[] }[];
  return all.find((one) => one.id === id)?.attributes.map(({ key: name }) => name) ?? [];
}

async function sdlOf(client: Client): Promise<string> {
  const { data } = await graphql(client, getIntrospectionQuery());
  return printSchema(buildClientSchema(data as unknown as IntrospectionQuery));
}

test('only a server key that may read collections is told of them', async () => {
  const books = await collection({ attributes: { title: { type: 'string', size: 9 } } });
  const name = `Row.${databaseId}.${books.id}`;
  const { client: reader } = await aServerKey(target, { scopes: ['collections.read'] });
  assert.deepEqual(await described(reader, name), ['title']);
  const { client: other } = await aServerKey(target, {
    scopes: ['databases.read', 'documents.read', 'documents.write'],
  });
  for (const client of [other, createClient(target)]) assert.equal(await described(client, name), null);
});

test('a relationship is described as soon as it is there, and not any more when it is gone', async () => {
  const books = await collection({ attributes: { title: { type: 'string', size: 9 } } });
  const people = await collection({ attributes: { name: { type: 'string', size: 9 } } });
  const sdl = await sdlOf(key);
  const all = async (ofBooks: readonly string[], ofPeople: readonly string[]) => {
    for (const client of clients) {
      for (const shape of ['Document', 'Row', 'Data', 'Changes']) {
        assert.deepEqual(await described(client, `${shape}.${databaseId}.${books.id}`), ofBooks, shape);
        assert.deepEqual(await described(client, `${shape}.${databaseId}.${people.id}`), ofPeople, shape);
      }
      assert.deepEqual(await listed(client, books.id), ofBooks);
      assert.deepEqual(await listed(client, people.id), ofPeople);
      assert.equal(await sdlOf(client), sdl);
    }
  };
  await all(['title'], ['name']);
  const relation = {
    relatedCollectionId: people.id,
    type: 'manyToOne',
    key: 'author',
    twoWay: true,
    twoWayKey: 'works',
  };
  (await key.post(`${books.attributes}/relationship`, relation)).expect(202);
  await all(['title', 'author'], ['name', 'works']);
  (await key.patch(`${books.attributes}/relationship/author`, { newKey: 'writer' })).expect(200);
  await all(['title', 'writer'], ['name', 'works']);
  (await key.delete(`${people.attributes}/works`)).expect(204);
  await all(['title'], ['name']);
  (await key.delete(people.path)).expect(204);
  for (const client of clients) assert.equal(await described(client, `Row.${databaseId}.${people.id}`), null);
});
