// Documents in compressed responses: for whom, and with which tags. What could hold a secret is never compressed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { key, collection } = await aBackend(target);
const some = await collection({ attributes: { text: { type: 'string', size: 5000 } } });
const long = { text: 'Ωmega '.repeat(500) };
for (const documentId of ['one', 'two']) (await key.post(some.documents, { documentId, data: long })).expect(201);
(await key.post(some.documents, { documentId: 'short', data: { text: 'short' } })).expect(201);

const read = (path: string, accepted: string, client = key) => client.get(path, { 'Accept-Encoding': accepted });
const encodingOf = ({ headers }: { readonly headers: Headers }) => headers.get('Content-Encoding');

test('a client gets the encoding that it accepts, with the same content', async () => {
  const plain = (await read(some.documents, 'identity')).expect(200);
  assert.deepEqual([encodingOf(plain), plain.headers.get('Vary')], [null, 'Origin, Accept-Encoding']);
  for (const [accepted, encoding] of [
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip;q=0', null],
    ['identity, gzip;q=0.5', null],
    ['deflate', null],
    ['', null],
    ['nonsense; ; ,', null],
  ] as const) {
    const answer = (await read(some.documents, accepted)).expect(200);
    assert.deepEqual([encodingOf(answer), answer.headers.get('Vary')], [encoding, 'Origin, Accept-Encoding'], accepted);
    assert.equal(answer.text, plain.text, accepted);
    assert.equal(Number(answer.headers.get('Content-Length')) < 1000, encoding !== null, accepted);
  }
  for (const path of [`${some.documents}/short`, '/no/such/route'])
    assert.equal(encodingOf(await read(path, 'gzip')), null);
  assert.equal(encodingOf((await read('/openapi.json', 'gzip')).expect(200)), 'gzip');
});

test('the tag of a compressed document is another one, and counts in If-Match', async () => {
  const [plain, zipped] = [
    await read(`${some.documents}/one`, 'identity'),
    await read(`${some.documents}/one`, 'gzip'),
  ];
  const [tag = '', other = ''] = [plain, zipped].map(({ headers }) => headers.get('ETag') ?? '');
  assert.equal(other, `${tag.slice(0, -1)}-gzip"`);
  const change = (of: string) => key.patch(`${some.documents}/one`, { data: { text: 'other' } }, { 'If-Match': of });
  (await change(other)).expect(200);
  (await change(other)).refused(412, 'general_precondition_failed');
});

test('sessions, accounts, users and GraphQL are not compressed', async () => {
  const ada = await aLoggedInUser(target);
  const prefs = { text: 'long '.repeat(400) };
  (await ada.client.patch('/account/prefs', { prefs })).expect(200);
  const { client: server } = await aServerKey(target);
  const query = `{ documentList(databaseId: "${some.databaseId}", collectionId: "${some.id}") { total documents { data } } }`;
  const zip = { 'Accept-Encoding': 'gzip' };
  for (const answer of [
    await ada.client.get('/account', zip),
    await ada.client.get('/account/sessions', zip),
    await server.get('/users', zip),
    await createClient(target).post('/account/sessions/email', { email: ada.email, password: ada.password }, zip),
    await key.post('/graphql', { query }, zip),
  ])
    assert.deepEqual([answer.status < 300, encodingOf(answer)], [true, null], answer.text.slice(0, 100));
});

test('SVC_COMPRESSION=off compresses nothing', async () => {
  const plain = await startAppliance({ settings: { SVC_COMPRESSION: 'off' } });
  const description = (await createClient(plain).get('/openapi.json', { 'Accept-Encoding': 'gzip' })).expect(200);
  assert.deepEqual([encodingOf(description), description.headers.get('Vary')], [null, 'Origin']);
});
