// A server key that acts for a user leaves a trace: in the token, in every row of the audit log, and it can be refused (RFC 8693).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';
import { decode, mint } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();

/** A user, a server key, and a client that knows the token that the key has made for the user. */
async function anActingKey(wishes: object = {}) {
  const user = await aUser(target);
  const key = await aServerKey(target);
  const jwt = (await key.client.post(`/users/${user.id}/jwts`, wishes)).expect(201).string('jwt');
  return { user, key, jwt, there: createClient(sibling, { jwt }), here: createClient(target, { jwt }) };
}
const entriesOf = async (userId: string) =>
  (await rowsOf(target, 'audit_entries', target.project.id))
    .filter(({ resource }) => String(resource).startsWith(`users/${userId}`))
    .map(({ action, actor_kind: kind, actor_id: id, data }) => ({
      action,
      kind,
      id,
      ...JSON.parse(String(data)),
    }));

test('the token names the key, and every row of the log both', async () => {
  const { user, key, jwt, here } = await anActingKey();
  assert.deepEqual(decode(jwt).claims.act, { sub: `key:${key.id}` });
  (await here.patch('/account/prefs', { prefs: { theme: 'dark' } })).expect(200);
  (await here.patch('/account/name', { name: 'Renamed' })).expect(200);
  const byKey = (await entriesOf(user.id)).filter(({ act }) => act !== undefined);
  assert.deepEqual(
    byKey.map(({ action, kind, id, act }) => [action, kind, id, act]),
    ['accountPrefsChanged', 'accountNameChanged'].map((action) => [action, 'user', user.id, `key:${key.id}`]),
  );
  const made = (await entriesOf(user.id)).find(({ action }) => action === 'accountJwtCreated');
  assert.deepEqual([made?.kind, made?.id], ['key', key.id]);
});

test('documents of the user are written in both names', async () => {
  const { user, key, here } = await anActingKey();
  (await key.client.post('/databases', { databaseId: 'd', name: 'd' })).expect(201);
  const permissions = ['create("users")'];
  (await key.client.post('/databases/d/collections', { collectionId: 'c', name: 'c', permissions })).expect(201);
  (await here.post('/databases/d/collections/c/documents', { documentId: 'one', data: {} })).expect(201);
  const [entry] = (await rowsOf(target, 'audit_entries', target.project.id)).filter(
    ({ action }) => action === 'documentCreated',
  );
  assert.deepEqual([entry?.actor_kind, entry?.actor_id], ['user', user.id]);
  assert.equal(JSON.parse(String(entry?.data)).act, `key:${key.id}`);
});

test('a token of the user has no such claim, and its rows have no second name', async () => {
  const user = await aLoggedInUser(target);
  const jwt = await mint(user.client);
  assert.equal(decode(jwt).claims.act, undefined);
  (await createClient(target, { jwt }).patch('/account/name', { name: 'Own' })).expect(200);
  assert.ok((await entriesOf(user.id)).every(({ act }) => act === undefined));
});

test('it ends after its time, and with its key on every process', async () => {
  const { key, here, there } = await anActingKey({ duration: 60 });
  (await there.get('/account')).expect(200);
  const { runtime, features } = target.appliance;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };
  await runtime.db.work(by, (unit) => features.serverKeys.revoke(unit, key.id));
  for (const client of [here, there]) (await client.get('/account')).refused(401, 'user_jwt_invalid');
  const other = await anActingKey({ duration: 60 });
  (await other.here.get('/account')).expect(200);
  target.clock.advance(70_000);
  (await other.here.get('/account')).refused(401, 'user_jwt_invalid');
});

test('a project that refuses it gives no such token and takes none', async () => {
  const { user, key, here } = await anActingKey();
  const own = await aLoggedInUser(target);
  const ownJwt = await mint(own.client);
  await changeSettings(target, { 'jwt.byKeys': false });
  (await key.client.post(`/users/${user.id}/jwts`)).refused(403, 'user_jwt_creation_denied');
  target.clock.advance(1000);
  (await here.get('/account')).refused(401, 'user_jwt_invalid');
  (await createClient(target, { jwt: ownJwt }).get('/account')).expect(200);
  await changeSettings(target, { 'jwt.byKeys': true });
});
