// Making JWTs: what they say, how long they last, who may make them, and what they open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account, Client as SdkClient } from 'node-appwrite';
import { jwtLimits, limitClasses } from '#src/contract/limits.js';
import { aLoggedInUser, aServerKey, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { hour } from '../harness/clock.js';
import { nothing, recordedBy, runSql } from '../harness/database.js';
import { aBearer, decode, mint } from './setup.js';

const target = await startAppliance();
const issuer = `${target.appliance.runtime.config.baseUrl}/projects/main`;

for (const alg of ['HS256', 'RS256'] as const) {
  test(`a token by ${alg} names its key and holds exactly the documented claims`, async () => {
    const { client, id, sessionId, email } = await aLoggedInUser(target);
    const before = Math.floor(target.clock.now() / 1000);
    const first = await mint(client, { alg });
    const { header, claims } = decode(first);
    const { kid, ...rest } = header;
    assert.match(String(kid), /^[A-Za-z0-9_-]{1,64}$/);
    assert.deepEqual(rest, { alg, typ: 'JWT' });
    const { iat, exp, jti, ...said } = claims;
    assert.ok(Number(iat) >= before && Number(iat) <= target.clock.now() / 1000);
    assert.equal(Number(exp) - Number(iat), 900);
    assert.deepEqual(said, {
      ...{ iss: issuer, aud: 'main', sub: id, sid: sessionId, projectId: 'main', userId: id, sessionId },
      ...{ email, emailVerification: false, teams: [] },
      roles: ['users', 'users/unverified', `user:${id}`, `user:${id}/unverified`],
    });
    const second = decode(await mint(client, { alg }));
    assert.equal(second.header.kid, kid);
    assert.notEqual(second.claims.jti, jti);
  });
}

test('the first token of an algorithm makes its key, and that is recorded; the next ones leave nothing behind', async () => {
  const own = await startAppliance();
  const { client } = await aLoggedInUser(own);
  for (const alg of ['HS256', 'RS256']) {
    const first = await recordedBy(own, () => mint(client, { alg }));
    assert.deepEqual(first.recorded, { audit: ['signingKeyCreated'], events: [], messages: [] });
    const second = await recordedBy(own, () => mint(client, { alg }));
    assert.deepEqual(second.recorded, nothing);
  }
});

test('verified addresses, labels and teams are in the token', async () => {
  const { client, id } = await aLoggedInUser(target);
  const memberships = JSON.stringify([{ id: 'm1', teamId: 'writers', roles: ['owner'] }]);
  await runSql(target, 'update users set email_verification = 1, labels = ?, memberships = ? where id = ?', [
    ...['["vip"]', memberships, id],
  ]);
  const { claims } = decode(await mint(client));
  assert.equal(claims.emailVerification, true);
  assert.deepEqual(claims.teams, ['writers']);
  const roles = claims.roles as string[];
  for (const role of ['users/verified', 'label:vip']) assert.ok(roles.includes(role), role);
  assert.ok(!roles.includes('any'));
});

const durations: [unknown, number][] = [
  [1, 201],
  [3600, 201],
  [0, 400],
  [-1, 400],
  [3601, 400],
  [1.5, 400],
  ['900', 201],
  ['15 minutes', 400],
  [null, 400],
  [1e9, 400],
];
for (const [duration, status] of durations) {
  test(`a duration of ${JSON.stringify(duration)}: ${status}`, async () => {
    const { client } = await aLoggedInUser(target);
    const answer = (await client.post('/account/jwt', { duration })).expect(status);
    if (status === 400) answer.refused(400, 'general_argument_invalid');
    else {
      const { claims } = decode(answer.string('jwt'));
      assert.equal(Number(claims.exp) - Number(claims.iat), Number(duration));
    }
  });
}

for (const alg of ['none', 'HS512', 'ES256', 'hs256', '', 7]) {
  test(`the algorithm ${JSON.stringify(alg)} is refused`, async () => {
    const { client } = await aLoggedInUser(target);
    (await client.post('/account/jwts', { alg })).refused(400, 'general_argument_invalid');
  });
}

test('claims are never taken from the body', async () => {
  const { client, id } = await aLoggedInUser(target);
  const wishes = {
    roles: ['label:admin'],
    email: 'root@mail.example',
    sub: 'root',
    userId: 'root',
    emailVerification: true,
  };
  const { claims } = decode(await mint(client, wishes));
  assert.deepEqual([claims.sub, claims.userId, claims.emailVerification], [id, id, false]);
  assert.ok(!JSON.stringify(claims).includes('root'));
});

test('a token acts for its user until it expires, and five seconds longer, for clocks that differ', async () => {
  const { bearer, id } = await aBearer(target, { duration: 60 });
  assert.equal((await bearer.get('/account')).expect(200).body.$id, id);
  target.clock.advance(63_000);
  (await bearer.get('/account')).expect(200);
  target.clock.advance(3000);
  (await bearer.get('/account')).refused(401, 'user_jwt_invalid');
});

test('the headers of the alias serve as well, and an SDK makes and uses tokens', async () => {
  const { jwt, secret, id } = await aBearer(target);
  (await createClient(target, { jwt, brand: 'Appwrite' }).get('/account')).expect(200);
  const sdk = () => new SdkClient().setEndpoint(`${target.origin}/v1`).setProject('main');
  const made = await new Account(sdk().setSession(secret)).createJWT({ duration: 120 });
  const { claims } = decode(made.jwt);
  assert.equal(Number(claims.exp) - Number(claims.iat), 120);
  assert.equal((await new Account(sdk().setJWT(made.jwt)).get()).$id, id);
});

test('guests, server keys and JWTs make no tokens', async () => {
  const { bearer } = await aBearer(target);
  const { client: key } = await aServerKey(target);
  for (const path of ['/account/jwt', '/account/jwts']) {
    (await createClient(target).post(path)).refused(401, 'general_unauthorized_scope');
    (await key.post(path)).refused(401, 'general_unauthorized_scope');
    (await bearer.post(path)).refused(403, 'user_jwt_creation_denied');
  }
});

test('a user with too many labels for a token gets an error that says so', async () => {
  const { client, id } = await aLoggedInUser(target);
  const labelled = (count: number) =>
    runSql(target, 'update users set labels = ? where id = ?', [
      JSON.stringify(Array.from({ length: count }, (_, at) => `label${String(at).padStart(10, '0')}`)),
      id,
    ]);
  await labelled(60);
  const jwt = await mint(client, { alg: 'RS256' });
  assert.ok(jwt.length > 2000 && jwt.length <= jwtLimits.bytes);
  (await createClient(target, { jwt }).get('/account')).expect(200);
  await labelled(150);
  const refused = (await client.post('/account/jwts')).refused(400, 'general_argument_invalid');
  assert.match(refused.string('message'), /more than 4096 bytes: the user has too many teams/);
});

test('a user with too many team roles for a token gets one without them, marked as such', async () => {
  const { client, id } = await aLoggedInUser(target);
  const roles = Array.from({ length: 100 }, (_, at) => `role${String(at).padStart(76, '0')}`);
  const memberships = JSON.stringify([{ id: 'm1', teamId: 'crew', roles }]);
  await runSql(target, 'update users set memberships = ? where id = ?', [memberships, id]);
  const jwt = await mint(client, { alg: 'RS256' });
  const claims = decode(jwt).claims;
  assert.deepEqual([claims.rolesTruncated, claims.teams], [true, ['crew']]);
  assert.deepEqual(
    (claims.roles as string[]).filter((role) => role.startsWith('team:') || role.startsWith('member:')),
    [],
  );
  (await createClient(target, { jwt }).get('/account')).expect(200);
});

test('a session makes sixty tokens an hour; another session of the user is counted for itself', async () => {
  const own = await startAppliance({ settings: { SVC_RATE_LIMITS: 'data=100000/60,signup=1000/60,login=1000/60' } });
  const user = await aLoggedInUser(own);
  const other = await logIn(own, user);
  const { count } = limitClasses.jwt.account;
  for (let made = 0; made < count; made++) await mint(user.client);
  const refused = (await user.client.post('/account/jwts')).refused(429, 'general_rate_limit_exceeded');
  assert.ok(Number(refused.headers.get('Retry-After')) > 0);
  await mint(other.client);
  own.clock.advance(hour / count + 1000);
  await mint(user.client);
});
