// Sealed values are bound to their rows: moved to another row they are worth nothing. Those of versions before are read, and bound by a job.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sealedColumns } from '#src/features/index.js';
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { insertion, rowsOf, runSql } from '../harness/database.js';
import { lastMessageTo } from '../harness/messages.js';
import { startReceiver } from '../harness/receiver.js';
import { keyAsBefore, openSealed, sealAsBefore } from '../harness/sealed.js';
import { addProvider } from '../oauth2/setup.js';
import { addForged } from '../saml/setup.js';
import { aGuardedUser } from '../second-factor/people.js';
import { attemptsOf, aWebhook, startOpen } from '../webhooks/setup.js';

const target = await startAppliance();
const guest = createClient(target);
const login = (user: { email: string; password: string }, more: object = {}) =>
  guest.post('/account/sessions/email', { email: user.email, password: user.password, ...more });

/** Exchanges a column of two rows, as somebody with a shell on the database server would. */
async function swap(table: string, column: string, key: string, one: string, other: string): Promise<void> {
  const rows = await rowsOf(target, table);
  const of = (id: string) => String(rows.find((row) => row[key] === id)?.[column]);
  for (const [id, value] of [
    [one, of(other)],
    [other, of(one)],
  ] as const)
    await runSql(target, `update ${table} set ${column} = ? where ${key} = ?`, [value, id]);
}

test('the password hash of another user opens no account, and breaks no other answer', async () => {
  const [attacker, victim] = [await aUser(target), await aUser(target)];
  const key = (await aServerKey(target)).client;
  await swap('users', 'password_hash', 'id', attacker.id, victim.id);
  (await login({ email: victim.email, password: attacker.password })).refused(401, 'user_invalid_credentials');
  (await login(victim)).refused(401, 'user_invalid_credentials');
  (await login(attacker)).refused(401, 'user_invalid_credentials');
  (await key.get('/users')).expect(200);
  assert.match(target.log(), /"event":"sealing.unreadable"/);
  await swap('users', 'password_hash', 'id', attacker.id, victim.id);
  (await login(victim)).expect(201);
});

test('the seed of another user proves nothing', async () => {
  const [attacker, victim] = [await aGuardedUser(target), await aGuardedUser(target)];
  await swap('authenticators', 'sealed_seed', 'user_id', attacker.id, victim.id);
  (await login(victim, { otp: attacker.app.nextCode() })).refused(401, 'user_invalid_token');
  await swap('authenticators', 'sealed_seed', 'user_id', attacker.id, victim.id);
  (await login(victim, { otp: victim.app.nextCode() })).expect(201);
});

test('the contents of another message are not shown, and the mailbox stays readable', async () => {
  const recover = async () => {
    const { email } = await aUser(target);
    (await guest.post('/account/recovery', { email, url: 'http://localhost:3000/' })).expect(201);
    const rows = await rowsOf(target, 'messages');
    return String(rows.sort((a, b) => (String(a.created_at) < String(b.created_at) ? 1 : -1))[0]?.id);
  };
  const one = await recover();
  target.clock.advance(1000);
  const other = await recover();
  const { runtime, features } = target.appliance;
  const show = (id: string) => features.courier.mailbox.find(runtime.db, 'main', id);
  const before = await show(one);
  assert.match(before?.text ?? '', /secret=/);
  await swap('messages', 'sealed', 'id', one, other);
  assert.doesNotMatch((await show(one))?.text ?? '', /secret=/);
  assert.ok((await features.courier.mailbox.list(runtime.db, 'main', 1000)).length >= 2);
  await swap('messages', 'sealed', 'id', one, other);
  assert.equal((await show(one))?.text, before?.text);
});

