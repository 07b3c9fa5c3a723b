// SQL templates: their text depends on their parts only, and values are bound.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSql, type Sql } from '#src/platform/db/query.js';
import { nullable, table, text } from '#src/platform/db/table.js';
import { forUpdate, joined, oneOf, raw } from '#src/platform/db/template.js';

const sqlite = createSql('sqlite');
const postgres = createSql('postgres');
const people = table('people', { id: text, firstName: nullable(text) });

const find = (sql: Sql, id: string, name?: string) => sql`
  select id from people
  where id = ${id}${name !== undefined && sql` and first_name = ${name}`}${forUpdate}`;

test('binds values and writes parts in the words of the database', () => {
  const onSqlite = find(sqlite, 'a', 'b');
  assert.equal(onSqlite.sql, 'select id from people where id = ? and first_name = ?');
  assert.deepEqual(onSqlite.values, ['a', 'b']);
  assert.equal(find(postgres, 'a', 'b').sql, 'select id from people where id = $1 and first_name = $2 for update');
  assert.equal(find(postgres, 'a').sql, 'select id from people where id = $1 for update');
  assert.deepEqual(find(postgres, "'; drop table people; --").values, ["'; drop table people; --"]);
});

test('binds a list of any length as one value', () => {
  const among = (sql: Sql, ids: readonly string[]) => sql`select 1 from people where id ${oneOf(ids)}`;
  assert.equal(among(sqlite, ['a']).sql, among(sqlite, ['a', 'b', 'c']).sql);
  assert.deepEqual(among(sqlite, ['a', 'b']).values, ['["a","b"]']);
  assert.equal(among(postgres, []).sql, 'select 1 from people where id = any(cast($1 as text[]))');
  assert.deepEqual(among(postgres, []).values, ['{}']);
});

test('numbers the values of nested statements in order', () => {
  const inner = postgres`select id from people where first_name = ${'x'}`;
  const outer = postgres`select ${1} from (${inner}) as found where id = ${'y'} and ${raw('id <> ?', ['z'])}`;
  assert.equal(
    outer.sql,
    'select $1 from (select id from people where first_name = $2) as found where id = $3 and id <> $4',
  );
  assert.deepEqual(outer.values, [1, 'x', 'y', 'z']);
});

test('joins statements to one part', () => {
  const either = joined([postgres`id = ${'a'}`, postgres`first_name ${oneOf(['b'])}`], ' or ');
  const { sql, values } = postgres`select 1 from people where (${either}) and id <> ${'c'}`;
  assert.equal(sql, 'select 1 from people where (id = $1 or first_name = any(cast($2 as text[]))) and id <> $3');
  assert.deepEqual(values, ['a', `{${Array.from({ length: 10 }, () => '"b"').join(',')}}`, 'c']);
});

test('inserts, overwrites and updates rows of a table', () => {
  const rows = [
    { id: 'a', firstName: null },
    { id: 'b', firstName: 'B' },
  ];
  const put = postgres`${people.insert(rows)} on conflict (id) do update set ${people.overwrite}`;
  assert.equal(
    put.sql,
    'insert into people (id, first_name) values ($1, $2), ($3, $4) on conflict (id) do update set id = excluded.id, first_name = excluded.first_name',
  );
  assert.deepEqual(put.values, ['a', null, 'b', 'B']);
  const change = sqlite`update people set ${people.set({ firstName: 'C' })} where id = ${'a'}`;
  assert.equal(change.sql, 'update people set first_name = ? where id = ?');
  assert.deepEqual(change.values, ['C', 'a']);
});

test('keeps working after more different texts than it caches', () => {
  for (let at = 0; at < 1000; at++)
    assert.equal(
      sqlite`select ${raw(`c${at}`)} from people where id = ${at}`.sql,
      `select c${at} from people where id = ?`,
    );
});
