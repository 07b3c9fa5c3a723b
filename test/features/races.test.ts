// Requests of one user that meet: none ends in an error of ours, and what was ended stays ended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { asOperator } from '../harness/project.js';

const target = await startAppliance();
const guest = createClient(target);

test('changes that meet the deletion of their account come before it or too late', async () => {
  for (let round = 0; round < 5; round++) {
    const user = await aLoggedInUser(target);
    const { client, email, password } = user;
    const answers = await Promise.all([
      client.patch('/account/name', { name: 'A' }),
      client.patch('/account/prefs', { prefs: { a: 1 } }),
      client.delete('/account'),
      client.patch('/account/name', { name: 'B' }),
      client.patch('/account/prefs', { prefs: { b: 1 } }),
      client.patch('/account/sessions/current'),
      client.patch('/account/email', { email: `x-${email}`, password }),
      client.patch('/account/password', { password: 'the new password', oldPassword: password }),
      guest.post('/account/sessions/email', { email, password }),
      client.patch('/account/status'),
    ]);
    const late = ['general_unauthorized_scope', 'user_invalid_credentials', 'user_blocked', 'user_session_not_found'];
    const odd = answers.filter(({ status, body }) => status >= 300 && !late.includes(String(body.type)));
    assert.deepEqual(
      odd.map(({ status, text }) => `${status} ${text}`),
      [],
    );
  }
});

test('of two changes of one password one succeeds, and its session stays', async () => {
  const user = await aLoggedInUser(target);
  const other = await logIn(target, user);
  const change = (client: typeof guest, password: string) =>
    client.patch('/account/password', { password, oldPassword: user.password });
  const answers = await Promise.all([
    change(user.client, 'the first new password'),
    change(other.client, 'the second new password'),
  ]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401]);
  const winner = answers[0]?.status === 200 ? 'the first new password' : 'the second new password';
  await logIn(target, { ...user, password: winner });
});

test('a login that meets a block opens no session that outlives it', async () => {
  for (let round = 0; round < 5; round++) {
    const user = await aLoggedInUser(target);
    const { email, password } = user;
    const logins = Array.from({ length: 4 }, () => guest.post('/account/sessions/email', { email, password }));
    const [, ...answers] = await Promise.all([asOperator(target, user.id, 'block'), ...logins]);
    for (const answer of answers.filter(({ status }) => status === 201)) {
      const late = createClient(target, { session: answer.string('secret') });
      (await late.get('/account')).refused(403, 'user_blocked');
    }
    await asOperator(target, user.id, 'unblock');
    const open = (await rowsOf(target, 'sessions')).filter((row) => row.user_id === user.id && row.ended_at === null);
    assert.deepEqual(open, []);
  }
});

test('a login with the old password that meets its change opens no session that outlives it', async () => {
  for (let round = 0; round < 5; round++) {
    const user = await aLoggedInUser(target);
    const { email, password } = user;
    const change = { password: 'the new password', oldPassword: password };
    const [changed, ...answers] = await Promise.all([
      user.client.patch('/account/password', change),
      ...Array.from({ length: 4 }, () => guest.post('/account/sessions/email', { email, password })),
    ]);
    changed.expect(200);
    for (const answer of answers.filter(({ status }) => status === 201)) {
      const late = createClient(target, { session: answer.string('secret') });
      (await late.get('/account')).refused(401, 'general_unauthorized_scope');
    }
    await logIn(target, { ...user, password: change.password });
  }
});