test('a webhook whose secret does not open fails visibly, and a new secret mends it', async () => {
  const own = await startOpen();
  const key = (await aServerKey(own)).client;
  const receiver = await startReceiver();
  const [one, other] = [await aWebhook(key, receiver.origin), await aWebhook(key, receiver.origin)];
  const rows = await rowsOf(own, 'webhooks');
  const secret = String(rows.find(({ id }) => id === other.id)?.secret);
  await runSql(own, 'update webhooks set secret = ? where id = ?', [secret, one.id]);
  const tried = async () => {
    (await key.post(`${one.path}/test`, {})).expect(200);
    const [attempt] = await attemptsOf(key, one);
    return [attempt?.ok, attempt?.error];
  };
  const [ok, error] = await tried();
  assert.equal(ok, false);
  assert.match(String(error), /cannot be read/);
  (await key.post(`${one.path}/secret`, {})).expect(200);
  own.clock.advance(1000);
  assert.deepEqual(await tried(), [true, '']);
});

test('a signing key that does not open signs and verifies nothing', async () => {
  const own = await startAppliance();
  const { client, id } = await aLoggedInUser(own);
  const { jwt } = (await client.post('/account/jwts', {})).expect(201).body;
  const keys = await rowsOf(own, 'signing_keys');
  await runSql(own, 'update signing_keys set kid = kid, secret = ?', [String(keys[0]?.secret).replace(/.$/, '')]);
  const fresh = await own.startSibling();
  const key = (await aServerKey(fresh)).client;
  (await createClient(fresh, { jwt: String(jwt) }).get('/account')).refused(401, 'user_jwt_invalid');
  (await key.post(`/users/${id}/jwts`, {})).refused(503, 'general_unavailable');
  assert.match(fresh.log(), /"event":"sealing.unreadable"/);
});

test('no value of a row opens in another column or row', async () => {
  const rows = await rowsOf(target, 'users', 'main');
  const [one, other] = rows.filter((row) => row.password_hash !== null);
  openSealed(target, target.project, ['users', 'password_hash', String(one?.id)], one?.password_hash);
  for (const { table, column } of sealedColumns)
    for (const row of [one, other].map((user) => String(user?.id)))
      if (table !== 'users' || row !== one?.id)
        assert.throws(() => openSealed(target, target.project, [table, column, row], one?.password_hash));
});

