// What the jobs of the service do: sessions that time has ended are deleted and announced once, counters pruned, statistics refreshed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aUser, type LoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { day, hour, minute } from '../harness/clock.js';
import { insertion, nothing, recordedBy, rowsOf } from '../harness/database.js';
import { asOperator, changeSettings } from '../harness/project.js';

const once = { audit: ['sessionDeleted'], events: ['sessionDeleted'], messages: [] };
const expire = ({ appliance }: TestAppliance) => appliance.features.jobs.tick('sessions.expire');
const idsOf = async (target: TestAppliance) => (await rowsOf(target, 'sessions')).map(({ id }) => id);
const refused = async ({ client }: LoggedInUser) =>
  (await client.get('/account')).refused(401, 'general_unauthorized_scope');

test('an expired session is refused, then deleted with one event; the others of its user stay', async () => {
  const target = await startAppliance();
  const old = await aLoggedInUser(target);
  target.clock.advance(10 * day);
  const young = await logIn(target, old);
  assert.deepEqual((await recordedBy(target, () => expire(target))).recorded, nothing);
  target.clock.advance(20 * day + minute);
  await refused(old);
  assert.deepEqual((await idsOf(target)).sort(), [old.sessionId, young.sessionId].sort());

  assert.deepEqual((await recordedBy(target, () => expire(target))).recorded, once);
  assert.deepEqual(await idsOf(target), [young.sessionId]);
  (await young.client.get('/account')).expect(200);
  await refused(old);
  const [event] = (await rowsOf(target, 'events')).filter(({ type }) => type === 'sessionDeleted');
  const { $id, userId, secret } = JSON.parse(String(event?.data));
  assert.deepEqual([event?.project_id, $id, userId, secret], [target.project.id, old.sessionId, old.id, '']);
  const [entry] = (await rowsOf(target, 'audit_entries')).filter(({ action }) => action === 'sessionDeleted');
  assert.deepEqual(
    [entry?.actor_kind, entry?.actor_id, entry?.resource],
    ['job', 'sessions.expire', `users/${old.id}/sessions/${old.sessionId}`],
  );
  target.clock.advance(minute);
  assert.deepEqual((await recordedBy(target, () => expire(target))).recorded, nothing);
});

test('two processes that look at once announce each of many sessions once', async () => {
  const target = await startAppliance();
  const sibling = await target.startSibling();
  const { runtime } = target.appliance;
  const [user] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const [row] = await rowsOf(target, 'sessions');
  const many = Array.from({ length: 450 }, (_, index) => ({ ...row, id: `copy-${index}` }));
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  for (let at = 0; at < many.length; at += 50) {
    const copies = insertion(runtime, 'sessions', many.slice(at, at + 50));
    await runtime.db.work(by, (unit) => unit.run(copies));
  }
  target.clock.advance(30 * day + minute);
  const { recorded } = await recordedBy(target, () => Promise.all([expire(target), expire(sibling), expire(target)]));
  assert.deepEqual(await idsOf(target), []);
  assert.deepEqual(recorded.events, Array(452).fill('sessionDeleted'));
  assert.deepEqual(recorded.audit, Array(452).fill('sessionDeleted'));
  const told = (await rowsOf(target, 'events')).filter(({ type }) => type === 'sessionDeleted');
  assert.equal(new Set(told.map(({ data }) => JSON.parse(String(data)).$id)).size, 452);
  await refused(user);
});

test('idle sessions go by the setting of their project, or that of the installation', async () => {
  const target = await startAppliance({ settings: { SVC_SESSION_IDLE_DAYS: '5' } });
  await changeSettings(target, { 'session.idleDays': 2 });
  const neighbour = { project: target.neighbour.id };
  const [unused, used] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const elsewhere = await aLoggedInUser(target, {}, neighbour);
  target.clock.advance(day);
  (await used.client.get('/account')).expect(200);
  target.clock.advance(day + minute);
  await refused(unused);
  assert.deepEqual((await recordedBy(target, () => expire(target))).recorded, once);
  assert.deepEqual((await idsOf(target)).sort(), [used.sessionId, elsewhere.sessionId].sort());
  target.clock.advance(3 * day);
  assert.deepEqual((await recordedBy(target, () => expire(target))).recorded, once);
  assert.deepEqual(await idsOf(target), []);
  const told = (await rowsOf(target, 'events', target.neighbour.id)).map(({ type }) => type);
  assert.deepEqual(told, ['sessionCreated', 'sessionDeleted']);
});

test('a session that a block has ended was announced then', async () => {
  const target = await startAppliance();
  const user = await aLoggedInUser(target);
  await asOperator(target, user.id, 'block');
  target.clock.advance(30 * day + minute);
  assert.deepEqual((await recordedBy(target, () => expire(target))).recorded, nothing);
  assert.deepEqual(await idsOf(target), []);
});

test('counters that are back to zero are pruned, those in use stay', async () => {
  const target = await startAppliance({ settings: { SVC_RATE_LIMITS: 'data=100000/60' } });
  const guess = async () => {
    const { email } = await aUser(target);
    await createClient(target).post('/account/sessions/email', { email, password: 'a wrong one' });
    return email;
  };
  await guess();
  target.clock.advance(3 * hour);
  const recent = await guess();
  const keys = async () => (await rowsOf(target, 'limit_counters')).map(({ key }) => key);
  assert.ok((await keys()).length > 2);
  const { recorded } = await recordedBy(target, () => target.appliance.features.jobs.tick('limits.prune'));
  assert.deepEqual(recorded, nothing);
  assert.ok((await keys()).includes(recent));
  assert.ok(
    (await rowsOf(target, 'limit_counters')).every(({ arrival }) => Number(arrival) > target.clock.now() - hour),
  );
});

test('the statistics of the database are refreshed', async () => {
  const target = await startAppliance();
  assert.equal((await target.appliance.features.jobs.run('database.optimize'))?.outcome, 'ok');
});
