// Each entry of a user's log says from where it came: address and device of the request, whoever made it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf, runSql } from '../harness/database.js';
import { asOperator } from '../harness/project.js';
import { emailProof, recoveryProof } from './proofs.js';

const target = await startAppliance({
  settings: { SVC_TRUSTED_PROXIES: '127.0.0.0/8', SVC_TOKENS_IN_RESPONSE: 'any' },
});
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0';
const phone =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36';
const from = (address: string, userAgent = firefox) => ({
  headers: { 'X-Forwarded-For': address, 'User-Agent': userAgent },
});
const key = (await aServerKey(target)).client.with(from('203.0.113.9', 'backend/1.0'));

test('whatever a user, a guest or a server key does to an account is logged with address and device', async () => {
  const user = await aLoggedInUser(target, {}, from('203.0.113.1'));
  const { id, client, password } = user;
  const other = await logIn(target, user, from('203.0.113.2', phone));
  const guest = createClient(target, from('203.0.113.3'));
  const ok = async (answer: ReturnType<typeof client.get>) =>
    assert.ok((await answer).status < 300, (await answer).text);
  await ok(client.patch('/account/name', { name: 'Another' }));
  await ok(client.patch('/account/prefs', { prefs: { a: 1 } }));
  await ok(client.patch('/account/phone', { phone: '+14155550123', password }));
  await ok(client.patch('/account/sessions/current'));
  await ok(client.post('/account/mfa/recovery-codes'));
  await ok(other.client.delete('/account/sessions/current'));
  await ok(client.patch('/account/password', { password: 'another long one', oldPassword: password }));
  (await guest.post('/account/sessions/email', { email: user.email, password: 'a wrong guess' })).expect(401);
  (await guest.put('/account/recovery', { userId: id, secret: 'none', password: 'yet another one' })).expect(401);
  (await guest.put('/account/verification', { userId: id, secret: 'none' })).expect(401);
  await ok(client.post('/teams', { teamId: 'log-clients', name: 'Team' }));
  await ok(key.patch(`/users/${id}/name`, { name: 'By key' }));
  await ok(key.put(`/users/${id}/labels`, { labels: ['one'] }));
  await ok(key.patch(`/users/${id}/email`, { email: 'by-key@mail.example' }));
  await ok(key.patch(`/users/${id}/verification`, { emailVerification: true }));
  await ok(key.patch(`/users/${id}/verification`, { emailVerification: false }));
  await ok(key.post(`/users/${id}/targets`, { targetId: 'one', providerType: 'email', identifier: 'a@mail.example' }));
  await ok(key.delete(`/users/${id}/targets/one`));
  await ok(key.post(`/users/${id}/tokens`, {}));
  await ok(key.post(`/users/${id}/jwts`, {}));
  await ok(key.patch(`/users/${id}/status`, { status: false }));
  await ok(key.patch(`/users/${id}/status`, { status: true }));
  await asOperator(target, id, 'block');
  const logs = (
    await key.get(`/users/${id}/logs?queries[]=${encodeURIComponent('{"method":"limit","values":[100]}')}`)
  ).list('logs');
  const without = logs.filter(({ userType, ip }) => userType !== 'operator' && ip === '').map(({ event }) => event);
  assert.deepEqual(without, []);
  const seen = new Map(logs.map((entry) => [entry.event, [entry.userType, entry.ip, entry.clientName]]));
  const byUser = ['user', '203.0.113.1', 'Firefox'];
  const byGuest = ['guest', '203.0.113.3', 'Firefox'];
  const byKey = ['key', '203.0.113.9', 'backend'];
  const expected: Record<string, string[]> = {
    ...{ accountPrefsChanged: byUser, accountPhoneChanged: byUser, sessionUpdated: byUser, teamCreated: byUser },
    ...{ accountPasswordChanged: byUser, recoveryCodesCreated: byUser, membershipConfirmed: byUser },
    ...{ loginFailed: byGuest, proofFailed: byGuest, accountCreated: ['guest', '203.0.113.1', 'Firefox'] },
    ...{ accountLabelsChanged: byKey, accountEmailChanged: byKey, accountEmailVerified: byKey },
    ...{ accountEmailUnverified: byKey, targetCreated: byKey, targetDeleted: byKey, accountTokenCreated: byKey },
    ...{ accountJwtCreated: byKey, accountUnblocked: byKey },
    accountBlocked: ['operator', '', ''],
  };
  for (const [event, client] of Object.entries(expected)) {
    const entries = logs.filter((entry) => entry.event === event);
    const found = entries.map(({ userType, ip, clientName }) => [userType, ip, clientName].join());
    assert.ok(found.includes(client.join()), `${event}: ${found.join(' | ') || 'is not there'}`);
  }
  assert.equal(seen.size >= Object.keys(expected).length, true);
  // The end of the session on the phone came from the phone; the one that a new password ended came from the browser.
  const ended = logs
    .filter(({ event }) => event === 'sessionDeleted')
    .map(({ ip, clientName }) => `${ip} ${clientName}`);
  assert.ok(ended.includes('203.0.113.2 Chrome Mobile'), ended.join());
});

