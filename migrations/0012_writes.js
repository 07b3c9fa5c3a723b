// What a new document leaves beside itself is less: no entry in the log of its user, one entry for each role that may read it, and in
// Postgres its roles are kept by statement, not by row. Collections that were made before get the tables of readers that new ones get.

const documents = "substr(resource, 1, 10) = 'databases/'";
const byUser = (knex, condition) => [
  knex.raw('drop index audit_entries_by_user'),
  knex.raw(`create index audit_entries_by_user on audit_entries (project_id, actor_id, at, id) where ${condition}`),
];
const role = 'substr(value, 7, length(value) - 8)';

const numbersOf = (tables) => tables.filter((name) => /^r_\d+$/.test(name)).map((name) => name.slice(2));

const sqliteReaders = (number) => {
  const [d, r] = [`d_${number}`, `r_${number}`];
  const rolesOf = (row) => `select ${role} from json_each(${row}.permissions) where value glob 'read("*'`;
  const add = `insert into ${r} (role, seq) select ${role}, new.seq from json_each(new.permissions) where value glob 'read("*'`;
  const remove = `delete from ${r} where seq = old.seq and role in (${rolesOf('old')})`;
  return [
    ...['add', 'change', 'remove'].map((when) => `drop trigger if exists ${r}_${when}`),
    `drop index if exists ${r}_seq`,
    `create table ${r}_kept (role text not null, seq bigint not null, primary key (role, seq)) without rowid`,
    `insert into ${r}_kept (role, seq) select role, seq from ${r}`,
    `drop table ${r}`,
    `alter table ${r}_kept rename to ${r}`,
    `create trigger ${r}_add after insert on ${d} when new.permissions <> '[]' begin ${add}; end`,
    `create trigger ${r}_change after update of permissions on ${d} begin ${remove}; ${add}; end`,
    `create trigger ${r}_remove after delete on ${d} when old.permissions <> '[]' begin ${remove}; end`,
  ];
};

const postgresReaders = (number) => {
  const [d, r] = [`d_${number}`, `r_${number}`];
  const roles = (row) => `json_array_elements_text(${row}.permissions::json) as value where value like 'read("%'`;
  const ofStatement = `insert into ${r} (role, seq) select ${role}, added.seq from added cross join lateral ${roles('added')}`;
  const ofRow = `insert into ${r} (role, seq) select ${role}, new.seq from ${roles('new')}`;
  const remove = `delete from ${r} where seq = old.seq and role in (select ${role} from ${roles('old')})`;
  const change = `${remove}; if tg_op = 'UPDATE' then ${ofRow}; end if`;
  const body = `begin if tg_op = 'INSERT' then ${ofStatement}; else ${change}; end if; return null; end`;
  const keep = `execute function ${r}_keep()`;
  return [
    ...['add', 'change', 'remove'].map((when) => `drop trigger if exists ${r}_${when} on ${d}`),
    `drop index if exists ${r}_seq`,
    `alter table ${r} drop constraint if exists ${r}_seq_fkey`,
    `create or replace function ${r}_keep() returns trigger language plpgsql as $$ ${body} $$`,
    `create trigger ${r}_add after insert on ${d} referencing new table as added for each statement ${keep}`,
    `create trigger ${r}_change after update of permissions on ${d} for each row ${keep}`,
    `create trigger ${r}_remove after delete on ${d} for each row when (old.permissions <> '[]') ${keep}`,
  ];
};

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres', tables: string[]) => unknown[]} */
export const up = (knex, dialect, tables) => [
  ...byUser(knex, `actor_kind = 'user' and not (${documents})`),
  ...numbersOf(tables)
    .flatMap(dialect === 'sqlite' ? sqliteReaders : postgresReaders)
    .map((sql) => knex.raw(sql)),
];

/** The tables of readers stay: they do for the version before what its own did. @type {typeof up} */
export const down = (knex) => byUser(knex, "actor_kind = 'user'");
