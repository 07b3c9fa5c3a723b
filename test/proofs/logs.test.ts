// What the user may read of the audit log, and the accounts with other providers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, runSql } from '../harness/database.js';
import { asOperator } from '../harness/project.js';

const target = await startAppliance();
const guest = createClient(target);
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0';
const query = (...queries: object[]) =>
  `/account/logs?${queries.map((one) => `queries[]=${encodeURIComponent(JSON.stringify(one))}`).join('&')}`;
const limit = (value: unknown) => ({ method: 'limit', values: [value] });
const offset = (value: unknown) => ({ method: 'offset', values: [value] });

test('the log has the actions of and on the user, newest first', async () => {
  const user = await aLoggedInUser(target, {}, { headers: { 'User-Agent': firefox } });
  const { client, email } = user;
  const steps = [
    () => client.patch('/account/name', { name: 'Ada' }),
    () => guest.post('/account/sessions/email', { email, password: 'a wrong one' }),
    () => client.patch('/account/prefs', { prefs: { a: 1 } }),
    () => asOperator(target, user.id, 'block'),
    () => asOperator(target, user.id, 'unblock'),
  ];
  for (const step of steps) {
    target.clock.advance(10);
    await step();
  }
  target.clock.advance(10);
  const again = await logIn(target, user, { headers: { 'User-Agent': firefox } });
  const { body, list } = await again.client.get('/account/logs').then((answer) => ({
    body: answer.expect(200).body,
    list: answer.list('logs'),
  }));
  assert.deepEqual(
    list.map(({ event, userType }) => [event, userType]),
    [
      ['sessionCreated', 'guest'],
      ['accountUnblocked', 'operator'],
      ...['accountBlocked', 'sessionDeleted'].sort().map(() => ['', 'operator']),
      ['accountPrefsChanged', 'user'],
      ['loginFailed', 'guest'],
      ['accountNameChanged', 'user'],
      ['sessionCreated', 'guest'],
      ['accountCreated', 'guest'],
    ].map(([event, by], index) => [event || list[index]?.event, by]),
  );
  assert.deepEqual(new Set([list[2]?.event, list[3]?.event]), new Set(['accountBlocked', 'sessionDeleted']));
  assert.equal(body.total, list.length);
  const times = list.map(({ time }) => String(time));
  assert.deepEqual(times, [...times].sort().reverse());
  const login = list[0] ?? {};
  const { userId, userEmail, userName, mode, ip, osCode, osName, clientCode, clientName, clientVersion } = login;
  assert.deepEqual(
    { userId, userEmail, userName, mode, ip, osCode, osName, clientCode, clientName, clientVersion },
    {
      ...{ userId: user.id, userEmail: email, userName: 'Ada', mode: 'default', ip: '127.0.0.1' },
      ...{ osCode: 'LIN', osName: 'Linux', clientCode: 'FF', clientName: 'Firefox', clientVersion: '121.0' },
    },
  );
  assert.deepEqual([list[5]?.event, list[5]?.ip, list[5]?.userEmail], ['loginFailed', '127.0.0.1', email]);
});

test('an invitation is in the log under the address of the inviter', async () => {
  const { client, email } = await aLoggedInUser(target);
  const team = (await client.post('/teams', { teamId: 'unique()', name: 'Crew' })).expect(201).body;
  const invitation = { roles: [], email: 'invited@mail.example', url: 'http://localhost/join' };
  (await client.post(`/teams/${team.$id}/memberships`, invitation)).expect(201);
  const list = (await client.get('/account/logs')).list('logs');
  const invited = list.find(({ event }) => event === 'membershipInvited');
  assert.equal(invited?.userEmail, email, JSON.stringify(list.map(({ event }) => event)));
});

test('actions on other users are in the log, documents and actions of others are not', async () => {
  const user = await aLoggedInUser(target);
  const { client: key } = await aServerKey(target);
  (await key.post('/databases', { databaseId: 'logs', name: 'Logs' })).expect(201);
  const permissions = ['create("users")'];
  const collection = { collectionId: 'notes', name: 'Notes', permissions };
  (await key.post('/databases/logs/collections', collection)).expect(201);
  (await user.client.post('/databases/logs/collections/notes/documents', { documentId: 'mine', data: {} })).expect(201);
  (await user.client.post('/teams', { teamId: 'mine', name: 'Mine' })).expect(201);
  (await (await aLoggedInUser(target)).client.post('/teams', { teamId: 'foreign', name: 'Foreign' })).expect(201);
  const logs = (await user.client.get('/account/logs')).expect(200).list('logs');
  assert.deepEqual(logs.map(({ event }) => event).sort(), [
    'accountCreated',
    'membershipConfirmed',
    'sessionCreated',
    'teamCreated',
  ]);
});

