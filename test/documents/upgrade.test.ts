// Collections that an older version made: after the migrations they are what new ones are, and nobody sees more or less.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from '#src/platform/db/table.js';
import { aLoggedInUser } from '../harness/actors.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { schemaOf } from '../harness/platform.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { runtime } = target.appliance;

/** What collections have had since then. */
const later = [
  ...(databaseUnderTest === 'sqlite' ? ['drop trigger d_1_add', 'drop trigger d_1_remove'] : []),
  'drop index d_1_created',
  'drop index d_1_updated',
  'delete from collection_counts',
  'update collections set layout = 1',
];
/** The readers of the first collection as they were made before 0012_writes. */
const before = {
  sqlite: [
    'drop trigger r_1_add',
    'drop trigger r_1_change',
    'drop trigger r_1_remove',
    'drop table r_1',
    'create table r_1 (role text not null, seq bigint not null references d_1 (seq) on delete cascade, primary key (role, seq)) without rowid',
    'create index r_1_seq on r_1 (seq)',
    `create trigger r_1_add after insert on d_1 when new.permissions <> '[]' begin insert into r_1 (role, seq) select substr(value, 7, length(value) - 8), new.seq from json_each(new.permissions) where value glob 'read("*'; end`,
    `create trigger r_1_change after update of permissions on d_1 begin delete from r_1 where seq = new.seq; insert into r_1 (role, seq) select substr(value, 7, length(value) - 8), new.seq from json_each(new.permissions) where value glob 'read("*'; end`,
  ],
  postgres: [
    'drop trigger r_1_add on d_1',
    'drop trigger r_1_change on d_1',
    'drop trigger r_1_remove on d_1',
    'drop table r_1',
    'create table r_1 (role text collate "C" not null, seq bigint not null references d_1 (seq) on delete cascade, primary key (role, seq))',
    'create index r_1_seq on r_1 (seq)',
    `create or replace function r_1_keep() returns trigger language plpgsql as $$ begin if tg_op = 'UPDATE' then delete from r_1 where seq = new.seq; end if; insert into r_1 (role, seq) select substr(value, 7, length(value) - 8), new.seq from json_array_elements_text(new.permissions::json) where value like 'read("%'; return null; end $$`,
    `create trigger r_1_add after insert on d_1 for each row when (new.permissions <> '[]') execute function r_1_keep()`,
    'create trigger r_1_change after update of permissions on d_1 for each row execute function r_1_keep()',
  ],
}[databaseUnderTest];

/** Everything of the schema that belongs to a collection, with its number left out. */
const partsOf = async (number: number): Promise<Row[]> => {
  const own = new RegExp(`\\b([dr])_${number}(?=\\b|_)`, 'g');
  const text = (value: unknown) =>
    String(value)
      .replaceAll(own, '$1_N')
      .replace(/number = \d+|(?<=select |values \()\d+,|(?<=documents_changed\(')\d+/g, 'N')
      .replaceAll('"', '');
  const rows = (await schemaOf(runtime)).filter((row) => /\b[dr]_\d+(\b|_)/.test(`${row.name} ${row.text}`));
  return rows
    .filter((row) => `${row.name} ${row.text}`.search(own) >= 0)
    .map((row) => ({ type: String(row.type), name: text(row.name), text: text(row.text) }));
};

test('readers of documents are kept as for a new collection, and no more is seen than before', async () => {
  const { collection } = await aBackend(target);
  const made = { documentSecurity: true, permissions: ['create("users")'] };
  const old = await collection(made);
  const user = await aLoggedInUser(target);
  const stranger = await aLoggedInUser(target);
  const create = (documentId: string, permissions?: string[]) =>
    user.client.post(old.documents, { documentId, data: {}, permissions });
  const seenBy = async ({ client }: typeof user) =>
    (await client.get(old.documents))
      .expect(200)
      .list('documents')
      .map(({ $id }) => $id);

  // As if it had not run yet: the tables of readers are all that it changed here, and the later ones are needed by the server.
  await runSql(target, "delete from schema_migrations where name = '0012_writes'");
  for (const sql of [...later, ...before]) await runSql(target, sql);
  (await create('mine')).expect(201);
  (await create('everybody', ['read("any")', 'delete("users")'])).expect(201);
  assert.deepEqual(await runtime.migrator.up(), ['0012_writes']);
  assert.equal((await target.appliance.features.jobs.run('collections.upgrade'))?.outcome, 'ok');
  await collection(made);
  assert.deepEqual(await partsOf(1), await partsOf(2));
  assert.ok((await partsOf(1)).length >= 5);

  assert.deepEqual([await seenBy(user), await seenBy(stranger)], [['mine', 'everybody'], ['everybody']]);
  (await create('later')).expect(201);
  const shared = { permissions: ['read("users")', 'update("users")'] };
  (await user.client.patch(`${old.documents}/mine`, shared)).expect(200);
  assert.deepEqual(await seenBy(stranger), ['mine', 'everybody']);
  (await stranger.client.delete(`${old.documents}/everybody`)).expect(204);
  assert.deepEqual([await seenBy(user), await seenBy(stranger)], [['mine', 'later'], ['mine']]);
  const readers = await runSql(target, 'select role from r_1 order by role');
  assert.deepEqual(
    readers.map(({ role }) => role),
    [`user:${user.id}`, 'users'],
  );
});
