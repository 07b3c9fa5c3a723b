// Lists by time and by reader stay fast: readers of documents hold when these were created, the times of documents are indexed, and the
// documents of a collection are counted. Collections that were made before keep working as they are; a job brings them along while the
// service runs, and `collections.layout` says which are.

/** @type {(knex: import('knex').Knex) => unknown[]} */
export const up = (knex) => [
  knex.schema.createTable('collection_counts', (t) => {
    t.bigInteger('number').notNullable();
    t.bigInteger('documents').notNullable();
    t.index(['number']);
  }),
  knex.schema.alterTable('collections', (t) => {
    t.integer('layout').notNullable().defaultTo(1);
  }),
  knex.schema.alterTable('collections', (t) => {
    // The last sequence that the job has brought along; null before it begins.
    t.bigInteger('upgraded_to');
  }),
];

const numbersOf = (tables) => tables.filter((name) => /^r_\d+$/.test(name)).map((name) => name.slice(2));
const role = 'substr(value, 7, length(value) - 8)';

const sqliteTriggers = (d, r) => {
  const rolesOf = (row) => `from json_each(${row}.permissions) where value glob 'read("*'`;
  const add = `insert into ${r} (role, seq) select ${role}, new.seq ${rolesOf('new')}`;
  const remove = `delete from ${r} where seq = old.seq and role in (select ${role} ${rolesOf('old')})`;
  return [
    ...[`${d}_add`, `${d}_remove`, `${r}_add`, `${r}_change`, `${r}_remove`].map(
      (name) => `drop trigger if exists ${name}`,
    ),
    `create table ${r}_before (role text not null, seq bigint not null, primary key (role, seq)) without rowid`,
    `insert into ${r}_before (role, seq) select role, seq from ${r}`,
    `drop table ${r}`,
    `alter table ${r}_before rename to ${r}`,
    `create trigger ${r}_add after insert on ${d} when new.permissions <> '[]' begin ${add}; end`,
    `create trigger ${r}_change after update of permissions on ${d} begin ${remove}; ${add}; end`,
    `create trigger ${r}_remove after delete on ${d} when old.permissions <> '[]' begin ${remove}; end`,
  ];
};

const postgresTriggers = (d, r) => {
  const roles = (row) => `json_array_elements_text(${row}.permissions::json) as value where value like 'read("%'`;
  const ofStatement = `insert into ${r} (role, seq) select ${role}, added.seq from added cross join lateral ${roles('added')}`;
  const ofRow = `insert into ${r} (role, seq) select ${role}, new.seq from ${roles('new')}`;
  const remove = `delete from ${r} where seq = old.seq and role in (select ${role} from ${roles('old')})`;
  const change = `${remove}; if tg_op = 'UPDATE' then ${ofRow}; end if`;
  const keep = `execute function ${r}_keep()`;
  return [
    ...['add', 'change', 'remove'].map((when) => `drop trigger if exists ${r}_${when} on ${d}`),
    `create or replace function ${r}_keep() returns trigger language plpgsql as $$ begin if tg_op = 'INSERT' then ${ofStatement}; else ${change}; end if; return null; end $$`,
    `create trigger ${r}_add after insert on ${d} referencing new table as added for each statement ${keep}`,
    `create trigger ${r}_change after update of permissions on ${d} for each row ${keep}`,
    `create trigger ${r}_remove after delete on ${d} for each row when (old.permissions <> '[]') ${keep}`,
    `alter table ${r} drop column if exists created_at`,
  ];
};

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres', tables: string[]) => unknown[]} */
export const down = (knex, dialect, tables) => [
  ...numbersOf(tables)
    .flatMap((number) => {
      const [d, r] = [`d_${number}`, `r_${number}`];
      return [
        `drop index if exists ${d}_created`,
        `drop index if exists ${d}_updated`,
        ...(dialect === 'sqlite' ? sqliteTriggers(d, r) : postgresTriggers(d, r)),
      ];
    })
    .map((sql) => knex.raw(sql)),
  knex.raw('alter table collections drop column upgraded_to'),
  knex.raw('alter table collections drop column layout'),
  knex.schema.dropTable('collection_counts'),
];
