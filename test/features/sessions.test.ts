// Sessions: listing, reading, extending, ending; what each of it leaves behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';

const target = await startAppliance();
const deleted = { audit: ['sessionDeleted'], events: ['sessionDeleted'], messages: [] };
const unauthorised = 'general_unauthorized_scope';
const [, id, random] = /^ss_(.+)\.(.+)$/.exec((await aLoggedInUser(target)).secret) ?? [];

test('a list shows every session of the user, the oldest first, and which one asks', async () => {
  const first = await aLoggedInUser(target);
  await aLoggedInUser(target);
  const others = [await logIn(target, first), await logIn(target, first)];
  const answer = (await first.client.get('/account/sessions')).expect(200);
  assert.equal(answer.body.total, 3);
  assert.deepEqual(
    answer.list('sessions').map(({ $id, current, secret, userId }) => [$id, current, secret, userId]),
    [first, ...others].map(({ sessionId, id }) => [sessionId, sessionId === first.sessionId, '', id]),
  );
});

test('a session is read by its id or as the current one', async () => {
  const user = await aLoggedInUser(target);
  const other = await logIn(target, user);
  const stranger = await aLoggedInUser(target);
  const read = async (id: string) => user.client.get(`/account/sessions/${id}`);
  assert.equal((await read('current')).expect(200).body.$id, user.sessionId);
  const { current, secret } = (await read(other.sessionId)).expect(200).body;
  assert.deepEqual({ current, secret }, { current: false, secret: '' });
  for (const id of [stranger.sessionId, '0'.repeat(20), 'no-such-session'])
    (await read(id)).refused(404, 'user_session_not_found');
  for (const id of ['%00', '..%2f..', `${'x'.repeat(40)}`, '%F0%9F%A6%84'])
    (await read(id)).refused(400, 'general_argument_invalid');
});

test('extending gives a full life from now and is not announced', async () => {
  const user = await aLoggedInUser(target);
  const before = (await user.client.get('/account/sessions/current')).string('expire');
  target.clock.advance(10 * minute);
  const { value, recorded } = await recordedBy(target, () => user.client.patch('/account/sessions/current'));
  const gained = Date.parse(value.expect(200).string('expire')) - Date.parse(before);
  assert.ok(gained >= 10 * minute && gained < 11 * minute, String(gained));
  assert.deepEqual([value.body.secret, value.body.current], ['', true]);
  assert.deepEqual(recorded, { audit: ['sessionUpdated'], events: [], messages: [] });
  const stranger = await aLoggedInUser(target);
  (await user.client.patch(`/account/sessions/${stranger.sessionId}`)).refused(404, 'user_session_not_found');
});

test('ending another session leaves this one and its cookie alone', async () => {
  const user = await aLoggedInUser(target);
  const other = await logIn(target, user);
  const { value, recorded } = await recordedBy(target, () =>
    user.client.delete(`/account/sessions/${other.sessionId}`),
  );
  assert.equal(value.expect(204).text, '');
  assert.equal(value.headers.get('Set-Cookie'), null);
  assert.deepEqual(recorded, deleted);
  (await other.client.get('/account')).refused(401, unauthorised);
  (await user.client.get('/account')).expect(200);
});

for (const id of ['current', 'its own id']) {
  test(`ending the session of the request by ${id} takes the cookie away`, async () => {
    const user = await aLoggedInUser(target);
    const path = `/account/sessions/${id === 'current' ? id : user.sessionId}`;
    const { value, recorded } = await recordedBy(target, () => user.client.delete(path));
    assert.match(value.expect(204).headers.get('Set-Cookie') ?? '', /^svc_main=; Path=\/; Max-Age=0;/);
    assert.deepEqual(recorded, deleted);
    (await user.client.get('/account')).refused(401, unauthorised);
  });
}

test('ending all sessions ends all of this user and no others', async () => {
  const user = await aLoggedInUser(target);
  const other = await logIn(target, user);
  const stranger = await aLoggedInUser(target);
  const { value, recorded } = await recordedBy(target, () => user.client.delete('/account/sessions'));
  assert.match(value.expect(204).headers.get('Set-Cookie') ?? '', /Max-Age=0/);
  const twice = ['sessionDeleted', 'sessionDeleted'];
  assert.deepEqual(recorded, { audit: twice, events: twice, messages: [] });
  for (const { client } of [user, other]) (await client.get('/account')).refused(401, unauthorised);
  (await stranger.client.get('/account')).expect(200);
});

test('a session that several requests end at once is ended and announced once', async () => {
  const user = await aLoggedInUser(target);
  const other = await logIn(target, user);
  const { recorded } = await recordedBy(target, () =>
    Promise.all(Array.from({ length: 5 }, () => user.client.delete(`/account/sessions/${other.sessionId}`))),
  );
  assert.deepEqual(recorded, deleted);
});

test('the secret stands in the answer that creates the session and nowhere else', async () => {
  const user = await aLoggedInUser(target);
  const answers = [
    await user.client.get('/account'),
    await user.client.get('/account/sessions'),
    await user.client.get('/account/sessions/current'),
    await user.client.patch('/account/sessions/current'),
    await user.client.patch('/account/name', { name: 'New' }),
  ];
  const [, random = ''] = user.secret.split('.');
  for (const answer of answers) {
    assert.ok(!answer.expect(200).text.includes(random));
    assert.ok(![...answer.headers].some(([, value]) => value.includes(random)));
  }
  for (const table of ['sessions', 'events', 'audit_entries', 'audit_subjects'])
    assert.ok(!JSON.stringify(await rowsOf(target, table)).includes(random), table);
});

test('a session is good in its own project only', async () => {
  const user = await aLoggedInUser(target);
  const abroad = createClient(target, { project: target.neighbour.id, session: user.secret });
  (await abroad.get('/account')).refused(401, unauthorised);
});

const spoiled: [string, string][] = [
  ['another character at the end', `ss_${id}.${random?.slice(0, -1)}${random?.endsWith('A') ? 'E' : 'A'}`],
  ['another id', `ss_${'0'.repeat(20)}.${random}`],
  ['one character less', `ss_${id}.${random?.slice(0, -1)}`],
  ['one character more', `ss_${id}.${random}A`],
  ['no prefix', `${id}.${random}`],
  ['the prefix of a key', `sk_${id}.${random}`],
  ['no secret', `ss_${id}.`],
  ['SQL', `ss_' or '1'='1.${random}`],
  ['a list separator', `ss_${id},${id}.${random}`],
  ['three kilobytes', `ss_${'a'.repeat(3000)}`],
];
for (const [name, secret] of spoiled) {
  test(`a session secret with ${name} makes a guest of its sender`, async () => {
    const client = createClient(target, { session: secret });
    const { value, recorded } = await recordedBy(target, () => client.get('/account'));
    value.refused(401, unauthorised);
    assert.deepEqual(recorded, nothing);
    const { email, password } = await aUser(target);
    (await client.post('/account/sessions/email', { email, password })).expect(201);
  });
}
