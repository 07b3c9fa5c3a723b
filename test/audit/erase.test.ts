// `svc user erase`: a marker in every field of a person is found nowhere afterwards, in no table, no free page and no log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { SqliteConnection } from '#src/platform/db/sqlite-connection.js';
import { send } from '../courier/setup.js';
import { aLoggedInUser, aPerson, aServerKey, logIn, signUpBody } from '../harness/actors.js';
import { databaseUnderTest, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf, runSql } from '../harness/database.js';
import { type Receiver, startReceiver } from '../harness/receiver.js';
import { aWebhook, called, eventually, startOpen } from '../webhooks/setup.js';
import { stored } from './setup.js';

const mark = 'zqxmarker';
const phone = '+15559876543';
const ip = '198.51.100.77';
const markers = [mark, phone, ip];

const by = (target: TestAppliance) => ({
  projectId: target.project.id,
  actor: { kind: 'operator', id: 'cli' },
  requestId: 'erase',
});

const foundIn = (text: string) => markers.filter((marker) => text.includes(marker));

/** A receiver that responds with what it was sent. */
async function anEcho(): Promise<Receiver> {
  const receiver = await startReceiver();
  receiver.answer = (response) => response.end(receiver.calls.at(-1)?.body);
  return receiver;
}

/** Somebody with the marker in every field, whom others know too. */
async function aMarkedPerson(target: TestAppliance) {
  const headers = { 'X-Forwarded-For': ip, 'User-Agent': `Mozilla/5.0 ${mark}` };
  const guest = createClient(target, { headers });
  const person = aPerson({ email: `${mark}@mail.example`, name: `Name ${mark}` });
  const failed = { email: person.email, password: 'a wrong one' };
  // Before there is such a user, and afterwards.
  await guest.post('/account/sessions/email', failed);
  await guest.post('/account/tokens/magic-url', { userId: 'unique()', email: person.email });
  (await guest.post('/account', signUpBody(person))).expect(201);
  const user = await logIn(target, person, { headers });
  await guest.post('/account/sessions/email', failed);
  const key = (await aServerKey(target)).client;
  const own = `/users/${person.id}`;
  (await key.patch(`${own}/phone`, { number: phone })).expect(200);
  (await key.put(`${own}/labels`, { labels: [mark] })).expect(200);
  (await user.client.patch('/account/prefs', { prefs: { [mark]: mark } })).expect(200);
  (await user.client.patch('/account/name', { name: `Other ${mark}` })).expect(200);
  (await user.client.patch('/account/email', { email: `moved-${person.email}`, password: person.password })).expect(
    200,
  );
  await guest.post('/account/recovery', { email: `moved-${person.email}`, url: 'http://localhost/recover' });
  await guest.post('/account/tokens/email', { userId: 'unique()', email: `moved-${person.email}` });
  const target1 = { targetId: 'pushed', providerType: 'email', identifier: `target-${mark}@mail.example`, name: mark };
  (await key.post(`${own}/targets`, target1)).expect(201);
  const owner = await aLoggedInUser(target);
  const team = (await owner.client.post('/teams', { teamId: `team-${person.id}`, name: 'Team' })).expect(201);
  const invitation = { email: `moved-${person.email}`, roles: ['member'], url: 'http://localhost/join', name: mark };
  (await owner.client.post(`/teams/${team.string('$id')}/memberships`, invitation)).expect(201);
  const joined = (await key.post('/teams', { teamId: `joined-${person.id}`, name: 'Joined' })).expect(201);
  (await key.post(`/teams/${joined.string('$id')}/memberships`, { userId: person.id, roles: [] })).expect(201);
  await aPasskeyAndAnIdentity(target, person.id);
  (await user.client.patch('/account/sessions/current')).expect(200);
  (await user.client.delete('/account/sessions/current')).expect(204);
  await logIn(target, { ...person, email: `moved-${person.email}` }, { headers });
  return { person, owner };
}

/** What a login provider and an authenticator leave; the ways to get there are tested elsewhere. */
async function aPasskeyAndAnIdentity(target: TestAppliance, userId: string): Promise<void> {
  const at = new Date(target.clock.now()).toISOString();
  const { id } = target.project;
  const insert = (table: string, row: Readonly<Record<string, string | number | null>>) =>
    runSql(
      target,
      `insert into ${table} (${Object.keys(row).join(', ')}) values (${Object.keys(row)
        .map(() => '?')
        .join(', ')})`,
      Object.values(row),
    );
  const times = { created_at: at, updated_at: at };
  await insert('providers', {
    project_id: id,
    key: 'idp',
    kind: 'oidc',
    name: 'Idp',
    enabled: 1,
    config: '',
    ...times,
  });
  await insert('identities', {
    project_id: id,
    id: 'identity',
    user_id: userId,
    provider: 'idp',
    provider_uid: `uid-${mark}`,
    provider_email: `idp-${mark}@mail.example`,
    ...times,
  });
  await insert('passkeys', {
    id: 'passkey',
    project_id: id,
    user_id: userId,
    credential_id: 'credential',
    public_key: 'key',
    counter: 0,
    backup_eligible: 0,
    name: `Phone of ${mark}`,
    ...times,
  });
}

