// The audit log as server keys and operators read it: pages, filters, projects; and exports that are verified without a database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyExport } from '#src/features/index.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { databaseUnderTest, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf, runSql } from '../harness/database.js';
import { startSealed, tamper } from './setup.js';

async function exported(target: TestAppliance, projectId?: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of target.appliance.features.audit.exported(projectId)) lines.push(line);
  return lines;
}

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

test('a server key with the scope reads its own project only, page by page', async () => {
  const target = await startSealed();
  const elsewhere = await aServerKey(target, { projectId: target.neighbour.id });
  const key = (await aServerKey(target, { scopes: ['audit.read'] })).client;
  await target.appliance.features.audit.seal();
  const all = (await rowsOf(target, 'audit_entries', target.project.id))
    .map(({ seq }) => Number(seq))
    .sort((a, b) => b - a);
  const found: number[] = [];
  for (let cursor = ''; ; ) {
    const page = (await key.get(`/audit?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`)).expect(200);
    found.push(...page.list('entries').map(({ seq }) => Number(seq)));
    cursor = page.string('cursor');
    if (cursor === '') break;
  }
  assert.deepEqual(found, all);
  const neighbours = (await elsewhere.client.get('/audit?limit=100')).expect(200).list('entries');
  assert.ok(neighbours.length > 0 && neighbours.length < all.length);
  const without = await aServerKey(target, { scopes: ['users.read'] });
  (await without.client.get('/audit')).expect(401);
  (await createClient(target).get('/audit')).expect(401);
  const user = await aLoggedInUser(target);
  (await user.client.get('/audit')).expect(401);
});

test('entries are found by actor, action, resource and time', async () => {
  const target = await startSealed();
  const key = (await aServerKey(target)).client;
  const user = await aLoggedInUser(target);
  target.clock.advance(60_000);
  const since = new Date(target.clock.now()).toISOString();
  (await user.client.patch('/account/name', { name: 'Renamed' })).expect(200);
  await target.appliance.features.audit.seal();
  const list = async (query: string) => (await key.get(`/audit?${query}`)).expect(200).list('entries');
  const nameOf = (entry: Record<string, unknown> = {}) => Object(entry.data).name;
  const [renamed, ...more] = await list(`actor=${user.id}`);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [renamed?.action, renamed?.resource, renamed?.actor],
    ['accountNameChanged', `users/${user.id}`, { kind: 'user', id: user.id }],
  );
  assert.equal(nameOf(renamed), 'Renamed');
  assert.deepEqual(await list('action=accountNameChanged'), [renamed]);
  assert.deepEqual(await list(`since=${since}`), [renamed]);
  assert.ok(!(await list(`until=${since}`)).some(({ seq }) => seq === renamed?.seq));
  assert.ok((await list(`resource=users/${user.id}`)).length >= 2);
  assert.deepEqual(await list('action=targetDeleted'), []);
  const wrongs = ['limit=0', 'limit=101', 'cursor=x', 'since=yesterday', 'actor=', 'actor=%00', 'resource=a%00'];
  for (const wrong of [...wrongs, 'action=nothing', 'action=userCreated'])
    assert.equal((await key.get(`/audit?${wrong}`)).status, 400, wrong);
  await runSql(target, 'delete from audit_subjects where user_id = ?', [user.id]);
  assert.equal(nameOf((await list(`actor=${user.id}`))[0]), null);
});

test('a page reads a limited number of entries and says where to go on', async () => {
  const target = await startAppliance();
  const key = (await aServerKey(target)).client;
  const { db } = target.appliance.runtime;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'many' }, requestId: 'many' };
  for (let units = 0; units < 21; units++)
    await db.work(by, async (unit) => {
      for (let times = 0; times < 500; times++)
        unit.record('limitsReset', { resource: 'limits', payload: { counters: 0 } });
    });
  await target.appliance.features.audit.seal();
  const first = (await key.get('/audit?action=projectCreated')).expect(200);
  assert.deepEqual(first.list('entries'), []);
  const second = (await key.get(`/audit?action=projectCreated&cursor=${first.string('cursor')}`)).expect(200);
  assert.equal(second.list('entries').length, 1);
  assert.equal(second.string('cursor'), '');
  if (databaseUnderTest === 'sqlite') {
    const lines = await exported(target);
    const verdict = await verifyExport(each(lines), {});
    assert.deepEqual([verdict.findings[0], verdict.entries], [undefined, lines.length - 2]);
  }
});

test('entries of a deleted project stay and are verified', async () => {
  const target = await startSealed();
  const by = { projectId: target.neighbour.id, actor: { kind: 'operator', id: 'cli' }, requestId: 'gone' };
  const { features } = target.appliance;
  await features.projects.remove(by, target.neighbour.id);
  await features.audit.seal();
  const { entries } = await features.audit.list({ projectId: target.neighbour.id }, { limit: 10 });
  assert.deepEqual(entries[0]?.row.action, 'projectDeleted');
  assert.equal((await features.audit.verify()).findings[0], undefined);
});

test('an export is verified with the public key alone', async () => {
  const target = await startSealed();
  const { audit } = target.appliance.features;
  const lines = await exported(target);
  const publicKey = await audit.publicKey();
  const { head } = await audit.verify();
  const whole = await verifyExport(each(lines), { publicKey, notedHead: head });
  assert.deepEqual([whole.findings[0], whole.head, whole.publicKey], [undefined, head, publicKey]);
  assert.ok(!lines.join('\n').includes('mail.example'), 'no personal value is exported');
  const other = (await verifyExport(each(await exported(await startSealed())), {})).publicKey;
  // One master key, two databases: two signing keys.
  assert.notEqual(other, publicKey);
  assert.match((await verifyExport(each(lines), { publicKey: other })).findings[0]?.problem ?? '', /signature/);
  assert.match((await verifyExport(each(lines), { notedHead: 'other' })).findings[0]?.problem ?? '', /noted/);
});

