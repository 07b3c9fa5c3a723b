// Changing the password, being blocked, and what each ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { minute } from '../harness/clock.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { asOperator } from '../harness/project.js';

const target = await startAppliance();
const guest = createClient(target);
const unauthorised = 'general_unauthorized_scope';
const three = async (): Promise<[LoggedInUser, LoggedInUser, LoggedInUser]> => {
  const user = await aLoggedInUser(target);
  return [user, await logIn(target, user), await logIn(target, user)];
};

test('a new password ends all other sessions and the user gets a mail', async () => {
  const [user, ...others] = await three();
  const { email, password } = user;
  const change = { password: 'the new password', oldPassword: password };
  const { value, recorded } = await recordedBy(target, () => user.client.patch('/account/password', change));
  value.expect(200);
  const ended = ['sessionDeleted', 'sessionDeleted'];
  assert.deepEqual(recorded, {
    audit: ['accountPasswordChanged', ...ended],
    events: ended,
    messages: ['password-changed'],
  });
  for (const { client } of others) (await client.get('/account')).refused(401, unauthorised);
  (await user.client.get('/account')).expect(200);
  (await guest.post('/account/sessions/email', { email, password })).refused(401, 'user_invalid_credentials');
  (await guest.post('/account/sessions/email', { email, password: change.password })).expect(201);
});

test('the password stays without the current one', async () => {
  const [user, other] = await three();
  for (const oldPassword of ['a wrong one', '', undefined]) {
    const body = { password: 'the new password', oldPassword };
    const { value, recorded } = await recordedBy(target, () => user.client.patch('/account/password', body));
    value.refused(401, 'user_invalid_credentials');
    assert.deepEqual(recorded, nothing);
  }
  (await other.client.get('/account')).expect(200);
});

test('a first password needs a login not older than 20 minutes instead', async () => {
  const user = await aLoggedInUser(target);
  await runSql(target, 'update users set password_hash = null where id = ?', [user.id]);
  target.clock.advance(21 * minute);
  const body = { password: 'the first password' };
  (await user.client.patch('/account/password', body)).refused(401, 'user_challenge_required');
  const fresh = await aLoggedInUser(target);
  await runSql(target, 'update users set password_hash = null where id = ?', [fresh.id]);
  (await fresh.client.patch('/account/password', body)).expect(200);
  (await guest.post('/account/sessions/email', { email: fresh.email, ...body })).expect(201);
});

test('an account without a password gets an address with its first password by a fresh login only', async () => {
  const change = { email: 'fresh@mail.example', password: 'the first password' };
  const user = await aLoggedInUser(target);
  await runSql(target, 'update users set password_hash = null where id = ?', [user.id]);
  target.clock.advance(21 * minute);
  for (const [path, body] of [
    ['/account/email', change],
    ['/account/phone', { phone: '+14155550188', password: '' }],
    ['/account/password', { password: change.password }],
  ] as const) {
    const { value, recorded } = await recordedBy(target, () => user.client.patch(path, body));
    value.refused(401, 'user_challenge_required');
    assert.deepEqual(recorded, nothing);
  }
  const fresh = await aLoggedInUser(target);
  await runSql(target, 'update users set password_hash = null where id = ?', [fresh.id]);
  (await fresh.client.patch('/account/email', change)).expect(200);
});

test('an anonymous account is upgraded by an old login too', async () => {
  const opened = (await guest.post('/account/sessions/anonymous', {})).expect(201);
  const { client } = { client: createClient(target, { session: opened.string('secret') }) };
  target.clock.advance(21 * minute);
  const change = { email: 'upgraded.late@mail.example', password: 'the first password' };
  (await client.patch('/account/email', change)).expect(200);
});

test('messages hold neither address nor name in the clear', async () => {
  const { client, email, name, password } = await aLoggedInUser(target, { name: 'Unmistakable Name' });
  (await client.patch('/account/password', { password: 'the new password', oldPassword: password })).expect(200);
  const messages = await rowsOf(target, 'messages', target.project.id);
  const text = JSON.stringify(messages);
  assert.ok(!text.includes(email) && !text.includes(name));
  const { runtime, features } = target.appliance;
  const opened = await features.courier.mailbox.list(runtime.db, target.project.id, messages.length);
  assert.ok(opened.some(({ $id, to }) => to === email && messages.some(({ id }) => id === $id)));
  const [last] = await Promise.all(opened.map(({ $id }) => features.courier.mailbox.find(runtime.db, null, $id)));
  assert.ok(last?.text.includes(`Hello ${name},`));
});

test('after blocking their own account, users get that answer from every session until the block is lifted', async () => {
  const [user, ...others] = await three();
  const { value, recorded } = await recordedBy(target, () => user.client.patch('/account/status'));
  assert.equal(value.expect(200).body.status, false);
  assert.match(value.headers.get('Set-Cookie') ?? '', /Max-Age=0/);
  const ended = Array(3).fill('sessionDeleted');
  assert.deepEqual(recorded, { audit: ['accountBlocked', ...ended], events: ended, messages: [] });
  const { email, password } = user;
  for (const { client } of [user, ...others]) (await client.get('/account')).refused(403, 'user_blocked');
  (await guest.post('/account/sessions/email', { email, password })).refused(403, 'user_blocked');
  const lifted = await recordedBy(target, () => asOperator(target, user.id, 'unblock'));
  assert.deepEqual(lifted.recorded, { audit: ['accountUnblocked'], events: [], messages: [] });
  for (const { client } of [user, ...others]) (await client.get('/account')).refused(401, unauthorised);
  const again = await logIn(target, user);
  assert.equal((await again.client.get('/account/sessions')).expect(200).body.total, 1);
});

test('a session that was ended before the block is unknown, not blocked', async () => {
  const [user, other] = await three();
  (await user.client.delete(`/account/sessions/${other.sessionId}`)).expect(204);
  await asOperator(target, user.id, 'block');
  (await other.client.get('/account')).refused(401, unauthorised);
  (await user.client.get('/account')).refused(403, 'user_blocked');
});

test('a browser with a session of a blocked user can log another user in', async () => {
  const browser = createClient(target, { browser: 'http://localhost:3000' });
  const [blocked, other] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const credentials = ({ email, password }: LoggedInUser) => ({ email, password });
  (await browser.post('/account/sessions/email', credentials(blocked))).expect(201);
  await asOperator(target, blocked.id, 'block');
  (await browser.get('/account')).refused(403, 'user_blocked');
  (await browser.post('/account/sessions/email', credentials(other))).expect(201);
  assert.equal((await browser.get('/account')).expect(200).body.$id, other.id);
});
