// The memberships and invitations of a user who is deleted end like those that somebody removes: in the feed, on sockets and in the audit log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbered } from '../feed/sse.js';
import { aLoggedInUser, aServerKey, type LoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { subscribed } from '../realtime/client.js';
import { accept, addMember, aTeam, invite } from './setup.js';

type Json = Record<string, unknown>;

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const key = (await aServerKey(target)).client;
const by = {
  projectId: target.project.id,
  actor: { kind: 'operator', id: 'cli' },
  requestId: 'deletion',
};

/** What the feed says of memberships that ended since then. */
async function endedSince(cursor: string): Promise<Json[]> {
  await numbered(target);
  const ended = (await key.get(`/events?cursor=${cursor}&types=membershipDeleted`)).expect(200).list('events');
  const byId = (a: Json, b: Json) => (String(a.$id) < String(b.$id) ? -1 : 1);
  return ended.map(({ data }) => data as Json).sort(byId);
}
async function end(): Promise<string> {
  await numbered(target);
  const sequences = (await rowsOf(target, 'events', target.project.id)).map(({ sequence }) => Number(sequence));
  return String(Math.max(0, ...sequences));
}

const ways: readonly (readonly [string, (user: LoggedInUser) => Promise<unknown>])[] = [
  ['a server key deletes the user', async ({ id }) => (await key.delete(`/users/${id}`)).expect(204)],
  ['the user deletes the account', async ({ client }) => (await client.delete('/account')).expect(204)],
];
for (const [name, remove] of ways)
  test(`${name}: each membership and invitation ends as if it were removed`, async () => {
    const [team, second, third] = [await aTeam(target), await aTeam(target), await aTeam(target)];
    const user = await aLoggedInUser(target);
    const member = await addMember(key, team, user.id, ['reader']);
    const other = await addMember(key, third, user.id, []);
    const { membershipId: invited } = await invite(target, second, user.email);
    const seenByTeam = (await team.owner.client.get(`${team.memberships}/${member}`)).expect(200).body;
    const seenByInviter = (await second.owner.client.get(`${second.memberships}/${invited}`)).expect(200).body;
    const listed = (await key.get(`/users/${user.id}/memberships`)).expect(200).list('memberships');
    assert.equal(listed.length, 3);
    const headers = ({ owner }: { readonly owner: LoggedInUser }) => ({ 'X-Service-Session': owner.secret });
    const sockets = [await subscribed(target, ['memberships'], headers(team))];
    sockets.push(await subscribed(target, ['memberships'], headers(second)));
    const cursor = await end();
    const { recorded } = await recordedBy(target, () => remove(user));
    assert.deepEqual(recorded.audit, [
      'accountDeleted',
      ...['membershipDeleted', 'membershipDeleted', 'membershipDeleted', 'sessionDeleted'],
    ]);
    const ids = [member, other, invited].sort();
    const told = await endedSince(cursor);
    assert.deepEqual(
      told.map(({ $id }) => $id),
      ids,
    );
    const accessed = (all: readonly Json[]) => all.map(({ userAccessedAt: _, ...rest }) => rest);
    assert.deepEqual(accessed(told), accessed(ids.map((id) => listed.find(({ $id }) => $id === id) ?? {})));
    for (const [at, [id, path, shown]] of [
      [member, team.id, seenByTeam] as const,
      [invited, second.id, seenByInviter] as const,
    ].entries()) {
      const [message] = (await sockets[at]?.told(1)) ?? [];
      assert.equal(message?.events[0], `teams.${path}.memberships.${id}.delete`);
      assert.deepEqual(accessed([message?.payload ?? {}]), accessed([shown]));
    }
    assert.equal((await team.owner.client.get(team.path)).expect(200).body.total, 1);
    assert.deepEqual(
      await rowsOf(target, 'memberships').then((rows) => rows.filter((row) => row.user_id === user.id)),
      [],
    );
  });

test('the last owner of a team is deleted too', async () => {
  const team = await aTeam(target);
  const cursor = await end();
  (await key.delete(`/users/${team.owner.id}`)).expect(204);
  const [told, ...more] = await endedSince(cursor);
  assert.deepEqual([told?.teamId, told?.roles, more], [team.id, ['owner'], []]);
  assert.equal((await key.get(team.path)).expect(200).body.total, 0);
});

test('an erasure ends memberships, and invitations to addresses of the person, and leaves nothing of the person in the events', async () => {
  const { erasure } = target.appliance.features;
  const [team, second] = [await aTeam(target), await aTeam(target)];
  const user = await aLoggedInUser(target);
  const { email, password } = user;
  const member = await addMember(key, team, user.id, ['reader']);
  const { membershipId: invited } = await invite(target, second, email);
  (await user.client.patch('/account/email', { email: `moved-${email}`, password })).expect(200);
  const cursor = await end();
  const { recorded } = await recordedBy(target, () => erasure.run(by, target.project, user.id));
  assert.deepEqual(
    recorded.audit.filter((action) => action === 'membershipDeleted'),
    ['membershipDeleted', 'membershipDeleted'],
  );
  assert.deepEqual(
    await endedSince(cursor),
    [
      { $id: member, userId: user.id, teamId: team.id, erased: true },
      { $id: invited, userId: user.id, teamId: second.id, erased: true },
    ].sort((a, b) => (a.$id < b.$id ? -1 : 1)),
  );
  const stored = JSON.stringify(await rowsOf(target, 'events'));
  assert.ok(!stored.includes(email) && !stored.includes(`"${user.name}"`));
});

test('an invitation to an address of an erased person that was made out to another user ends as well', async () => {
  const { erasure } = target.appliance.features;
  const team = await aTeam(target);
  const first = await aLoggedInUser(target);
  const { email: address, password } = first;
  const { membershipId: invited } = await invite(target, team, address);
  (await first.client.patch('/account/email', { email: `moved-${address}`, password })).expect(200);
  const second = { userId: 'unique()', email: address, password: 'seven-green-lamps', name: 'Second' };
  const { $id } = (await createClient(target).post('/account', second)).expect(201).body;
  const cursor = await end();
  await erasure.run(by, target.project, String($id));
  assert.deepEqual(await endedSince(cursor), [{ $id: invited, userId: first.id, teamId: team.id, erased: true }]);
  assert.equal((await team.owner.client.get(team.memberships)).expect(200).body.total, 1);
});

test('one deletion ends many memberships, beside callers who accept or remove some', async () => {
  const user = await aLoggedInUser(target);
  const teams = [];
  for (let count = 0; count < 12; count++) teams.push(await aTeam(target));
  const links = [];
  for (const team of teams.slice(0, 6)) links.push(await invite(target, team, user.email));
  const members: (readonly [string, string])[] = [];
  for (const team of teams.slice(6)) members.push([team.memberships, await addMember(key, team, user.id)]);
  const cursor = await end();
  const [deleted, ...others] = await Promise.all([
    key.delete(`/users/${user.id}`),
    ...links.map((link) => accept(user.client, link)),
    ...members.map(([path, id]) => key.delete(`${path}/${id}`)),
  ]);
  deleted?.expect(204);
  assert.deepEqual(
    others.map(({ status }) => status).filter((status) => status >= 500),
    [],
  );
  const ids = [...links.map(({ membershipId }) => membershipId), ...members.map(([, id]) => id)].sort();
  assert.deepEqual(
    (await endedSince(cursor)).map(({ $id }) => $id),
    ids,
  );
});
