// Lists of users, teams and members whose preferences are as large as they may be: what a page has is known before it is read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Query } from 'node-appwrite';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';

const target = await startAppliance({ settings: { SVC_ANSWER_MAX_BYTES: '1048576' } });
const { client: key } = await aServerKey(target);
const prefs = JSON.stringify({ p: 'x'.repeat(65_000) });

/** Copies a row of ours many times. */
async function copy(table: string, columns: string, id: string, count: number, more = ''): Promise<void> {
  for (let at = 0; at < count; at++)
    await runSql(
      target,
      `insert into ${table} (id, ${columns}) select '${id}-${at}', ${columns} from ${table} where id = ?${more}`,
      [id],
    );
}

const page = (limit: number) => `queries[0]=${encodeURIComponent(Query.limit(limit))}`;

test('lists of teams and users are refused by their bytes, whatever the number of rows', async () => {
  const user = await aLoggedInUser(target);
  (await key.post('/teams', { teamId: 'crew', name: 'Crew' })).expect(201);
  await runSql(target, 'update teams set prefs = ? where id = ?', [prefs, 'crew']);
  await runSql(target, 'update users set prefs = ? where id = ?', [prefs, user.id]);
  await copy('teams', 'project_id, name, prefs, created_at, updated_at', 'crew', 40);
  for (const limit of [20, 25, 5000]) (await key.get(`/teams?${page(limit)}`)).refused(400, 'general_answer_too_large');
  assert.equal((await key.get(`/teams?${page(10)}`)).expect(200).list('teams').length, 10);
  assert.equal((await key.get(`/teams?${page(15)}&total=false`)).expect(200).list('teams').length, 15);
  assert.equal((await key.get(`/users?${page(5000)}`)).expect(200).list('users').length, 1);
  for (let at = 0; at < 20; at++) {
    const userId = `user-${at}`;
    (await key.post('/users', { userId })).expect(201);
    (await key.post('/teams/crew/memberships', { userId, roles: ['x'] })).expect(201);
  }
  await runSql(target, 'update users set prefs = ?', [prefs]);
  // What is read for the answer counts, shown or not.
  for (const path of ['/users', '/teams/crew/memberships']) {
    for (const limit of [20, 5000]) (await key.get(`${path}?${page(limit)}`)).refused(400, 'general_answer_too_large');
    (await key.get(`${path}?${page(5)}`)).expect(200);
  }
});
