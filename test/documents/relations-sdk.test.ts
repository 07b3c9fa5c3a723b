// Relationships by the unmodified Databases and TablesDB of node-appwrite.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Databases, Query, TablesDB } from 'node-appwrite';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { refused } from './sdk.js';

const target = await startAppliance();
const { secret } = await aServerKey(target);
const client = new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id).setKey(secret);
const [databases, tables] = [new Databases(client), new TablesDB(client)];
const databaseId = 'blog';
type Any = Record<string, unknown>;

test('both services make, write, read and delete relationships', async () => {
  await databases.create({ databaseId, name: 'Blog' });
  for (const collectionId of ['authors', 'books']) {
    await databases.createCollection({ databaseId, collectionId, name: collectionId });
    await databases.createStringAttribute({ databaseId, collectionId, key: 'name', size: 50, required: false });
  }
  const relation = { databaseId, collectionId: 'books', relatedCollectionId: 'authors', type: 'manyToOne' as never };
  const more = { twoWay: true, key: 'author', twoWayKey: 'books', onDelete: 'restrict' as never };
  const made = (await databases.createRelationshipAttribute({ ...relation, ...more })) as unknown as Any;
  assert.deepEqual([made.relatedCollection, made.relationType, made.side], ['authors', 'manyToOne', 'parent']);
  const ofBooks = { databaseId, tableId: 'books' };
  const column = (await tables.getColumn({ ...ofBooks, key: 'author' })) as unknown as Any;
  assert.deepEqual([column.relatedTable, column.type], ['authors', 'relationship']);
  const changed = await tables.updateRelationshipColumn({ ...ofBooks, key: 'author', onDelete: 'cascade' as never });
  assert.equal(changed.onDelete, 'cascade');
  const again = { databaseId, collectionId: 'books', key: 'author', onDelete: 'restrict' as never };
  assert.equal((await databases.updateRelationshipAttribute(again)).onDelete, 'restrict');

  const data: Any = { name: 'One', author: { $id: 'ann', name: 'Ann' } };
  const book = (await tables.createRow({ ...ofBooks, rowId: 'one', data: data as never })) as unknown as Any;
  const author = book.author as Any;
  assert.deepEqual([author.$id, author.name, author.$tableId], ['ann', 'Ann', 'authors']);
  const linked = await tables.createRow({ ...ofBooks, rowId: 'two', data: { author: 'ann' } as never });
  assert.equal((linked as unknown as Any).author, 'ann');
  await tables.deleteRow({ ...ofBooks, rowId: 'two' });
  const queries = [Query.select(['*', 'author.*'])];
  const row = (await tables.getRow({ ...ofBooks, rowId: 'one', queries })) as unknown as { author: Any };
  assert.deepEqual([row.author.name, row.author.$tableId], ['Ann', 'authors']);
  const collectionId = 'authors';
  const related = { databaseId, collectionId, queries: [Query.select(['name', 'books.name'])] };
  const { documents } = await databases.listDocuments(related);
  assert.deepEqual(
    (documents as unknown as { books: Any[] }[]).map(({ books }) => books.map(({ name }) => name)),
    [['One']],
  );
  await refused(
    databases.deleteDocument({ databaseId, collectionId, documentId: 'ann' }),
    403,
    'document_delete_restricted',
  );
  await refused(tables.deleteRow({ databaseId, tableId: 'authors', rowId: 'ann' }), 403, 'row_delete_restricted');
  await databases.deleteAttribute({ databaseId, collectionId: 'books', key: 'author' });
  await databases.deleteDocument({ databaseId, collectionId, documentId: 'ann' });
});
