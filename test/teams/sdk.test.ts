// The unmodified node-appwrite in the hands of teams.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, ID, Query, Teams, Users } from 'node-appwrite';
import { refused } from '../documents/sdk.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { linkOf, page } from './setup.js';

const target = await startAppliance();
const client = () => new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
const teamsOf = ({ secret }: { secret: string }) => new Teams(client().setSession(secret));
const server = new Teams(client().setKey((await aServerKey(target)).secret));

test('an owner and a member', async () => {
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const [adas, bobs, guests] = [teamsOf(ada), teamsOf(bob), new Teams(client())];
  const { $id: teamId, total } = await adas.create({ teamId: ID.unique(), name: 'Crew' });
  assert.equal(total, 1);
  assert.equal((await adas.updateName({ teamId, name: 'The crew' })).name, 'The crew');
  const prefs = { colour: 'red' };
  assert.deepEqual({ ...(await adas.updatePrefs({ teamId, prefs })) }, prefs);
  assert.deepEqual({ ...(await adas.getPrefs({ teamId })) }, prefs);
  await refused(bobs.get({ teamId }), 404, 'team_not_found');
  const invited = await adas.createMembership({ teamId, roles: ['reader'], email: bob.email, url: page });
  assert.deepEqual([invited.confirm, invited.teamName], [false, 'The crew']);
  const { membershipId, userId, secret } = await linkOf(target, bob.email);
  await refused(
    guests.updateMembershipStatus({ teamId, membershipId, userId, secret: 'x' }),
    401,
    'team_invalid_secret',
  );
  assert.equal((await bobs.updateMembershipStatus({ teamId, membershipId, userId, secret })).confirm, true);
  assert.equal((await bobs.get({ teamId })).total, 2);
  const { memberships } = await bobs.listMemberships({ teamId, queries: [Query.contains('roles', 'reader')] });
  assert.deepEqual(
    memberships.map((one) => [one.$id, one.userName]),
    [[membershipId, bob.name]],
  );
  await refused(bobs.updateName({ teamId, name: 'Mine' }), 401, 'user_unauthorized');
  assert.deepEqual((await adas.updateMembership({ teamId, membershipId, roles: ['cook'] })).roles, ['cook']);
  assert.deepEqual((await bobs.getMembership({ teamId, membershipId })).roles, ['cook']);
  await bobs.deleteMembership({ teamId, membershipId });
  await refused(bobs.get({ teamId }), 404, 'team_not_found');
  await adas.delete({ teamId });
  assert.equal((await adas.list()).total, 0);
});

test('an invitation that was not followed yet, and its session', async () => {
  const ada = await aLoggedInUser(target);
  const { $id: teamId } = await teamsOf(ada).create({ teamId: ID.unique(), name: 'Crew', roles: ['lead'] });
  await teamsOf(ada).createMembership({ teamId, roles: [], email: 'sdk@mail.example', url: page, name: 'Sam' });
  const { membershipId, userId, secret } = await linkOf(target, 'sdk@mail.example');
  const joined = await new Teams(client()).updateMembershipStatus({ teamId, membershipId, userId, secret });
  assert.deepEqual([joined.userName, joined.confirm, joined.roles], ['Sam', true, []]);
  const given = target.answers.at(-1)?.headers['x-fallback-cookies'];
  const [session] = Object.values(JSON.parse(String(given)));
  assert.equal((await teamsOf({ secret: String(session) }).get({ teamId })).total, 2);
});

test('a server key', async () => {
  const bob = await aLoggedInUser(target);
  await server.create({ teamId: 'sdk', name: 'By key' });
  const membership = await server.createMembership({ teamId: 'sdk', roles: ['owner'], userId: bob.id });
  assert.deepEqual([membership.confirm, membership.userEmail], [true, bob.email]);
  assert.equal((await server.list({ search: 'by KEY', queries: [Query.equal('total', 1)] })).teams[0]?.$id, 'sdk');
  assert.equal((await server.list({ total: false })).total, 0);
  const users = new Users(client().setKey((await aServerKey(target, { scopes: ['users.read'] })).secret));
  const { total, memberships } = await users.listMemberships({ userId: bob.id, search: 'sdk' });
  assert.deepEqual([total, memberships[0]?.$id, memberships[0]?.teamName], [1, membership.$id, 'By key']);
  await refused(users.listMemberships({ userId: 'nobody' }), 404, 'user_not_found');
  await refused(
    server.deleteMembership({ teamId: 'sdk', membershipId: membership.$id }),
    400,
    'membership_deletion_prohibited',
  );
  await refused(server.create({ teamId: 'sdk', name: 'Again' }), 409, 'team_already_exists');
  await server.delete({ teamId: 'sdk' });
  await refused(teamsOf(bob).get({ teamId: 'sdk' }), 404, 'team_not_found');
});
