// Lists of teams and of memberships: queries, cursors, orders, search, total.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { addMember, aTeam, invite } from './setup.js';

const target = await startAppliance();
const key = (await aServerKey(target)).client;
const stranger = await aLoggedInUser(target);
const query = (...queries: unknown[]) =>
  `?${queries.map((one) => `queries[]=${encodeURIComponent(JSON.stringify(one))}`).join('&')}`;

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
