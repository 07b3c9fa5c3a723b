// The unmodified SDKs of the last four major versions, and the web SDK that names channels in the address: an account, documents, a file and
// an event with each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as web28 from 'appwrite';
import * as web24 from 'appwrite-24';
import * as web25 from 'appwrite-25';
import * as web26 from 'appwrite-26';
import * as web27 from 'appwrite-27';
import * as node27 from 'node-appwrite';
import * as node24 from 'node-appwrite-24';
import * as node25 from 'node-appwrite-25';
import * as node26 from 'node-appwrite-26';
import { numbered } from '../feed/sse.js';
import { aServerKey, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { actAsBrowser } from '../realtime/as-browser.js';
import { eventually } from '../webhooks/setup.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { secret: key } = await aServerKey(target);
const backend = await aBackend(target);
const some = await backend.collection({
  permissions: ['read("any")', 'create("users")', 'update("users")'],
  attributes: { title: { type: 'string', size: 50 }, n: { type: 'integer' } },
});
const place = { databaseId: some.databaseId, collectionId: some.id };
(
  await backend.key.post('/storage/buckets', {
    bucketId: 'files',
    name: 'Files',
    permissions: ['create("any")', 'read("any")'],
  })
).expect(201);
actAsBrowser();

for (const [version, sdk] of [
  ['24', node24 as unknown as typeof node27],
  ['25', node25 as unknown as typeof node27],
  ['26', node26 as unknown as typeof node27],
  ['27', node27],
] as const) {
  test(`node-appwrite ${version} keeps users, schema, documents and files`, async () => {
    const client = new sdk.Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id).setKey(key);
    const users = new sdk.Users(client);
    const email = `node${version}@mail.example`;
    const user = await users.create({ userId: sdk.ID.unique(), email, password: 'a fine password', name: 'Ada' });
    assert.equal((await users.list({ queries: [sdk.Query.equal('email', [email])] })).users[0]?.$id, user.$id);

    const tables = new sdk.TablesDB(client);
    const databaseId = `with-${version}`;
    const table = { databaseId, tableId: 'posts' };
    await tables.create({ databaseId, name: 'Blog' });
    await tables.createTable({ ...table, name: 'Posts', permissions: [sdk.Permission.read(sdk.Role.any())] });
    await tables.createIntegerColumn({ ...table, key: 'views', required: false, min: 0, max: 100 });
    await tables.createIndex({
      ...table,
      key: 'by_views',
      type: 'key' as never,
      columns: ['views'],
    });
    for (const views of [1, 5, 9]) await tables.createRow({ ...table, rowId: sdk.ID.unique(), data: { views } });
    const queries = [sdk.Query.greaterThan('views', 2), sdk.Query.orderDesc('views')];
    const rows = await tables.listRows({ ...table, queries });
    assert.deepEqual([rows.total, rows.rows.map(({ views }) => views)], [2, [9, 5]]);

    const bytes = Buffer.from(`by ${version}`);
    const { InputFile } = await import(version === '27' ? 'node-appwrite/file' : `node-appwrite-${version}/file`);
    const storage = new sdk.Storage(client);
    const file = await storage.createFile({
      bucketId: 'files',
      fileId: sdk.ID.unique(),
      file: InputFile.fromBuffer(bytes, 'a.txt'),
    });
    assert.equal(
      Buffer.from(await storage.getFileDownload({ bucketId: 'files', fileId: file.$id })).toString(),
      String(bytes),
    );
  });
}

for (const [version, sdk] of [
  ['24', web24 as unknown as typeof web28],
  ['25', web25 as unknown as typeof web28],
  ['26', web26 as unknown as typeof web28],
  ['27', web27 as unknown as typeof web28],
  ['28', web28],
] as const) {
  test(`appwrite ${version} signs up, logs in, writes documents and receives their events`, async () => {
    const client = new sdk.Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
    const account = new sdk.Account(client);
    const person = { email: `web${version}@mail.example`, password: 'a fine password' };
    const made = await account.create({ userId: sdk.ID.unique(), ...person, name: 'Ada' });
    // Node.js keeps no cookies: the session of a server takes their place.
    const { secret } = await logIn(target, { id: made.$id, name: 'Ada', ...person });
    client.setSession(secret);
    assert.equal((await account.get()).email, person.email);

    const told: unknown[] = [];
    await numbered(target);
    const channel = `databases.${some.databaseId}.collections.${some.id}.documents`;
    const end = client.subscribe<{ n?: number }>(channel, ({ payload, events }) => {
      told.push([payload.n, events.includes('databases.*.collections.*.documents.*.create')]);
    });
    const databases = new sdk.Databases(client);
    const create = (n: number) =>
      databases.createDocument({ ...place, documentId: sdk.ID.unique(), data: { title: `by ${version}`, n } });
    // The SDK does not say when it is subscribed.
    await eventually(async () => {
      await create(0);
      assert.ok(told.length > 0);
    });
    const { $id: documentId } = await create(1);
    await eventually(() => assert.deepEqual(told.at(-1), [1, true]));
    end();
    assert.equal((await databases.updateDocument({ ...place, documentId, data: { n: 2 } })).n, 2);
    const queries = [sdk.Query.equal('n', [2]), sdk.Query.equal('title', [`by ${version}`])];
    assert.equal((await databases.listDocuments({ ...place, queries })).documents[0]?.$id, documentId);
  });
}
