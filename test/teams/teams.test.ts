// Teams over REST: every route, what is refused, and what is recorded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { teamLimits } from '#src/contract/limits.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, runSql } from '../harness/database.js';
import { accept, addMember, assertInStep, aTeam, invite, page } from './setup.js';

const target = await startAppliance();
const key = (await aServerKey(target)).client;
const stranger = await aLoggedInUser(target);

test('a user creates a team, is its owner, and changes it', async () => {
  const ada = await aLoggedInUser(target);
  const { value: made, recorded } = await recordedBy(target, () =>
    ada.client.post('/teams', { teamId: 'unique()', name: 'Crew', roles: ['cook', 'cook'] }),
  );
  const { $id, $createdAt, ...rest } = made.expect(201).body;
  assert.deepEqual(recorded, { ...nothing, audit: ['membershipConfirmed', 'teamCreated'] });
  assert.deepEqual(rest, { $updatedAt: $createdAt, name: 'Crew', total: 1, prefs: {} });
  const path = `/teams/${$id}`;
  assert.deepEqual((await ada.client.get(path)).expect(200).body, made.body);
  const { total, memberships } = (await ada.client.get(`${path}/memberships`)).expect(200).body as {
    total: number;
    memberships: Record<string, unknown>[];
  };
  const { $id: membershipId, $createdAt: at, userAccessedAt, ...membership } = memberships[0] ?? {};
  assert.deepEqual(
    [total, membership],
    [
      1,
      {
        ...{ $updatedAt: at, userId: ada.id, userName: ada.name, userEmail: ada.email, userPhone: '' },
        ...{
          teamId: $id,
          teamName: 'Crew',
          invited: at,
          joined: at,
          confirm: true,
          mfa: false,
          roles: ['cook', 'owner'],
        },
      },
    ],
  );
  assert.match(String(userAccessedAt), /^2/);
  assert.deepEqual((await ada.client.get(`${path}/memberships/${membershipId}`)).expect(200).body, memberships[0]);

  target.clock.advance(1000);
  const renamed = await recordedBy(target, () => ada.client.put(path, { name: 'Other' }));
  assert.equal(renamed.value.expect(200).body.name, 'Other');
  assert.notEqual(renamed.value.body.$updatedAt, $createdAt);
  const prefs = { theme: { dark: true }, list: [1] };
  const changed = await recordedBy(target, () => ada.client.put(`${path}/prefs`, { prefs }));
  assert.deepEqual(changed.value.expect(200).body, prefs);
  assert.deepEqual((await ada.client.get(`${path}/prefs`)).expect(200).body, prefs);
  assert.deepEqual((await ada.client.get(path)).body.prefs, prefs);
  const removed = await recordedBy(target, () => ada.client.delete(path));
  removed.value.expect(204);
  assert.deepEqual(
    [renamed, changed, removed].map(({ recorded: { audit, events } }) => [audit, events]),
    [['teamUpdated'], ['teamPrefsChanged'], ['teamDeleted']].map((audit) => [audit, []]),
  );
  (await ada.client.get(path)).refused(404, 'team_not_found');
});

test('a server key creates a team without members and adds them at once, without mail', async () => {
  const made = (await key.post('/teams', { teamId: 'by-key', name: 'Keys' })).expect(201);
  assert.equal(made.body.total, 0);
  const bob = await aLoggedInUser(target);
  const add = (body: Record<string, unknown>) => recordedBy(target, () => key.post('/teams/by-key/memberships', body));
  const known = await add({ userId: bob.id, roles: ['owner'] });
  assert.deepEqual(known.recorded, { ...nothing, audit: ['membershipConfirmed'] });
  assert.equal(known.value.expect(201).body.confirm, true);
  const unknown = await add({ email: 'New@Mail.example', roles: ['a'], name: 'New', userId: '', phone: '' });
  assert.deepEqual(unknown.recorded, { ...nothing, audit: ['accountCreated', 'membershipConfirmed'] });
  const { userName, userEmail, joined, invited } = unknown.value.expect(201).body;
  assert.deepEqual([userName, userEmail, joined], ['New', 'new@mail.example', invited]);
  const byPhone = (await add({ phone: '+491701234567', roles: [] })).value.expect(201).body;
  assert.deepEqual([byPhone.userPhone, byPhone.userEmail, byPhone.confirm], ['+491701234567', '', true]);
  assert.equal((await bob.client.get('/teams/by-key')).expect(200).body.total, 4 - 1);
  (await add({ userId: bob.id, roles: [] })).value.refused(409, 'membership_already_confirmed');
  await assertInStep(target);
});

