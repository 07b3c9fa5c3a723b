// Two servers over one database and many requests at once: five guesses are evaluated, and a code counts once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, type Client, createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { aGuardedUser, aPendingClient, type Guarded, halfLogin, pendingOf } from './people.js';

const first = await startAppliance();
const second = await first.startSibling();
const servers = [first, second];
const path = '/account/mfa/challenges';

/** Logins that lack the second factor, each with a challenge, in turn at both servers. */
async function waiting(user: Guarded, count: number, factor: string) {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const server = servers[index % 2] ?? first;
      const client = createClient(server, { session: pendingOf(await halfLogin(server, user)).secret });
      const challengeId = (await client.post(path, { factor })).expect(201).string('$id');
      return { client, challengeId };
    }),
  );
}
const times = <T>(count: number, act: (client: Client, index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => act(createClient(servers[index % 2] ?? first), index)));
/** How often each status was answered. */
const statuses = (answers: readonly Answer[]) => {
  const counted: Record<number, number> = {};
  for (const { status } of answers) counted[status] = (counted[status] ?? 0) + 1;
  return counted;
};
const failures = async (userId: string) =>
  (await rowsOf(first, 'audit_entries')).filter(
    ({ action, resource }) =>
      ['challengeFailed', 'loginFailed'].includes(String(action)) && resource === `users/${userId}`,
  ).length;

for (const factor of ['totp', 'recoverycode']) {
  test(`of 100 wrong guesses at once five are evaluated, and the right one has to wait: ${factor}`, async () => {
    const user = await aGuardedUser(first);
    const logins = await waiting(user, 6, factor);
    const answers = await times(100, async (_, index) => {
      const { client, challengeId } = logins[index % 6] ?? assert.fail();
      const wrong = factor === 'totp' ? String(index).padStart(6, '0') : 'aaaa-aaaa-aaaa-aaaa';
      return client.put(path, { challengeId, otp: wrong });
    });
    // A machine with other work may answer some of a hundred that the database is busy.
    const { 401: evaluated, 429: capped = 0, 503: busy = 0 } = statuses(answers);
    assert.deepEqual([evaluated, capped + busy], [5, 95]);
    assert.ok(capped > 0);
    assert.equal(await failures(user.id), 5);
    const right = factor === 'totp' ? user.app.code(1) : user.recoveryCodes[0];
    for (const { client, challengeId } of logins.slice(0, 2))
      (await client.put(path, { challengeId, otp: right })).refused(429, 'general_rate_limit_exceeded');
    const { email, password } = user;
    const login = await createClient(second).post('/account/sessions/email', { email, password, otp: right });
    login.refused(429, 'general_rate_limit_exceeded');
  });
}

test('of 50 uses of one code of the app at once exactly one enters', async () => {
  const user = await aGuardedUser(first);
  const logins = await waiting(user, 10, 'totp');
  const otp = user.app.nextCode();
  const { email, password } = user;
  const answers = await times(50, async (client, index) => {
    const login = logins[index];
    return login === undefined
      ? client.post('/account/sessions/email', { email, password, otp })
      : login.client.put(path, { challengeId: login.challengeId, otp });
  });
  const entered = answers.filter(({ status }) => status < 300);
  assert.equal(entered.length, 1, JSON.stringify(statuses(answers)));
  assert.ok(
    answers.every(({ status }) => [200, 201, 401, 429, 503].includes(status)),
    JSON.stringify(statuses(answers)),
  );
});

test('of 50 uses of one recovery code at once exactly one enters', async () => {
  const user = await aGuardedUser(first);
  const [otp] = user.recoveryCodes;
  const { email, password } = user;
  const answers = await times(50, (client) => client.post('/account/sessions/email', { email, password, otp }));
  assert.equal(answers.filter(({ status }) => status === 201).length, 1, JSON.stringify(statuses(answers)));
  assert.ok(
    answers.every(({ status }) => [201, 401, 429, 503].includes(status)),
    JSON.stringify(statuses(answers)),
  );
  const used = (await rowsOf(first, 'audit_entries')).filter(
    ({ action, resource }) => action === 'recoveryCodeUsed' && String(resource).startsWith(`users/${user.id}/`),
  );
  assert.equal(used.length, 1);
});

test('of 20 answers to one challenge at once exactly one opens a session', async () => {
  const user = await aGuardedUser(first);
  const pending = await aPendingClient(first, user);
  const challengeId = (await pending.post(path, { factor: 'totp' })).expect(201).string('$id');
  const otp = user.app.nextCode();
  const answers = await Promise.all(Array.from({ length: 20 }, () => pending.put(path, { challengeId, otp })));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1, JSON.stringify(statuses(answers)));
});

test('a code that was accepted by one server is spent at the other', async () => {
  const user = await aGuardedUser(first);
  const { email, password } = user;
  const otp = user.app.nextCode();
  (await createClient(first).post('/account/sessions/email', { email, password, otp })).expect(201);
  const again = await createClient(second).post('/account/sessions/email', { email, password, otp });
  again.refused(401, 'user_invalid_token');
});

test('enrolments that meet end in one authenticator, with one set of codes', async () => {
  const user = await aGuardedUser(first);
  (await user.client.delete('/account/mfa/authenticators/totp')).expect(204);
  const uris = await Promise.all(Array.from({ length: 6 }, () => user.client.post('/account/mfa/totp')));
  for (const answer of uris) answer.expect(200);
  const rows = await rowsOf(first, 'authenticators');
  assert.equal(rows.filter(({ user_id }) => user_id === user.id).length, 1);
});