/** Entries of the index of searches with a part of the marker, on SQLite also those that are only marked as deleted. */
async function searchable(target: TestAppliance): Promise<number> {
  const [part, gram] = [mark.slice(0, 3), `% ${mark.slice(0, 3)}%`];
  const [row] = await runSql(
    target,
    target.appliance.runtime.sql.dialect === 'sqlite'
      ? `select count(*) as count from users_search_data where instr(block, '${part}') > 0`
      : `select count(*) as count from users where array_to_string(search_grams(project_id, id, name), ',') like '${gram}'`,
  );
  return Number(row?.count);
}

test('a marker in every field of a person is found nowhere after the erasure', async () => {
  const target = await startOpen({ settings: { SVC_TRUSTED_PROXIES: '127.0.0.0/8' } });
  const receiver = await anEcho();
  const key = (await aServerKey(target)).client;
  await aWebhook(key, receiver.origin);
  const { person, owner } = await aMarkedPerson(target);
  await called(receiver, 4);
  await eventually(async () => {
    const states = (await rowsOf(target, 'deliveries')).map(({ state }) => state);
    assert.ok(states.length >= 4 && states.every((state) => state === 'delivered'), states.join());
  });
  assert.deepEqual(foundIn(await stored(target)), markers);
  assert.ok((await searchable(target)) > 0);

  const { erasure, audit } = target.appliance.features;
  await audit.seal();
  const before = (await rowsOf(target, 'audit_entries')).length;
  const erased = await erasure.run(by(target), target.project, person.id);
  await erasure.scrub();
  assert.ok(erased.messages >= 3 && erased.events >= 4 && erased.auditValues >= 10, JSON.stringify(erased));
  // The deletion of the account is an event as well, and what was responded to it is erased too.
  await eventually(async () => {
    assert.deepEqual(foundIn(await stored(target)), []);
  });
  assert.equal(await searchable(target), 0);
  assert.deepEqual(
    foundIn(target.log()).filter((marker) => marker !== ip),
    [],
  );

  await audit.seal();
  const verdict = await audit.verify();
  assert.equal(verdict.findings[0], undefined);
  assert.ok(verdict.erased > 0);
  assert.ok((await rowsOf(target, 'audit_entries')).length > before);
  const actions = (await rowsOf(target, 'audit_entries')).map(({ action }) => action);
  assert.ok(actions.includes('accountErased'));
  const sequences = (await rowsOf(target, 'events', target.project.id)).map(({ sequence }) => Number(sequence));
  await eventually(() => assert.equal(new Set(sequences).size, sequences.length));
  // The membership and the invitation ended by the erasure, and what is told of that is erased as well.
  const ended = (await rowsOf(target, 'events', target.project.id)).filter(({ type }) => type === 'membershipDeleted');
  const said = ended.map(({ data, audience }) => [JSON.parse(String(data)), audience]);
  assert.deepEqual(
    said.map(([{ erased, userId }, audience]) => [erased, userId, audience]),
    Array(2).fill([true, person.id, null]),
  );
  // Others keep what is theirs.
  (await owner.client.get('/account')).expect(200);
  const left = await rowsOf(target, 'audit_subjects');
  assert.ok(left.some(({ user_id, value }) => user_id === owner.id && value === owner.email));
  // The id is not given again, and erasing it once more finds nothing.
  (await createClient(target).post('/account', signUpBody({ ...person, email: 'new@mail.example' }))).expect(409);
  assert.equal((await erasure.find(target.project, person.id)).account, undefined);
  const again = await erasure.run(by(target), target.project, person.id);
  assert.deepEqual([again.messages, again.auditValues], [0, 0]);
});

test('events keep to the schemas of the description, also after the erasure of the person', async () => {
  const target = await startOpen({ settings: { SVC_TRUSTED_PROXIES: '127.0.0.0/8' } });
  const key = (await aServerKey(target)).client;
  const { person } = await aMarkedPerson(target);
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });
  ajv.addSchema(await target.appliance.describe(target.project), 'api');
  const feed = async () => {
    const { events } = (await key.get('/events?limit=100')).expect(200).body as {
      events: { type: string; data: Record<string, unknown> }[];
    };
    for (const event of events) {
      const fits = ajv.getSchema(`api#/webhooks/${event.type}/post/requestBody/content/application~1json/schema`);
      assert.ok(fits?.(event), `${JSON.stringify(event)} ${JSON.stringify(fits?.errors)}`);
    }
    return events;
  };
  await eventually(async () => assert.ok((await feed()).length > 10));
  await target.appliance.features.erasure.run(by(target), target.project, person.id);
  const erased = (await feed()).filter(({ data }) => data.erased).map(({ type }) => type);
  for (const type of ['accountUpdated', 'membershipCreated', 'sessionCreated', 'sessionDeleted'])
    assert.ok(erased.includes(type), `${type} is not in ${erased}`);
});