test('an export of a project has nothing of others, and is verified all the same', async () => {
  const target = await startSealed();
  const lines = await exported(target, target.neighbour.id);
  const verdict = await verifyExport(each(lines), {});
  assert.deepEqual([verdict.findings[0], verdict.entries, verdict.projectId], [undefined, 1, target.neighbour.id]);
  assert.ok(!lines.join('\n').includes('person-'));
});

const changes: [string, (lines: string[]) => string[], number | null][] = [
  ['an edited entry', (lines) => lines.map((line, at) => (at === 3 ? line.replace('"main"', '"mine"') : line)), 3],
  ['a removed entry', (lines) => lines.filter((_, at) => at !== 4), 4],
  ['swapped entries', (lines) => [...lines.slice(0, 3), ...lines.slice(3, 5).reverse(), ...lines.slice(5)], 3],
  ['an entry twice', (lines) => [...lines.slice(0, 4), ...lines.slice(3)], 3],
  ['a cut end', (lines) => lines.slice(0, -3), -2],
  ['missing entries before the head', (lines) => [...lines.slice(0, -3), ...lines.slice(-1)], -2],
  ['lines after the head', (lines) => [...lines, lines.at(-2) ?? ''], null],
  ['a line that is none', (lines) => [...lines.slice(0, 3), 'x', ...lines.slice(3)], null],
  ['no header', (lines) => lines.slice(1), null],
  ['nothing', () => [], 1],
];
test('an export that was changed is found out', async () => {
  const target = await startSealed();
  const lines = await exported(target);
  for (const [name, change, first] of changes) {
    const {
      findings: [finding],
    } = await verifyExport(each(change(lines)), {});
    const expected = first === -2 ? lines.length - 3 : first;
    assert.deepEqual([finding !== undefined, finding?.seq], [true, expected], `${name}: ${finding?.problem}`);
  }
});

test('old entries are removed after a statement, from the beginning, and the rest verifies', async () => {
  const target = await startSealed({ SVC_AUDIT_DAYS: '30' });
  const { audit, jobs } = target.appliance.features;
  await jobs.run('audit.prune');
  const before = (await audit.verify()).entries;
  target.clock.advance(20 * 86_400_000);
  await aLoggedInUser(target);
  await audit.seal();
  target.clock.advance(11 * 86_400_000);
  assert.equal((await jobs.run('audit.prune'))?.outcome, 'ok');
  await audit.seal();
  const verdict = await audit.verify();
  assert.equal(verdict.findings[0], undefined);
  assert.equal(verdict.seq - verdict.entries, before);
  const numbers = (await rowsOf(target, 'audit_entries')).map(({ seq }) => Number(seq));
  assert.equal(Math.min(...numbers), before + 1);
  assert.ok((await rowsOf(target, 'audit_entries')).some(({ action }) => action === 'auditPruned'));
  const lines = await exported(target);
  assert.equal((await verifyExport(each(lines), {})).findings[0], undefined);
  const withoutStatement = lines.filter((line) => !line.startsWith('{"segment"'));
  assert.equal((await verifyExport(each(withoutStatement), {})).findings[0]?.seq, 1);
  // Killed between the statement and the removal: the next run goes on.
  await jobs.run('audit.prune');
  assert.equal((await audit.verify()).findings[0], undefined);
});

test('removes nothing if an old entry is bad', async () => {
  const target = await startSealed({ SVC_AUDIT_DAYS: '30' });
  await tamper(target, `update audit_entries set resource = 'x' where seq = 3`);
  const before = (await rowsOf(target, 'audit_entries')).length;
  target.clock.advance(40 * 86_400_000);
  assert.equal((await target.appliance.features.jobs.run('audit.prune'))?.outcome, 'failed');
  assert.equal((await rowsOf(target, 'audit_entries')).length, before);
  assert.match(target.log(), /audit.prune.refused/);
});

test('writes the signed head to the log', async () => {
  const target = await startSealed();
  const { audit, jobs } = target.appliance.features;
  await jobs.run('audit.head');
  const { head } = await audit.verify();
  assert.ok(target.log().includes(head));
});

test('refused requests are recorded together, with their number', async () => {
  const target = await startAppliance();
  const user = await aLoggedInUser(target);
  for (let times = 0; times < 3; times++) (await createClient(target).get('/users')).expect(401);
  (await createClient(target, { jwt: 'none' }).get('/account')).expect(401);
  (await user.client.get('/account')).expect(200);
  await target.appliance.features.refusals.worker.stop();
  const refused = (await rowsOf(target, 'audit_entries')).filter(({ action }) => action === 'requestsRefused');
  const found = refused.map(({ data }) => JSON.parse(String(data)));
  assert.deepEqual(found.map(({ reason, count }) => [reason, count]).sort(), [
    ['general_unauthorized_scope', 3],
    ['user_jwt_invalid', 1],
  ]);
  for (const { project_id } of refused) assert.equal(project_id, target.project.id);
  const subjects = await rowsOf(target, 'audit_subjects');
  assert.ok(
    refused.every(({ id }) => subjects.some(({ entry_id, value }) => entry_id === id && value === '127.0.0.1')),
  );
});
