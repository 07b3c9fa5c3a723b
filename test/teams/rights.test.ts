// Who may do what with a team: owners, members, the invited, everybody else; and that a team keeps an owner.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';
import { addMember, assertInStep, aTeam, invite, page } from './setup.js';

const target = await startAppliance();
const guest = createClient(target);
const key = (await aServerKey(target)).client;
const stranger = await aLoggedInUser(target);
const query = (...queries: unknown[]) =>
  `?${queries.map((one) => `queries[]=${encodeURIComponent(JSON.stringify(one))}`).join('&')}`;

test('rights of owners, members, the invited, strangers, guests, keys', async () => {
  const team = await aTeam(target);
  const [member, invited, victim] = [
    await aLoggedInUser(target),
    await aLoggedInUser(target),
    await aLoggedInUser(target),
  ];
  const own = await addMember(key, team, member.id, ['reader']);
  const offered = (await invite(target, team, invited.email)).membershipId;
  const weak = (await aServerKey(target, { scopes: ['teams.read'] })).client;
  const other = createClient(target, {
    project: target.neighbour.id,
    key: (await aServerKey(target, { projectId: target.neighbour.id })).secret,
  });
  const callers = {
    ...{ owner: team.owner.client, member: member.client, invited: invited.client, stranger: stranger.client },
    ...{ guest, key, weak, other },
  };
  const of = (membership: string) => `${team.memberships}/${membership}`;
  const no = {
    stranger: 'team_not_found',
    invited: 'team_not_found',
    guest: 'general_unauthorized_scope',
    other: 'team_not_found',
  };
  const forOwners = { ...no, owner: 'ok', key: 'ok', member: 'user_unauthorized', weak: 'general_unauthorized_scope' };
  const forMembers = { ...no, owner: 'ok', key: 'ok', member: 'ok', weak: 'ok' };
  const extra = await addMember(key, team, victim.id);
  const table: [string, string, unknown, Record<keyof typeof callers, string>][] = [
    ['GET', team.path, undefined, forMembers],
    ['GET', `${team.path}/prefs`, undefined, forMembers],
    ['GET', team.memberships, undefined, forMembers],
    ['GET', of(own), undefined, forMembers],
    ['GET', of(offered), undefined, forMembers],
    ['PUT', team.path, { name: 'N' }, forOwners],
    ['PUT', `${team.path}/prefs`, { prefs: {} }, forOwners],
    ['PATCH', of(extra), { roles: ['x'] }, forOwners],
    [
      'POST',
      team.memberships,
      { email: member.email, roles: [], url: page },
      { ...forOwners, owner: 'membership_already_confirmed', key: 'membership_already_confirmed' },
    ],
    [
      'DELETE',
      of('nothing'),
      undefined,
      { ...forOwners, owner: 'team_invite_not_found', key: 'team_invite_not_found' },
    ],
    ['DELETE', of(extra), undefined, { ...forOwners, key: 'team_invite_not_found' }],
    ['DELETE', team.path, undefined, { ...forOwners, owner: 'skipped', key: 'skipped' }],
  ];
  for (const [method, path, body, expected] of table) {
    for (const [name, client] of Object.entries(callers)) {
      const wanted = expected[name as keyof typeof callers];
      if (wanted === 'skipped') continue;
      const { value: answer, recorded } = await recordedBy(target, () => client.request(method, path, body));
      const type = answer.status < 400 ? 'ok' : answer.body.type;
      assert.equal(type, wanted, `${method} ${path} by ${name}`);
      if (type !== 'ok') assert.deepEqual(recorded, nothing, `${method} ${path} by ${name}`);
    }
  }
  const lists = Object.entries(callers).filter(([name]) => !['guest', 'key', 'weak', 'other'].includes(name));
  for (const [name, client] of lists) {
    const { total } = (await client.get(`/teams${query({ method: 'equal', attribute: '$id', values: [team.id] })}`))
      .body;
    assert.equal(total, ['owner', 'member'].includes(name) ? 1 : 0, name);
  }
  (await invited.client.delete(of(offered))).expect(204);
  (await member.client.delete(of(own))).expect(204);
  (await member.client.get(team.path)).refused(404, 'team_not_found');
  assert.equal((await key.get(team.path)).body.total, 1);
});