test('erases the response that a receiver sends during the erasure of a person', async () => {
  const target = await startOpen();
  const key = (await aServerKey(target)).client;
  const receiver = await anEcho();
  await aWebhook(key, receiver.origin, { events: ['sessionCreated'] });
  const echo = receiver.answer;
  receiver.answer = (...call) => setTimeout(() => echo(...call), 600);
  const person = aPerson({ email: `${mark}@mail.example` });
  (await createClient(target).post('/account', signUpBody(person))).expect(201);
  await logIn(target, person);
  const [call] = await called(receiver, 1);
  assert.match(String(call?.body), new RegExp(mark));
  await target.appliance.features.erasure.run(by(target), target.project, person.id);
  const [attempt, ...others] = await rowsOf(target, 'delivery_attempts');
  assert.deepEqual([attempt?.status_code, attempt?.response, others], [200, '', []]);
  assert.deepEqual(foundIn(JSON.stringify(await rowsOf(target, 'deliveries'))), []);
});

test('a mail that was left while the account went is erased too', async () => {
  const target = await startOpen();
  const { erasure } = target.appliance.features;
  const person = await aLoggedInUser(target);
  erasure.withFiles({
    // A request that found the user before the deletion commits after it.
    erase: async () => {
      await send(target, { to: person.email, userId: person.id });
      return 0;
    },
    removeBytes: async () => {},
  });
  const erased = await erasure.run(by(target), target.project, person.id);
  assert.deepEqual([erased.messages, await rowsOf(target, 'messages')], [1, []]);
});

test('an address that is another user by now stays with that user', async () => {
  const target = await startOpen();
  const first = await aLoggedInUser(target);
  const moved = { email: `moved-${first.email}`, password: first.password };
  (await first.client.patch('/account/email', moved)).expect(200);
  const second = aPerson({ email: first.email });
  const guest = createClient(target);
  (await guest.post('/account', signUpBody(second))).expect(201);
  await guest.post('/account/recovery', { email: second.email, url: 'http://localhost/recover' });
  await target.appliance.features.erasure.run(by(target), target.project, first.id);
  const messages = await rowsOf(target, 'messages');
  assert.ok(messages.some(({ user_id }) => user_id === second.id));
  await logIn(target, second);
});

test('a deleted user can still be erased, an unknown id cannot', async () => {
  const target = await startOpen();
  const user = await aLoggedInUser(target);
  (await user.client.delete('/account')).expect(204);
  const { erasure } = target.appliance.features;
  const subjects = async () => (await rowsOf(target, 'audit_subjects')).filter(({ user_id }) => user_id === user.id);
  assert.ok((await subjects()).length > 0);
  const deleted = { id: user.id, account: undefined };
  assert.deepEqual(await erasure.find(target.project, user.id), deleted);
  assert.deepEqual(await erasure.find(target.project, user.email), deleted);
  await erasure.run(by(target), target.project, user.id);
  assert.deepEqual(await subjects(), []);
  await assert.rejects(erasure.find(target.project, 'nobody'), { type: 'user_not_found' });
});

test('the same id in another project is another person', async () => {
  const target = await startOpen();
  const person = await aLoggedInUser(target);
  const other = createClient(target, { project: target.neighbour.id });
  (await other.post('/account', signUpBody({ ...person, email: 'other@mail.example' }))).expect(201);
  await target.appliance.features.erasure.run(by(target), target.project, person.id);
  const values = (await rowsOf(target, 'audit_subjects')).map(({ value }) => value);
  assert.ok(values.includes('other@mail.example'));
  assert.ok(!values.includes(person.email));
});

// Such as Litestream, which always reads.
const onPostgres = databaseUnderTest === 'postgres' && 'Postgres removes rows below its readers';
test('while another program reads the file, writes go on and the erasure waits', { skip: onPostgres }, async () => {
  const target = await startOpen();
  const { driver, config } = target.appliance.runtime;
  const reader = await SqliteConnection.open(parseDatabaseUrl(config.databaseUrl.reveal()).file ?? '');
  const read = (sql: string) => reader.all({ sql, values: [] });
  await read('BEGIN');
  await read('select * from projects');
  let hasEnded = false;
  const scrubbed = driver.scrub([]).then(() => {
    hasEnded = true;
  });
  for (let at = 0; at < 10; at++) {
    (await createClient(target).post('/account', signUpBody(aPerson()))).expect(201);
    await sleep(200);
  }
  assert.equal(hasEnded, false);
  await read('COMMIT');
  await scrubbed;
  await reader.close();
});
