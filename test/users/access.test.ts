// How server keys let users in and put them out, seen from two servers over one database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey, logIn } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { aManagedUser, managed, tryLogin } from './setup.js';

const place = await managed();
const { target, key } = place;
const second = await target.startSibling();
const unauthorised = 'general_unauthorized_scope';

test('a session made by key works at every server as X-Service-Session', async () => {
  const { id } = await aManagedUser(place);
  const answer = (await key.post(`/users/${id}/sessions`)).expect(201);
  const session = answer.string('secret');
  assert.match(session, /^ss_/);
  assert.deepEqual(
    [answer.body.provider, answer.body.factors, answer.body.current, answer.headers.get('Set-Cookie')],
    ['server', ['server'], false, null],
  );
  for (const server of [target, second]) {
    const account = (await createClient(server, { session }).get('/account')).expect(200);
    assert.equal(account.body.$id, id);
  }
  const listed = (await key.get(`/users/${id}/sessions`)).expect(200).list('sessions');
  assert.deepEqual(
    listed.map(({ $id, secret, current }) => [$id, secret, current]),
    [[answer.body.$id, '', false]],
  );
  assert.equal((await key.get(`/users/${id}/sessions?total=false`)).body.total, 0);
});

test('a session made by key counts among those that a user can have', async () => {
  const { id, email, password } = await aManagedUser(place);
  const first = await logIn(target, { id, email, password, name: '' });
  for (let i = 0; i < 10; i++) (await key.post(`/users/${id}/sessions`)).expect(201);
  (await first.client.get('/account')).refused(401, unauthorised);
  assert.equal((await key.get(`/users/${id}/sessions`)).body.total, 10);
});

test('a block by key holds at the other server from the next request, and so does its end', async () => {
  const { id, email, password } = await aManagedUser(place);
  const there = (await logIn(second, { id, email, password, name: '' })).client;
  (await there.get('/account')).expect(200);
  (await key.patch(`/users/${id}/status`, { status: false })).expect(200);
  (await there.get('/account')).refused(403, 'user_blocked');
  (await createClient(second).post('/account/sessions/email', { email, password })).refused(403, 'user_blocked');
  for (const way of ['sessions', 'tokens']) {
    const { value, recorded } = await recordedBy(target, () => key.post(`/users/${id}/${way}`, {}));
    value.refused(403, 'user_blocked');
    assert.deepEqual(recorded, nothing);
  }
  (await key.patch(`/users/${id}/status`, { status: true })).expect(200);
  (await there.get('/account')).refused(401, unauthorised);
  (await createClient(second).post('/account/sessions/email', { email, password })).expect(201);
});

test('secrets ended with a key at one server are refused by the other', async () => {
  const { id, email, password } = await aManagedUser(place);
  const user = { id, email, password, name: '' };
  const one = await logIn(second, user);
  const other = await logIn(second, user);
  (await key.delete(`/users/${id}/sessions/${one.sessionId}`)).expect(204);
  (await one.client.get('/account')).refused(401, unauthorised);
  (await other.client.get('/account')).expect(200);
  (await key.patch(`/users/${id}/password`, { password: 'a finer password' })).expect(200);
  (await other.client.get('/account')).refused(401, unauthorised);
  const { client } = await logIn(second, { ...user, password: 'a finer password' });
  (await key.delete(`/users/${id}`)).expect(204);
  (await client.get('/account')).refused(401, unauthorised);
  (await tryLogin(place, email, 'a finer password')).refused(401, 'user_invalid_credentials');
});

test('labels given by key are those of the user at the next request', async () => {
  const { id, email, password } = await aManagedUser(place);
  const { client } = await logIn(second, { id, email, password, name: '' });
  (await key.put(`/users/${id}/labels`, { labels: ['vip'] })).expect(200);
  assert.deepEqual((await client.get('/account')).body.labels, ['vip']);
});

test('the hash of a password is for server keys, never for the user', async () => {
  const { id, email, password } = await aManagedUser(place);
  const { client } = await logIn(target, { id, email, password, name: '' });
  const hash = (await key.get(`/users/${id}`)).string('password');
  assert.match(hash, /^scrypt:/);
  const account = await client.get('/account');
  assert.ok(!account.text.includes(hash));
  assert.deepEqual(
    ['password', 'hash', 'hashOptions'].filter((member) => member in account.body),
    [],
  );
});

test('tokens are kept as digests, several may be open at once, and another password closes them', async () => {
  const { id } = await aManagedUser(place);
  const open = async () =>
    (await rowsOf(target, 'one_time_secrets')).filter(
      (row) => row.user_id === id && row.purpose === 'server-token' && row.used_at === null,
    );
  const secrets: string[] = [];
  for (const length of [4, 64]) {
    const answer = (await key.post(`/users/${id}/tokens`, { length, expire: 60 })).expect(201);
    assert.equal(answer.string('secret').length, length);
    secrets.push(answer.string('secret'));
  }
  const rows = await open();
  assert.deepEqual(rows.map(({ length }) => Number(length)).sort(), [4, 64]);
  for (const { digest } of rows) assert.ok(!secrets.includes(String(digest)));
  assert.ok(!JSON.stringify(rows).includes(secrets[1] ?? ''));
  (await key.patch(`/users/${id}/password`, { password: 'a finer password' })).expect(200);
  assert.deepEqual(await open(), []);
});

test('a token made by key logs in once', async () => {
  const { id: userId } = await aManagedUser(place);
  const secret = (await key.post(`/users/${userId}/tokens`, { length: 32 })).expect(201).string('secret');
  const redeem = () => createClient(second).post('/account/sessions/token', { userId, secret });
  assert.equal((await redeem()).expect(201).body.userId, userId);
  (await redeem()).refused(401, 'user_invalid_token');
});

test('calls of a key are counted for the key, as data', async () => {
  const limited = await managed({ settings: { SVC_RATE_LIMITS: 'data=3/60' } });
  const other = (await aServerKey(limited.target)).client;
  for (let i = 0; i < 3; i++) (await limited.key.get('/users')).expect(200);
  (await limited.key.get('/users')).refused(429, 'general_rate_limit_exceeded');
  (await other.get('/users')).expect(200);
});
