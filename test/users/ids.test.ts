// Ids of users and teams are never given twice: permissions, logs and tokens go on naming them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '#src/contract/errors.js';
import { aLoggedInUser, aPerson, aServerKey, aUser, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { aContact, ask, askAndRead, redeemPath, secretFor, sentLogins, withSms } from '../logins/setup.js';

const target = await startAppliance({ settings: withSms });
const sibling = await target.startSibling();
const guest = createClient(target);
const { client: key } = await aServerKey(target);
const elsewhere = (await aServerKey(target, { projectId: target.neighbour.id })).client;
const { features, runtime } = target.appliance;
const operator = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };

const deletions: Readonly<Record<string, () => Promise<string>>> = {
  'the user': async () => {
    const { id, client } = await aLoggedInUser(target);
    (await client.delete('/account')).expect(204);
    return id;
  },
  'a server key': async () => {
    const { id } = await aUser(target);
    (await key.delete(`/users/${id}`)).expect(204);
    return id;
  },
  'an operator': async () => {
    const { id } = await aUser(target);
    const account = await features.users.getByIdOrEmail(target.project.id, id);
    await runtime.db.work(operator, (unit) => features.userChanges.remove(unit, target.project, account));
    return id;
  },
};
for (const [who, remove] of Object.entries(deletions)) {
  test(`the id of a user whom ${who} has deleted is not given again, by whatever way`, async () => {
    const id = await remove();
    const body = () => signUpBody({ ...aPerson(), id });
    const email = () => aContact('email');
    const ways = [
      () => guest.post('/account', body()),
      () => key.post('/account', body()),
      () => key.post('/users', body()),
      () => key.post('/users', { userId: id }),
      () => key.post('/users/md5', { userId: id, email: email(), password: '0'.repeat(32) }),
    ];
    for (const way of ways) {
      const { value, recorded } = await recordedBy(target, way);
      value.refused(409, 'user_already_exists');
      assert.deepEqual(recorded, nothing);
    }
    const given = { ...aPerson(), id, phone: null, address: null };
    await assert.rejects(features.userChanges.signUp(operator, target.project, given), (error) => {
      assert.ok(error instanceof Failure);
      return error.type === 'user_already_exists';
    });
    assert.ok(!(await rowsOf(target, 'users', target.project.id)).some((row) => row.id === id));
    (await elsewhere.post('/users', { userId: id })).expect(201);
    for (const way of sentLogins) {
      const answered = await askAndRead(target, way, aContact(way.channel), { userId: id });
      assert.notEqual(answered.userId, id);
      assert.equal((await guest.post(redeemPath, answered)).expect(201).body.userId, answered.userId);
      const contact = aContact(way.channel);
      const byKey = (await ask(key, way, contact, { userId: id })).expect(201);
      assert.notEqual(byKey.body.userId, id);
    }
  });
}

test('an id that is given and taken back while a login is on its way stays taken', async () => {
  for (const way of sentLogins) {
    const contact = aContact(way.channel);
    const { id } = aPerson();
    const { userId } = (await ask(guest, way, contact, { userId: id })).expect(201).body;
    assert.equal(userId, id);
    await aUser(target, { id });
    (await key.delete(`/users/${id}`)).expect(204);
    const secret = await secretFor(target, contact);
    (await guest.post(redeemPath, { userId: id, secret })).refused(409, 'user_already_exists');
    assert.ok(!(await rowsOf(target, 'users', target.project.id)).some((row) => row.id === id));
  }
});

test('a sign-up while the id is being deleted does not get it', async () => {
  for (let round = 0; round < 25; round++) {
    const { id } = await aUser(target);
    const [deleted, ...made] = await Promise.all([
      key.delete(`/users/${id}`),
      createClient(sibling).post('/account', signUpBody({ ...aPerson(), id })),
      guest.post('/account', signUpBody({ ...aPerson(), id })),
    ]);
    deleted.expect(204);
    for (const answer of made) answer.refused(409, 'user_already_exists');
  }
});

test('the id of a deleted team is not given again', async () => {
  const owner = await aLoggedInUser(target);
  for (const [client, teamId] of [
    [owner.client, 'team-of-user'],
    [key, 'team-of-key'],
  ] as const) {
    (await client.post('/teams', { teamId, name: 'First' })).expect(201);
    (await client.delete(`/teams/${teamId}`)).expect(204);
    for (const other of [key, owner.client, (await aLoggedInUser(target)).client]) {
      const { value, recorded } = await recordedBy(target, () => other.post('/teams', { teamId, name: 'Next' }));
      value.refused(409, 'team_already_exists');
      assert.deepEqual(recorded, nothing);
    }
    (await elsewhere.post('/teams', { teamId, name: 'Elsewhere' })).expect(201);
  }
});

test('twenty requests under another user’s id leave that user’s own code and link open', async () => {
  const [magicLink, emailCode] = sentLogins;
  assert.ok(magicLink && emailCode);
  const user = await aLoggedInUser(target);
  const late = aPerson().id;
  // Taken only after the requests: what was asked for before names the id too.
  for (let request = 0; request < 25; request++)
    (await ask(guest, emailCode, aContact('email'), { userId: late })).expect(201);
  const owner = await aUser(target, { id: late });
  for (const [id, email] of [
    [user.id, user.email],
    [late, owner.email],
  ] as const) {
    const own = await askAndRead(target, emailCode, email);
    for (let request = 0; request < 25; request++)
      (await ask(guest, emailCode, aContact('email'), { userId: id })).expect(201);
    (await guest.post(redeemPath, { userId: id, secret: own.secret })).expect(201);
  }
});
