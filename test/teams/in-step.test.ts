// What stands with the users is what the table of memberships says, whatever happened, in whatever order, on two servers at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, seed } from '../documents/random.js';
import { aLoggedInUser, aServerKey, type LoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { lastMessageTo } from '../harness/messages.js';
import { accept, assertInStep, linkOf, page } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();
const servers = [target, sibling];
const keys = await Promise.all(servers.map(async (server) => (await aServerKey(server)).client));
const random = createRandom(seed);
const teamIds = ['red', 'blue', 'green', 'grey'];
const people: LoggedInUser[] = [];
for (let at = 0; at < 6; at++) people.push(await aLoggedInUser(target));

const path = () => `/teams/${random.pick(teamIds)}`;
const roles = () => ['owner', 'a', 'b'].filter(() => random.chance(0.5));
const caller = (user: LoggedInUser) => createClient(random.pick(servers), { session: user.secret });
const someMembership = async (): Promise<string> => {
  const rows = await rowsOf(target, 'memberships');
  const row = rows.length === 0 ? undefined : random.pick(rows);
  return row === undefined ? '/teams/red/memberships/none' : `/teams/${row.team_id}/memberships/${row.id}`;
};
const follow = async (user: LoggedInUser): Promise<Answer> => {
  const mailed = await lastMessageTo(target, user.email).catch(() => undefined);
  if (mailed?.template !== 'invitation') return caller(user).get('/account');
  return accept(caller(user), await linkOf(target, user.email));
};

/** One thing that may happen to teams, by whoever. */
async function act(): Promise<Answer> {
  const user = random.pick(people);
  const by = random.chance(0.25) ? caller(user) : random.pick(keys);
  const body = { roles: roles() };
  const kind = random.below(12);
  if (kind <= 1) return by.post('/teams', { teamId: random.pick(teamIds), name: 'Team', ...body });
  if (kind <= 4) return by.post(`${path()}/memberships`, { userId: user.id, ...body });
  if (kind === 5)
    return caller(random.pick(people)).post(`${path()}/memberships`, { email: user.email, ...body, url: page });
  if (kind === 6) return follow(user);
  if (kind <= 8) return by.patch(await someMembership(), body);
  if (kind <= 10) return by.delete(await someMembership());
  if (random.chance(0.4)) return by.delete(path());
  people.splice(people.indexOf(user), 1, await aLoggedInUser(target));
  return caller(user).delete('/account');
}

const late = [401, 404, 409, 400];

test(`in any order, seed ${seed}`, async (t) => {
  let done = 0;
  for (let step = 0; step < 150; step++) {
    const { status, text } = await act();
    if (status < 300) done += 1;
    assert.ok(status < 300 || late.includes(status), text);
    if (step % 10 === 0) await assertInStep(target);
  }
  t.diagnostic(`${done} of 150 changed something`);
  assert.ok(done > 50);
});

test(`at the same moment, seed ${seed}`, async () => {
  for (let round = 0; round < 15; round++) {
    const answers = await Promise.all(Array.from({ length: 16 }, act));
    const odd = answers.filter(({ status }) => status >= 300 && !late.includes(status));
    assert.deepEqual(
      odd.map(({ text }) => text),
      [],
    );
    await assertInStep(target);
  }
  for (const team of (await keys[0]?.get('/teams'))?.list('teams') ?? []) {
    const joined = (await rowsOf(target, 'memberships')).filter(
      (row) => row.team_id === team.$id && Number(row.confirm) === 1,
    );
    assert.equal(team.total, joined.length);
  }
});