test('the last owner remains until there is another, or the team is deleted', async () => {
  const team = await aTeam(target);
  const second = await aLoggedInUser(target);
  const [first] = (await key.get(team.memberships)).list('memberships');
  const path = `${team.memberships}/${first?.$id}`;
  for (const client of [team.owner.client, key]) {
    (await client.delete(path)).refused(400, 'membership_deletion_prohibited');
    (await client.patch(path, { roles: ['Owner', 'co-owner'] })).refused(400, 'membership_downgrade_prohibited');
  }
  (await team.owner.client.patch(path, { roles: ['x', 'owner'] })).expect(200);
  const link = await invite(target, team, second.email, ['owner']);
  (await team.owner.client.delete(path)).refused(400, 'membership_deletion_prohibited');
  (await second.client.patch(`${team.memberships}/${link.membershipId}/status`, link)).expect(200);
  (await team.owner.client.patch(path, { roles: [] })).expect(200);
  (await team.owner.client.put(team.path, { name: 'N' })).refused(401, 'user_unauthorized');
  (await second.client.delete(`${team.memberships}/${link.membershipId}`)).refused(
    400,
    'membership_deletion_prohibited',
  );
  (await second.client.delete(path)).expect(204);
  (await second.client.delete(team.path)).expect(204);
  await assertInStep(target);
});

test('of two owners who leave or step down together one stays', async () => {
  for (let round = 0; round < 4; round++) {
    const team = await aTeam(target);
    const second = await aLoggedInUser(target);
    await addMember(key, team, second.id, ['owner']);
    const [a, b] = (await key.get(team.memberships)).list('memberships');
    const answers = await Promise.all([
      team.owner.client.delete(`${team.memberships}/${a?.$id}`),
      second.client.patch(`${team.memberships}/${b?.$id}`, { roles: ['reader'] }),
    ]);
    assert.equal(answers.filter(({ status }) => status < 300).length, 1, answers.map(({ text }) => text).join());
    const owners = (await key.get(team.memberships))
      .list('memberships')
      .filter(({ roles }) => (roles as string[]).includes('owner'));
    assert.equal(owners.length, 1);
  }
});

test('a project may keep the contacts of members for owners', async () => {
  const team = await aTeam(target);
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  for (const { id } of [ada, bob]) await addMember(key, team, id);
  const contacts = async (client: typeof key) =>
    (await client.get(team.memberships)).list('memberships').map(({ userEmail }) => userEmail);
  const all = [team.owner.email, ada.email, bob.email];
  assert.deepEqual(await contacts(ada.client), all);
  await changeSettings(target, { 'teams.hideMembers': true });
  target.clock.advance(500);
  assert.deepEqual(await contacts(ada.client), ['', ada.email, '']);
  for (const client of [team.owner.client, key]) assert.deepEqual(await contacts(client), all);
  const [{ $id, userName } = {}] = (await ada.client.get(team.memberships)).list('memberships');
  assert.equal(userName, team.owner.name);
  assert.equal((await ada.client.get(`${team.memberships}/${$id}`)).body.userEmail, '');
  // The same for those who are invited: whoever sees an address now would know later whose it is.
  const body = { email: 'vic@mail.example', name: 'Vic', roles: ['a'], url: page };
  (await team.owner.client.post(team.memberships, body)).expect(201);
  const invited = async (client: typeof key) => {
    const list = (await client.get(team.memberships)).list('memberships');
    const found = list.find(({ confirm }) => confirm === false);
    return [found?.userName, found?.userEmail];
  };
  assert.deepEqual(await invited(ada.client), ['Vic', '']);
  assert.deepEqual(await invited(team.owner.client), ['Vic', 'vic@mail.example']);
  await changeSettings(target, { 'teams.hideMembers': false });
});
