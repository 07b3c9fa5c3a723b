// The audit log: who did what, provable later, without personal values and without a way to change it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyedDigest } from '#src/platform/crypto/digest.js';
import type { Row } from '#src/platform/db/table.js';
import { aLoggedInUser, aPerson, aServerKey, logIn, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf, runSql } from '../harness/database.js';

const target = await startAppliance();
const guest = createClient(target);
const entries = () => rowsOf(target, 'audit_entries', target.project.id);
/** What was recorded for one request. */
const recordedFor = async (requestId: string | null) =>
  (await entries()).filter((entry) => entry.request_id === requestId);
const columns = ['id', 'project_id', 'at', 'actor_kind', 'actor_id', 'action', 'resource', 'request_id', 'data'];

test('a row names the actor, the action, the target and the request', async () => {
  const user = await aLoggedInUser(target);
  const renamed = await user.client.patch('/account/name', { name: 'Renamed' });
  const [entry, ...more] = await recordedFor(renamed.headers.get('X-Request-Id'));
  assert.deepEqual(more, []);
  assert.deepEqual(
    [entry?.action, entry?.actor_kind, entry?.actor_id, entry?.resource],
    ['accountNameChanged', 'user', user.id, `users/${user.id}`],
  );
  assert.equal(entry?.at, renamed.string('$updatedAt').replace('+00:00', 'Z'));

  const login = await guest.post('/account/sessions/email', { email: user.email, password: user.password });
  const [created] = await recordedFor(login.headers.get('X-Request-Id'));
  const resource = `users/${user.id}/sessions/${login.body.$id}`;
  assert.deepEqual([created?.actor_kind, created?.actor_id, created?.resource], ['guest', '', resource]);

  const key = await aServerKey(target);
  const made = await key.client.post('/project/platforms/web', {
    platformId: 'audited',
    hostname: 'audited.example.com',
  });
  const [added] = await recordedFor(made.headers.get('X-Request-Id'));
  assert.deepEqual([added?.actor_kind, added?.actor_id, added?.resource], ['key', key.id, 'platforms/audited']);
});

test('actions of an operator are recorded too', async () => {
  const { runtime, features } = target.appliance;
  const { projects, serverKeys, limits } = features;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'root@host' }, requestId: 'by-hand' };
  const expire = '2030-01-01T00:00:00.000Z';
  await runtime.db.work(by, async (unit) => {
    await projects.update(unit, target.project.id, { name: 'Renamed', settings: { 'session.limit': 10 } });
    const { id } = await serverKeys.create(unit, target.project.id, { name: 'ci', scopes: ['all'], expire });
    await serverKeys.revoke(unit, id);
    await limits.reset(unit, { projectId: target.project.id });
  });
  const rows = await recordedFor('by-hand');
  assert.deepEqual(rows.map(({ action }) => action).sort(), [
    'keyCreated',
    'keyRevoked',
    'limitsReset',
    'projectUpdated',
  ]);
  for (const { actor_kind, actor_id } of rows) assert.deepEqual([actor_kind, actor_id], ['operator', 'root@host']);
});

/** Signs up, logs in, fails to, changes everything, is deleted. */
async function aWholeLife() {
  const person = aPerson({ name: 'Unmistakable Lovelace' });
  await guest.post('/account', signUpBody(person));
  const user = await logIn(target, person);
  await guest.post('/account/sessions/email', { email: person.email, password: 'a wrong one' });
  const moved = `moved-${person.email}`;
  await user.client.patch('/account/name', { name: 'Unmistakable Byron' });
  await user.client.patch('/account/email', { email: moved, password: person.password });
  await user.client.patch('/account/prefs', { prefs: { secretly: 'unmistakable preference' } });
  await user.client.patch('/account/password', { password: 'unmistakable password', oldPassword: person.password });
  await user.client.patch('/account/sessions/current');
  (await user.client.delete('/account')).expect(204);
  return { person, user, moved };
}

