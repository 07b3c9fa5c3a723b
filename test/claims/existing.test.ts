// What the migrations make of users, teams and contacts that were there before them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aPerson, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { rowsOf, runSql } from '../harness/database.js';

const target = await startAppliance();
const { client: key } = await aServerKey(target);
const { runtime, features } = target.appliance;
const operator = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };

async function byOperator(): Promise<string> {
  const person = aPerson();
  return (await features.userChanges.signUp(operator, target.project, { ...person, phone: null, address: null })).id;
}
async function byKey(given: object = {}): Promise<string> {
  const { id, email, name } = aPerson();
  return (await key.post('/users', { userId: id, email, name, ...given })).expect(201).string('$id');
}
async function downAndUp(first: string): Promise<void> {
  const { migrator } = runtime;
  for (let name = await migrator.down(); name !== undefined && name > first; name = await migrator.down());
  await migrator.up();
}
const vouched = async (id: string) => {
  const row = (await rowsOf(target, 'users')).find((user) => user.id === id);
  return [Number(row?.email_vouched), Number(row?.phone_vouched)];
};

test('contacts from before are claims, but for those that the log says a key or an operator has set', async () => {
  const own = (await aUser(target)).id;
  const [operators, keys] = [await byOperator(), await byKey({ phone: '+14155557001' })];
  const imported = (
    await key.post('/users/md5', { userId: 'imported', email: 'imported@mail.example', password: '0'.repeat(32) })
  )
    .expect(201)
    .string('$id');
  const changed = await aLoggedInUser(target);
  (await key.patch(`/users/${changed.id}/email`, { email: 'set.by.key@mail.example' })).expect(200);
  const takenBack = await aLoggedInUser(target);
  (await key.patch(`/users/${takenBack.id}/email`, { email: 'first.by.key@mail.example' })).expect(200);
  const own2 = { email: 'then.by.user@mail.example', password: takenBack.password };
  (await takenBack.client.patch('/account/email', own2)).expect(200);
  const unknown = (await aUser(target)).id;
  await runSql(target, `update users set id = 'not-in-the-log' where id = ?`, [unknown]);
  const expected = [
    [own, [0, 0]],
    [operators, [1, 0]],
    [keys, [1, 1]],
    [imported, [1, 0]],
    [changed.id, [1, 0]],
    [takenBack.id, [0, 0]],
    ['not-in-the-log', [0, 0]],
  ] as const;
  const now = async () => Promise.all(expected.map(async ([id]) => [id, await vouched(id)]));
  assert.deepEqual(await now(), expected);
  await downAndUp('0013_contacts');
  assert.deepEqual(await now(), expected);
});

test('ids of users and teams that were deleted before stay taken', async () => {
  const user = await aUser(target);
  (await key.delete(`/users/${user.id}`)).expect(204);
  (await key.post('/teams', { teamId: 'old-team', name: 'Old' })).expect(201);
  (await key.delete('/teams/old-team')).expect(204);
  const before = await rowsOf(target, 'taken_ids');
  assert.deepEqual(
    before.map(({ kind, id }) => [kind, id]).sort(),
    [
      ['team', 'old-team'],
      ['user', user.id],
    ].sort(),
  );
  await downAndUp('0014_taken_ids');
  assert.deepEqual(
    (await rowsOf(target, 'taken_ids')).map((row) => JSON.stringify(row)).sort(),
    before.map((row) => JSON.stringify(row)).sort(),
  );
  (await key.post('/users', { userId: user.id, email: user.email })).refused(409, 'user_already_exists');
});
