// Teams over REST: every route, who may what, lists, and what is recorded.
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

test('who may do what: owners, members, the invited, strangers, guests, keys', async () => {
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

test('the last owner stays one, until somebody else is, or the team is deleted', async () => {
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

test('deleting a user keeps the number of members right, and an unowned team is given an owner by a key', async () => {
  const team = await aTeam(target);
  const reader = await aLoggedInUser(target);
  const membership = await addMember(key, team, reader.id);
  (await team.owner.client.delete('/account')).expect(204);
  assert.equal((await reader.client.get(team.path)).body.total, 1);
  (await key.patch(`${team.memberships}/${membership}`, { roles: ['owner'] })).expect(200);
  (await reader.client.put(team.path, { name: 'Mine' })).expect(200);
});

test('lists: queries, cursors, orders, search, total', async () => {
  const ada = await aLoggedInUser(target);
  for (const name of ['Zebra', 'apple', 'Ärger 50%', 'Mango'])
    (await ada.client.post('/teams', { teamId: `list-${name.slice(0, 1) === 'Ä' ? 'arger' : name}`, name })).expect(
      201,
    );
  await addMember(key, { ...(await aTeam(target)), memberships: '/teams/list-Mango/memberships' }, stranger.id);
  const names = async (...queries: unknown[]) =>
    (await ada.client.get(`/teams${query(...queries)}`))
      .expect(200)
      .list('teams')
      .map(({ name }) => name);
  const by = (method: string, attribute: string, ...values: unknown[]) => ({ method, attribute, values });
  assert.deepEqual(await names(), ['Zebra', 'apple', 'Ärger 50%', 'Mango']);
  assert.deepEqual(await names(by('orderAsc', 'name')), ['Mango', 'Zebra', 'apple', 'Ärger 50%']);
  assert.deepEqual(await names(by('orderDesc', 'total'), { method: 'limit', values: [2] }), ['Mango', 'Zebra']);
  assert.deepEqual(await names(by('equal', 'total', 2)), ['Mango']);
  assert.deepEqual(await names(by('equal', 'name', 'apple', 'Zebra')), ['Zebra', 'apple']);
  assert.deepEqual(await names({ method: 'cursorAfter', values: ['list-apple'] }), ['Ärger 50%', 'Mango']);
  assert.deepEqual(await names({ method: 'cursorBefore', values: ['list-apple'] }), ['Zebra']);
  assert.deepEqual(await names({ method: 'offset', values: [3] }), ['Mango']);
  const search = async (word: string) =>
    (await ada.client.get(`/teams?search=${encodeURIComponent(word)}`))
      .expect(200)
      .list('teams')
      .map(({ name }) => name);
  assert.deepEqual(await search('äRGER'), ['Ärger 50%']);
  assert.deepEqual([await search('0%'), await search('%'), await search('_')], [['Ärger 50%'], ['Ärger 50%'], []]);
  assert.equal((await ada.client.get('/teams?total=false')).body.total, 0);
  (await ada.client.get(`/teams${query(by('equal', 'prefs', 'x'))}`)).refused(400, 'general_argument_invalid');
  (await ada.client.get(`/teams${query({ method: 'cursorAfter', values: ['by-key'] })}`)).refused(
    400,
    'general_cursor_not_found',
  );
  (await ada.client.get('/teams?search=%00')).refused(400, 'general_argument_invalid');

  const team = await aTeam(target);
  const [first, second] = [
    await aLoggedInUser(target, { name: 'Findable' }),
    await aLoggedInUser(target, { name: 'Hidden' }),
  ];
  await addMember(key, team, first.id, ['cook', 'driver']);
  const { userId } = await invite(target, team, second.email, ['driver']);
  const members = async (text: string) =>
    (await team.owner.client.get(`${team.memberships}${text}`))
      .expect(200)
      .list('memberships')
      .map((one) => one.userId);
  assert.deepEqual(await members(query(by('contains', 'roles', 'driver'))), [first.id, userId]);
  assert.deepEqual(await members(query(by('equal', 'confirm', false))), [userId]);
  assert.deepEqual(await members(query(by('equal', 'userId', first.id))), [first.id]);
  assert.deepEqual(await members(query({ method: 'isNull', attribute: 'joined' })), [userId]);
  assert.deepEqual(await members('?search=findABLE'), [first.id]);
  assert.deepEqual(await members('?search=Hidden'), []);
});

test('what is no team, no role and no invitation is refused', async () => {
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
    { email: 'x@mail.example', phone: '+491709999999', roles: [], url: page },
    { email: 'x@mail.example', roles: Array.from({ length: 101 }, (_, at) => `r${at}`), url: page },
  ])
    (await client.post(team.memberships, body)).refused(400, 'general_argument_invalid');
  (await client.post(team.memberships, { userId: 'nobody', roles: [], url: page })).refused(404, 'user_not_found');
  const mixed = { userId: stranger.id, email: 'other@mail.example', roles: [], url: page };
  (await client.post(team.memberships, mixed)).refused(409, 'user_already_exists');
  (await key.post(team.memberships, { email: stranger.email, phone: '+4917011111', roles: [] })).refused(
    409,
    'user_already_exists',
  );
  (await client.put(`${team.path}/prefs`, { prefs: [] })).refused(400, 'general_argument_invalid');
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
  await changeSettings(target, { 'teams.hideMembers': false });
});