test('no personal value stands in the log itself, only a commitment that its value and salt open', async () => {
  const { person, moved, user } = await aWholeLife();
  const text = JSON.stringify(await entries());
  for (const value of [person.email, moved, 'Unmistakable', 'unmistakable', '127.0.0.1', person.password, user.secret])
    assert.ok(!text.includes(value), value);
  const subjects = await rowsOf(target, 'audit_subjects');
  const byId = new Map((await entries()).map((entry) => [entry.id, JSON.parse(String(entry.data))]));
  const own = subjects.filter(({ user_id }) => user_id === person.id);
  const values = new Set(own.map(({ value }) => value));
  for (const value of [person.email, moved, 'Unmistakable Lovelace', 'Unmistakable Byron', '127.0.0.1'])
    assert.ok(values.has(value), value);
  for (const { entry_id, field, value, salt } of own) {
    const { commitment } = byId.get(entry_id)[String(field)];
    assert.equal(commitment, keyedDigest(String(salt), String(value)));
    assert.match(String(salt), /^[A-Za-z0-9_-]{43}$/);
  }
  assert.equal(new Set(own.map(({ salt }) => salt)).size, own.length);
});

test('one address gives two rows that cannot be linked to one person', async () => {
  const { email } = await aLoggedInUser(target);
  for (let times = 0; times < 2; times++) await guest.post('/account/sessions/email', { email, password: 'wrong one' });
  const failed = (await entries()).filter(({ action }) => action === 'loginFailed').slice(-2);
  const commitments = failed.map(({ data }) => JSON.parse(String(data)).email.commitment);
  assert.notEqual(commitments[0], commitments[1]);
});

const mac = (entry: Row) =>
  target.appliance.runtime.sealing.auditMac(JSON.stringify(columns.map((column) => entry[column])), String(entry.at));

test('every row carries the mark of this installation over all it says', async () => {
  const all = await rowsOf(target, 'audit_entries');
  assert.ok(all.length > 20);
  for (const entry of all) assert.equal(entry.mac, mac(entry));
  const [one] = all;
  for (const column of columns) assert.notEqual(mac({ ...one, [column]: 'changed' }), one?.mac, column);
});

test('erasing personal data leaves the rows and their marks unchanged', async () => {
  const { person } = await aWholeLife();
  const before = await entries();
  await runSql(target, 'delete from audit_subjects where user_id = ?', [person.id]);
  assert.deepEqual(await entries(), before);
  assert.ok(!JSON.stringify(await rowsOf(target, 'audit_subjects')).includes(person.email));
});

const attacks: [string, string][] = [
  ...columns.map((column): [string, string] => [`a change of ${column}`, `update audit_entries set ${column} = 'x'`]),
  ['a change of the mark', `update audit_entries set mac = 'x'`],
  ['the removal of one row', 'delete from audit_entries where id = (select min(id) from audit_entries)'],
  ['the removal of all rows', 'delete from audit_entries'],
];
for (const [name, sql] of attacks) {
  test(`the database refuses ${name}`, async () => {
    const before = await rowsOf(target, 'audit_entries');
    await assert.rejects(runSql(target, sql), { name: 'DatabaseError' });
    assert.deepEqual(await rowsOf(target, 'audit_entries'), before);
  });
}

test('the seal of a row is filled in once', async () => {
  const one = 'where id = (select max(id) from audit_entries)';
  await runSql(target, `update audit_entries set seq = 1000, previous_hash = 'a', hash = 'b' ${one}`);
  for (const column of ['seq = 2', "previous_hash = 'c'", "hash = 'd'", 'seq = null'])
    await assert.rejects(runSql(target, `update audit_entries set ${column} ${one}`), { name: 'DatabaseError' });
});

test('events carry the resource as the interface prints it, and belong to the project', async () => {
  const user = await aLoggedInUser(target);
  (await user.client.delete('/account/sessions/current')).expect(204);
  const own = (await rowsOf(target, 'events', target.project.id)).filter(({ data }) => String(data).includes(user.id));
  assert.deepEqual(own.map(({ type }) => type).sort(), ['sessionCreated', 'sessionDeleted']);
  for (const { data } of own) {
    const { $id, userId, secret } = JSON.parse(String(data));
    assert.deepEqual({ $id, userId, secret }, { $id: user.sessionId, userId: user.id, secret: '' });
  }
  assert.deepEqual(await rowsOf(target, 'events', target.neighbour.id), []);
});