/** Everybody and everything that a sealed value is needed for. */
async function inhabit(of: TestAppliance) {
  const key = await aServerKey(of);
  const plain = await aUser(of);
  const guarded = await aGuardedUser(of);
  const session = await aLoggedInUser(of);
  for (const alg of ['HS256', 'RS256']) (await session.client.post('/account/jwts', { alg })).expect(201);
  const webhook = { webhookId: 'hook', name: 'Hook', url: 'https://hooks.example.com/', events: ['*'] };
  (await key.client.post('/webhooks', { ...webhook, authUsername: 'a', authPassword: 'hidden' })).expect(201);
  (await key.client.post('/webhooks/hook/secret', {})).expect(200);
  const body = { email: plain.email, url: 'http://localhost:3000/' };
  (await createClient(of).post('/account/recovery', body)).expect(201);
  await addProvider(of, { key: 'github', kind: 'oauth2', config: { clientId: 'client', clientSecret: 'hidden' } });
  const { runtime, features } = of.appliance;
  const by = { projectId: 'main', actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const tokens = { accessToken: 'access', refreshToken: 'refresh', expires: null };
  const proof = { provider: 'github', providerUid: '1', providerEmail: '', tokens };
  await runtime.db.work(by, (unit) => features.identities.link(unit, of.project, plain.id, proof));
  (await createClient(of).get('/account/sessions/oauth2/github')).expect(302);
  await addForged(of, 'corp');
  (await createClient(of).get('/account/sessions/saml/corp/metadata?project=main')).expect(200);
  return { key, plain, guarded, session };
}

/** Every sealed value of the database, opened, with how it is stored. */
async function everySealed(of: TestAppliance) {
  const all = [];
  const [row] = (await rowsOf(of, 'projects')).filter(({ id }) => id === 'main');
  const project = { ...of.project, dataKey: String(row?.data_key) };
  for (const column of sealedColumns) {
    for (const row of await rowsOf(of, column.table, 'main')) {
      const sealed = row[column.column];
      if (sealed === null || sealed === '') continue;
      const id = String(row[column.key]);
      const value = openSealed(of, project, [column.table, column.column, id], sealed);
      all.push({ column, id, value, version: String(sealed).slice(0, 2) });
    }
  }
  return all;
}

/** Puts everything back into the form of the version before. */
async function unbind(of: TestAppliance): Promise<void> {
  await keyAsBefore(of);
  for (const { column, id, value } of await everySealed(of)) {
    const sealed = sealAsBefore(of, of.project, [column, id], value);
    const { table, column: name, key } = column;
    await runSql(of, `update ${table} set ${name} = ? where project_id = 'main' and ${key} = ?`, [sealed, id]);
  }
}

const versionsOf = (all: { version: string }[]) => [...new Set(all.map(({ version }) => version))];

test('values of the version before are read, replaced by the next write, and bound by the job', async () => {
  const own = await startAppliance();
  const { key, plain, guarded, session } = await inhabit(own);
  const made = await everySealed(own);
  assert.deepEqual(versionsOf(made), ['v2']);
  assert.equal(new Set(made.map(({ column }) => `${column.table}.${column.column}`)).size, sealedColumns.length);
  await unbind(own);
  assert.deepEqual(versionsOf(await everySealed(own)), ['v1']);

  const works = async (server: TestAppliance) => {
    const at = createClient(server);
    const enter = (user: { email: string; password: string }, more: object = {}) =>
      at.post('/account/sessions/email', { email: user.email, password: user.password, ...more });
    (await enter(plain)).expect(201);
    (await enter(guarded, { otp: guarded.app.nextCode() })).expect(201);
    const secret = (await lastMessageTo(server, plain.email)).locals.link ?? '';
    assert.match(secret, /secret=/);
    const { jwt } = (await session.client.post('/account/jwts', { alg: 'RS256' })).expect(201).body;
    (await createClient(server, { jwt: String(jwt) }).get('/account')).expect(200);
    (await key.client.post('/webhooks/hook/test', {})).expect(200);
  };
  // A process that has opened nothing yet.
  const sibling = await own.startSibling();
  await works(sibling);

  const password = 'another fine password';
  (await session.client.patch('/account/password', { password, oldPassword: session.password })).expect(200);
  const [changed] = (await rowsOf(own, 'users')).filter(({ id }) => id === session.id);
  assert.match(String(changed?.password_hash), /^v2\./);

  const before = await everySealed(own);
  assert.equal((await own.appliance.features.jobs.run('sealing.bind'))?.outcome, 'ok');
  const after = await everySealed(own);
  assert.deepEqual(versionsOf(after), ['v2']);
  const plainly = (all: typeof after) =>
    all.map(({ column, id, value }) => `${column.table}.${column.column} ${id} ${value}`).sort();
  assert.deepEqual(plainly(after), plainly(before));
  await works(await own.startSibling());
  assert.equal((await own.appliance.features.jobs.run('sealing.bind'))?.outcome, 'ok');
});

test('the job processes many rows, resumes after an interruption, and skips rows that do not open', async () => {
  const own = await startAppliance();
  const { plain } = await inhabit(own);
  const [message] = await rowsOf(own, 'messages', 'main');
  const [{ value = '' } = {}] = (await everySealed(own)).filter(({ column }) => column.column === 'recipient');
  const { runtime } = own.appliance;
  const column = sealedColumns.find((one) => one.column === 'recipient');
  assert.ok(column);
  const copies = Array.from({ length: 450 }, (_, at) => {
    const id = `copy-${String(at).padStart(4, '0')}`;
    return { ...message, id, recipient: sealAsBefore(own, own.project, [column, id], value), sealed: '' };
  });
  for (let at = 0; at < copies.length; at += 50)
    await runtime.db.all(insertion(runtime, 'messages', copies.slice(at, at + 50)));
  await runSql(own, "update messages set recipient = 'v1.AAAA' where id = 'copy-0100'");
  // Not the last character: of its six bits some are padding, and a value that differs in those alone still opens.
  const broken = String(copies[0]?.recipient).replace(/.(?=.{8}$)/, (one) => (one === 'A' ? 'B' : 'A'));
  await runSql(own, 'update messages set recipient = ? where id = ?', [broken, 'copy-0300']);
  await keyAsBefore(own);
  await unbindUsers(own);
  assert.equal((await own.appliance.features.jobs.run('sealing.bind'))?.outcome, 'ok');
  const rows = await rowsOf(own, 'messages', 'main');
  const left = rows.filter(({ recipient }) => !String(recipient).startsWith('v2.'));
  assert.deepEqual(left.map(({ id }) => id).sort(), ['copy-0100', 'copy-0300']);
  const body = { email: plain.email, password: plain.password };
  (await createClient(own).post('/account/sessions/email', body)).expect(201);
});

test('a data key that does not open is passed over, and those of other projects are bound', async () => {
  const own = await startAppliance();
  await keyAsBefore(own);
  await runSql(own, "update projects set data_key = 'v1.AAAA' where id = 'neighbour'");
  assert.equal((await own.appliance.features.jobs.run('sealing.bind'))?.outcome, 'ok');
  const keys = new Map((await rowsOf(own, 'projects')).map(({ id, data_key }) => [id, String(data_key)]));
  assert.match(keys.get('main') ?? '', /^v2\./);
  assert.equal(keys.get('neighbour'), 'v1.AAAA');
  assert.match(own.log(), /"event":"sealing.unreadable".*"table":"projects","column":"data_key","row":"neighbour"/);
});

test('where no value of the version before can be left, none is accepted: in new projects, and after the job', async () => {
  const own = await startAppliance();
  const [attacker, victim] = [await aUser(own), await aUser(own)];
  const enter = (email: string, password: string) =>
    createClient(own).post('/account/sessions/email', { email, password });
  const keyOf = async () => String((await rowsOf(own, 'projects')).find(({ id }) => id === 'main')?.data_key);
  const column = sealedColumns.find((one) => one.table === 'users');
  assert.ok(column);
  const mine = (await everySealed(own)).find(({ id }) => id === attacker.id);
  const planted = sealAsBefore(own, own.project, [column, attacker.id], mine?.value ?? '');
  const plant = () => runSql(own, 'update users set password_hash = ? where id = ?', [planted, victim.id]);
  const [kept] = (await rowsOf(own, 'users')).filter(({ id }) => id === victim.id);

  assert.match(await keyOf(), /^v2\./);
  await plant();
  (await enter(victim.email, attacker.password)).refused(401, 'user_invalid_credentials');
  // The form of the key is no mark that somebody could change.
  const key = await keyOf();
  await runSql(own, "update projects set data_key = ? where id = 'main'", [key.replace('v2.', 'v1.')]);
  const sibling = await own.startSibling();
  const body = { email: victim.email, password: attacker.password };
  assert.equal((await createClient(sibling).post('/account/sessions/email', body)).status, 401);
  await runSql(own, "update projects set data_key = ? where id = 'main'", [key]);

  await runSql(own, 'update users set password_hash = ? where id = ?', [String(kept?.password_hash), victim.id]);
  await unbind(own);
  (await enter(victim.email, victim.password)).expect(201);
  // The name of the row was no part of what it was bound to, so this was accepted.
  await plant();
  (await enter(victim.email, attacker.password)).expect(201);
  await runSql(own, 'update users set password_hash = ? where id = ?', [String(kept?.password_hash), victim.id]);
  assert.equal((await own.appliance.features.jobs.run('sealing.bind'))?.outcome, 'ok');
  assert.match(await keyOf(), /^v2\./);
  own.clock.advance(1000);
  (await enter(attacker.email, attacker.password)).expect(201);
  (await enter(victim.email, victim.password)).expect(201);
  await plant();
  (await enter(victim.email, attacker.password)).refused(401, 'user_invalid_credentials');
});

async function unbindUsers(of: TestAppliance): Promise<void> {
  for (const { column, id, value } of (await everySealed(of).catch(() => [])).filter(
    (one) => one.column.table === 'users',
  ))
    await runSql(of, 'update users set password_hash = ? where id = ?', [
      sealAsBefore(of, of.project, [column, id], value),
      id,
    ]);
}
