// Two servers over one database: whatever ends a session or a user on one ends its JWTs on the other at the next request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { day, minute } from '../harness/clock.js';
import { rowsOf, runSql } from '../harness/database.js';
import { asOperator, changeSettings } from '../harness/project.js';
import { aBearer, type Bearer, decode, mint } from './setup.js';

const first = await startAppliance();
const second = await first.startSibling();
const invalid = 'user_jwt_invalid';

for (const alg of ['HS256', 'RS256']) {
  const atBoth = async (): Promise<{ user: Bearer; there: Client }> => {
    const user = await aBearer(first, { alg });
    const there = createClient(second, { jwt: user.jwt });
    for (const client of [user.bearer, there]) (await client.get('/account')).expect(200);
    return { user, there };
  };

  test(`${alg}: a logout ends it`, async () => {
    const { user, there } = await atBoth();
    (await user.client.delete('/account/sessions/current')).expect(204);
    for (const client of [there, user.bearer]) (await client.get('/account')).refused(401, invalid);
  });

  test(`${alg}: the end of all sessions ends it, and of another session does not`, async () => {
    const { user, there } = await atBoth();
    const other = await logIn(second, user);
    (await user.client.delete(`/account/sessions/${other.sessionId}`)).expect(204);
    (await there.get('/account')).expect(200);
    const { client } = await logIn(second, user);
    (await client.delete('/account/sessions')).expect(204);
    (await there.get('/account')).refused(401, invalid);
  });

  test(`${alg}: a block is reported while it lasts, also on routes for guests; then the token is worthless`, async () => {
    const { user, there } = await atBoth();
    await asOperator(first, user.id, 'block');
    (await there.get('/account')).refused(403, 'user_blocked');
    (await there.get('/openapi.json')).refused(403, 'user_blocked');
    await asOperator(first, user.id, 'unblock');
    (await there.get('/account')).refused(401, invalid);
  });

  test(`${alg}: the deletion of the user ends it`, async () => {
    const { user, there } = await atBoth();
    (await user.client.delete('/account')).expect(204);
    (await there.get('/account')).refused(401, invalid);
  });

  test(`${alg}: another password ends it, and those of the session that stays`, async () => {
    const { user, there } = await atBoth();
    const other = await logIn(second, user);
    const kept = createClient(second, { jwt: await mint(other.client, { alg }) });
    const change = { password: 'quite another one', oldPassword: user.password };
    (await other.client.patch('/account/password', change)).expect(200);
    (await there.get('/account')).refused(401, invalid);
    (await other.client.get('/account')).expect(200);
    (await kept.get('/account')).refused(401, invalid);
  });
}

test('a session that is replaced, pushed out, too old or idle takes its tokens along', async () => {
  const target = await startAppliance();
  const kinds: [string, (user: Bearer) => Promise<unknown>][] = [
    ['replaced', (user) => logIn(target, user, { headers: { 'X-Service-Session': user.secret } })],
    [
      'pushed out',
      async (user) => {
        for (let login = 0; login < 10; login++) await logIn(target, user);
      },
    ],
    [
      'idle',
      async (user) => {
        await changeSettings(target, { 'session.idleDays': 1 });
        target.clock.advance(600);
        const long = new Date(target.clock.now() - 2 * day).toISOString();
        await runSql(target, 'update sessions set accessed_at = ? where id = ?', [long, user.sessionId]);
      },
    ],
    [
      'too old',
      (user) =>
        runSql(target, 'update sessions set expire = ? where id = ?', ['2020-01-01T00:00:00.000Z', user.sessionId]),
    ],
    ['pending', (user) => runSql(target, 'update sessions set pending = 1 where id = ?', [user.sessionId])],
  ];
  for (const [name, end] of kinds) {
    const user = await aBearer(target);
    (await user.bearer.get('/account')).expect(200);
    await end(user);
    const answer = await user.bearer.get('/account');
    assert.deepEqual([name, answer.status, answer.body.type], [name, 401, invalid]);
  }
});

test('the account is read as it is now, not as it was when the token was made', async () => {
  const user = await aBearer(first);
  (await user.client.patch('/account/name', { name: 'Another' })).expect(200);
  assert.equal((await user.bearer.get('/account')).expect(200).body.name, 'Another');
});

test('a token counts as a use of its session, as a request with the session does', async () => {
  const user = await aLoggedInUser(first);
  const accessed = async () => (await rowsOf(first, 'sessions')).find(({ id }) => id === user.sessionId)?.accessed_at;
  const before = await accessed();
  first.clock.advance(30 * minute);
  const bearer = createClient(second, { jwt: await mint(user.client, { duration: 3600 }) });
  assert.equal(await accessed(), before);
  first.clock.advance(31 * minute);
  (await bearer.get('/account')).expect(200);
  assert.notEqual(await accessed(), before);
});

/** A token as a server key has it made for a user without a session. */
async function withoutSession({ id }: { id: string }): Promise<{ jwt: string; client: Client }> {
  const { features } = first.appliance;
  const account = await features.users.getByIdOrEmail(first.project.id, id);
  const jwt = await features.tokens.mint(first.project, account, null, { alg: 'HS256', duration: 900 });
  return { jwt, client: createClient(second, { jwt }) };
}

test('a token without a session acts for its user, but has no session of its own and is never fresh', async () => {
  const user = await aUser(first);
  const { jwt, client } = await withoutSession(user);
  const { claims } = decode(jwt);
  assert.deepEqual([claims.sid, claims.sessionId, claims.sub], ['', '', user.id]);
  assert.equal((await client.get('/account')).expect(200).body.$id, user.id);
  assert.deepEqual((await client.get('/account/sessions')).expect(200).body, { total: 0, sessions: [] });
  (await client.get('/account/sessions/current')).refused(404, 'user_session_not_found');
  (await client.post('/account/jwts')).refused(403, 'user_jwt_creation_denied');
});

test('it ends with the block and the deletion of the user, and with the password of its time, even within one second', async () => {
  const user = await aUser(first);
  const blocked = await withoutSession(user);
  await asOperator(first, user.id, 'block');
  (await blocked.client.get('/account')).refused(403, 'user_blocked');
  await asOperator(first, user.id, 'unblock');

  const { client } = await logIn(first, user);
  const before = await withoutSession(user);
  (await before.client.get('/account')).expect(200);
  const change = { password: 'quite another one', oldPassword: user.password };
  (await client.patch('/account/password', change)).expect(200);
  const after = await withoutSession(user);
  (await before.client.get('/account')).refused(401, invalid);
  (await after.client.get('/account')).expect(200);

  const gone = await aLoggedInUser(first);
  const last = await withoutSession(gone);
  (await gone.client.delete('/account')).expect(204);
  (await last.client.get('/account')).refused(401, invalid);
});