test('a session that another device ends is logged with the device that ended it', async () => {
  const user = await aLoggedInUser(target, {}, from('203.0.113.1'));
  const other = await logIn(target, user, from('203.0.113.2', phone));
  (await user.client.delete(`/account/sessions/${other.sessionId}`)).expect(204);
  const [entry] = (await user.client.get('/account/logs')).list('logs');
  assert.deepEqual(
    [entry?.event, entry?.ip, entry?.clientName, entry?.osName, entry?.deviceName],
    ['sessionDeleted', '203.0.113.1', 'Firefox', 'Linux', 'desktop'],
  );
});

test('proofs by link are logged with the device that brought them', async () => {
  const user = await aLoggedInUser(target, {}, from('203.0.113.1'));
  const elsewhere = createClient(target, from('203.0.113.4', phone));
  const verification = await emailProof(target, user);
  (await elsewhere.put('/account/verification', verification)).expect(200);
  const recovery = await recoveryProof(target, user);
  (await elsewhere.put('/account/recovery', { ...recovery, password: 'a new long one' })).expect(200);
  const logs = (await key.get(`/users/${user.id}/logs`)).list('logs');
  for (const event of ['accountEmailVerified', 'accountPasswordChanged']) {
    const entry = logs.find((one) => one.event === event);
    assert.deepEqual([entry?.ip, entry?.clientName], ['203.0.113.4', 'Chrome Mobile'], event);
  }
});

test('address and user agent are personal: the row holds commitments, and erasing the user leaves nothing of them', async () => {
  const marker = 'Erasable/7.7';
  const user = await aLoggedInUser(target, {}, from('203.0.113.77', marker));
  (await user.client.patch('/account/name', { name: 'Erased' })).expect(200);
  (await user.client.post('/teams', { teamId: 'erased', name: 'Team' })).expect(201);
  const entries = await rowsOf(target, 'audit_entries');
  const text = entries.map(({ data }) => String(data)).join('\n');
  assert.ok(!text.includes(marker) && !text.includes('203.0.113.77'));
  await runSql(target, 'delete from audit_subjects where user_id = ?', [user.id]);
  const left = JSON.stringify(await rowsOf(target, 'audit_subjects'));
  assert.ok(!left.includes('203.0.113.77') && !left.includes(marker));
  const [entry] = (await user.client.get('/account/logs')).list('logs');
  assert.deepEqual([entry?.ip, entry?.clientName], ['', '']);
});

test('documents are recorded without them, and an overlong or odd user agent is no trouble', async () => {
  const user = await aLoggedInUser(target);
  for (const userAgent of ['x'.repeat(5000), '\u00ff\u0080', ')(', 'Mozilla/5.0 (((((']) {
    const client = user.client.with({ headers: { 'User-Agent': userAgent } });
    (await client.patch('/account/name', { name: `N ${userAgent.length}` })).expect(200);
  }
  (await user.client.get('/account/logs')).expect(200);
  const agents = await rowsOf(target, 'audit_subjects');
  assert.ok(agents.every(({ field, value }) => field !== 'client.userAgent' || String(value).length <= 512));
  (await key.post('/databases', { databaseId: 'plain', name: 'Plain' })).expect(201);
  const collection = { collectionId: 'notes', name: 'Notes', permissions: ['create("users")'] };
  (await key.post('/databases/plain/collections', collection)).expect(201);
  (await user.client.post('/databases/plain/collections/notes/documents', { documentId: 'a', data: {} })).expect(201);
  const rows = (await rowsOf(target, 'audit_entries')).filter(({ action }) => action === 'documentCreated');
  assert.deepEqual(
    rows.map(({ data }) => Object.keys(JSON.parse(String(data)))),
    [['attributes', 'permissions']],
  );
});

test('a JWT that a key makes for a user is recorded before it is handed out; a refused one is not', async () => {
  const user = await aLoggedInUser(target);
  const body = { sessionId: user.sessionId, alg: 'RS256', duration: 60 };
  (await key.post(`/users/${user.id}/jwts`, body)).expect(201);
  (await key.post(`/users/${user.id}/jwts`, { sessionId: 'none' })).expect(404);
  (await asOperator(target, user.id, 'block')) satisfies unknown;
  (await key.post(`/users/${user.id}/jwts`, {})).expect(403);
  const rows = (await rowsOf(target, 'audit_entries')).filter(
    ({ action, resource }) => action === 'accountJwtCreated' && resource === `users/${user.id}`,
  );
  assert.equal(rows.length, 1);
  const { 'client.ip': ip, 'client.userAgent': userAgent, ...data } = JSON.parse(String(rows[0]?.data));
  assert.deepEqual(data, { userId: user.id, sessionId: user.sessionId, alg: 'RS256', duration: 60 });
  assert.deepEqual([rows[0]?.actor_kind, ...[ip, userAgent].map(Object.keys)], ['key', ['commitment'], ['commitment']]);
});
