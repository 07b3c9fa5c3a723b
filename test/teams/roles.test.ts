// What teams give: roles that permissions name, at the next request, on every process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graphqlCalls, restCalls } from '../documents/calls.js';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { accept, addMember, assertInStep, aTeam, invite } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();
const { key, collection: aCollection } = await aBackend(target);
const attributes = { n: { type: 'integer' } };

/** A member, and what the other server lets them see of a document that grants a role to read. */
async function aReader(role: (team: string, membership: string) => string) {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const membership = await addMember(key, team, user.id, ['planner']);
  const collection = await aCollection({ documentSecurity: true, attributes });
  await restCalls(collection).create(key, 'one', { n: 1 }, [`read("${role(team.id, membership)}")`]);
  const there = createClient(sibling, { session: user.secret });
  const sees = async () => {
    const seen = [];
    for (const calls of [restCalls(collection), graphqlCalls(collection)]) {
      const list = await calls.list(there);
      seen.push((await calls.get(there, 'one')).type, list.ids.length, list.total);
    }
    return seen;
  };
  return { team, user, sees, there, path: `${team.memberships}/${membership}` };
}

const yes = ['ok', 1, 1, 'ok', 1, 1];
const no = ['document_not_found', 0, 0, 'document_not_found', 0, 0];
const roles = {
  'of the team': (team: string) => `team:${team}`,
  'of a role in it': (team: string) => `team:${team}/planner`,
  'of the membership': (_: string, membership: string) => `member:${membership}`,
};
type Reader = Awaited<ReturnType<typeof aReader>>;
const endings: Record<string, (reader: Reader) => Promise<unknown>> = {
  'the owner removes the member': ({ team, path }) => team.owner.client.delete(path),
  'the member leaves': ({ user, path }) => user.client.delete(path),
  'the team is deleted': ({ team }) => team.owner.client.delete(team.path),
};

for (const [whose, role] of Object.entries(roles)) {
  for (const [how, end] of Object.entries(endings)) {
    test(`documents for ${whose} are hidden on the other server when ${how}`, async () => {
      const reader = await aReader(role);
      assert.deepEqual(await reader.sees(), yes);
      await end(reader);
      assert.deepEqual(await reader.sees(), no);
      (await reader.there.get(reader.team.path)).refused(404, 'team_not_found');
      await assertInStep(target);
    });
  }
}

test('a role that is taken away is gone on the other server, and the team stays', async () => {
  const reader = await aReader(roles['of a role in it']);
  (await reader.team.owner.client.patch(reader.path, { roles: ['reader'] })).expect(200);
  assert.deepEqual(await reader.sees(), no);
  (await reader.there.get(reader.team.path)).expect(200);
  (await reader.team.owner.client.patch(reader.path, { roles: ['reader', 'planner'] })).expect(200);
  assert.deepEqual(await reader.sees(), yes);
});

test('an invitation gives nothing until it is accepted, and then everything on the other server', async () => {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const collection = await aCollection({ permissions: [`read("team:${team.id}/planner")`], attributes });
  const there = createClient(sibling, { session: user.secret });
  const list = async () => (await restCalls(collection).list(there)).type;
  const link = await invite(target, team, user.email, ['planner']);
  assert.equal(await list(), 'user_unauthorized');
  (await accept(user.client, link)).expect(200);
  assert.equal(await list(), 'ok');
});

test('a user grants to the own teams, roles and memberships only', async () => {
  const [team, other] = [await aTeam(target), await aTeam(target)];
  const user = await aLoggedInUser(target);
  const membership = await addMember(key, team, user.id, ['planner', 'Ä ö']);
  const collection = await aCollection({ permissions: ['create("users")'], documentSecurity: true, attributes });
  const create = async (role: string) =>
    (await restCalls(collection).create(user.client, 'unique()', { n: 1 }, [`read("${role}")`])).type;
  for (const role of [`team:${team.id}`, `team:${team.id}/planner`, `team:${team.id}/Ä ö`, `member:${membership}`])
    assert.equal(await create(role), 'ok', role);
  for (const role of [`team:${team.id}/owner`, `team:${team.id}/Planner`, `team:${other.id}`, `member:${team.id}`])
    assert.equal(await create(role), 'user_unauthorized', role);
});

test('membership changes leave the user as it was, times included', async () => {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const row = async () => {
    const { memberships: _, ...rest } = (await rowsOf(target, 'users')).find(({ id }) => id === user.id) ?? {};
    return rest;
  };
  const before = await row();
  target.clock.advance(60_000);
  const membership = await addMember(key, team, user.id);
  assert.deepEqual(await row(), before);
  (await key.delete(`${team.memberships}/${membership}`)).expect(204);
  assert.deepEqual(await row(), before);
});