test('ids that begin alike, or are the same in another project, are other users', async () => {
  const user = await aLoggedInUser(target, { id: 'ada' });
  await aLoggedInUser(target, { id: 'ada.lovelace' });
  await aLoggedInUser(target, { id: 'ada-2' });
  await aLoggedInUser(target, { id: 'a' });
  await aLoggedInUser(target, { id: 'ada' }, { project: target.neighbour.id });
  const { total, logs } = (await user.client.get('/account/logs')).expect(200).body;
  assert.deepEqual([total, (logs as unknown[]).length], [2, 2]);
});

test('pages are asked for by limit and offset, and by nothing else', async () => {
  const user = await aLoggedInUser(target);
  for (let count = 0; count < 30; count++) {
    target.clock.advance(2);
    (await user.client.patch('/account/name', { name: `Name ${count}` })).expect(200);
  }
  const page = async (path: string) => {
    const answer = (await user.client.get(path)).expect(200);
    return { total: answer.body.total, times: answer.list('logs').map(({ time }) => time) };
  };
  const all = await page(query(limit(100)));
  assert.deepEqual([all.total, all.times.length, new Set(all.times.slice(0, 30)).size], [32, 32, 30]);
  assert.deepEqual(await page('/account/logs'), { total: 32, times: all.times.slice(0, 25) });
  assert.deepEqual((await page(query(limit(7), offset(5)))).times, all.times.slice(5, 12));
  assert.deepEqual((await page(query(offset(30)))).times, all.times.slice(30));
  assert.deepEqual((await page(query(offset(1000)))).times, []);
  assert.equal((await page(`${query(limit(1))}&total=false`)).total, 0);
  const wrong = [
    query(limit(0)),
    query(limit(1001)),
    query(limit('7')),
    query(offset(-1)),
    query({ method: 'equal', attribute: 'event', values: ['accountCreated'] }),
    query({ method: 'orderAsc', attribute: 'time' }),
    '/account/logs?queries[]=nonsense',
  ];
  for (const path of wrong) (await user.client.get(path)).refused(400, 'general_argument_invalid');
  (await user.client.get('/account/logs?total=perhaps')).refused(400, 'general_argument_invalid');
});

test('values that were erased are missing from the log, and nothing else is', async () => {
  const user = await aLoggedInUser(target, {}, { headers: { 'User-Agent': firefox } });
  await runSql(target, 'delete from audit_subjects where user_id = ?', [user.id]);
  const [login] = (await user.client.get('/account/logs')).expect(200).list('logs');
  assert.deepEqual([login?.event, login?.ip, login?.clientName, login?.clientCode], ['sessionCreated', '', '', 'FF']);
});

test('reading the log is for the user, and leaves no trace', async () => {
  const user = await aLoggedInUser(target);
  const { recorded } = await recordedBy(target, () => user.client.get('/account/logs'));
  assert.deepEqual(recorded, nothing);
  for (const client of [guest, (await aServerKey(target)).client])
    for (const path of ['/account/logs', '/account/identities'])
      (await client.get(path)).refused(401, 'general_unauthorized_scope');
});

test('who logs in by a password has no identities', async () => {
  const { client } = await aLoggedInUser(target);
  const none = { total: 0, identities: [] };
  assert.deepEqual((await client.get('/account/identities')).expect(200).body, none);
  const queries = encodeURIComponent(JSON.stringify({ method: 'equal', attribute: 'provider', values: ['github'] }));
  assert.deepEqual((await client.get(`/account/identities?queries[]=${queries}`)).expect(200).body, none);
  (await client.delete('/account/identities/nobody')).refused(404, 'user_identity_not_found');
  (await guest.delete('/account/identities/nobody')).refused(401, 'general_unauthorized_scope');
});