test('deleting a user keeps the number of members right, and an unowned team is given an owner by a key', async () => {
  const team = await aTeam(target);
  const reader = await aLoggedInUser(target);
  const membership = await addMember(key, team, reader.id);
  (await team.owner.client.delete('/account')).expect(204);
  assert.equal((await reader.client.get(team.path)).body.total, 1);
  (await key.patch(`${team.memberships}/${membership}`, { roles: ['owner'] })).expect(200);
  (await reader.client.put(team.path, { name: 'Mine' })).expect(200);
});

test('an invalid team, role or invitation is refused', async () => {
  const team = await aTeam(target);
  const { client } = team.owner;
  const long = 'x'.repeat(81);
  (await client.post('/teams', { teamId: team.id, name: 'Again' })).refused(409, 'team_already_exists');
  for (const body of [
    {},
    { teamId: 'a b', name: 'x' },
    { teamId: 'x' },
    { teamId: 'x', name: '' },
    { teamId: 'x', name: 'y'.repeat(129) },
    { teamId: 'x', name: 'x', roles: [''] },
  ])
    (await client.post('/teams', body)).refused(400, 'general_argument_invalid');
  for (const role of ['', 'a/b', 'a"b', `${long}x`, 'a\nb', 1])
    (await client.post(team.memberships, { email: 'x@mail.example', roles: [role], url: page })).refused(
      400,
      'general_argument_invalid',
    );
  for (const body of [
    { roles: [], url: page },
    { email: 'x@mail.example', url: page },
    { email: 'x@mail.example', roles: [] },
    { email: 'x@mail.example', roles: [], url: '' },
    { email: 'x@mail.example', roles: [], url: 'https://evil.example/' },
    { email: 'no address', roles: [], url: page },
    { phone: '+491709999999', roles: [], url: page },
    { email: 'x@mail.example', roles: Array.from({ length: 101 }, (_, at) => `r${at}`), url: page },
  ])
    (await client.post(team.memberships, body)).refused(400, 'general_argument_invalid');
  (await client.post(team.memberships, { userId: 'nobody', roles: [], url: page })).refused(404, 'user_not_found');
  (await key.post(team.memberships, { email: stranger.email, phone: '+4917011111', roles: [] })).refused(
    409,
    'user_already_exists',
  );
  (await client.put(`${team.path}/prefs`, { prefs: [1] })).refused(400, 'general_argument_invalid');
  (await client.get(`${team.memberships}/nothing`)).refused(404, 'membership_not_found');
  (await client.patch(`${team.memberships}/nothing`, { roles: [] })).refused(404, 'membership_not_found');
  const other = await aTeam(target);
  const [foreign] = (await key.get(other.memberships)).list('memberships');
  (await client.get(`${team.memberships}/${foreign?.$id}`)).refused(404, 'membership_not_found');
  (await client.patch(`${team.memberships}/${foreign?.$id}`, { roles: [] })).refused(404, 'membership_not_found');
  (await client.delete(`${team.memberships}/${foreign?.$id}`)).refused(404, 'team_membership_mismatch');
  (await client.patch(`${team.memberships}/nothing`, { roles: [long, 'Ä ö (x)'] })).refused(
    404,
    'membership_not_found',
  );
});

test('a user in the maximum number of teams joins no other, and the try leaves nothing', async () => {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const link = await invite(target, team, user.email);
  const full = Array.from({ length: teamLimits.perUser }, (_, at) => ({ id: `m${at}`, teamId: `t${at}`, roles: [] }));
  await runSql(target, 'update users set memberships = ? where id = ?', [JSON.stringify(full), user.id]);
  const tries = [
    () => user.client.post('/teams', { teamId: 'one-more', name: 'One more' }),
    () => key.post(team.memberships, { userId: user.id, roles: [] }),
    () => accept(createClient(target), link),
  ];
  for (const attempt of tries) {
    const { value, recorded } = await recordedBy(target, attempt);
    value.refused(400, 'team_limit_exceeded');
    assert.deepEqual(recorded, nothing);
  }
  (await key.get('/teams/one-more')).refused(404, 'team_not_found');
  (await user.client.get('/account')).expect(200);
});
