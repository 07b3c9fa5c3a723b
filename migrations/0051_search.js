// Searches of users, teams and files use an index of each three characters of their texts, with ASCII letters in lower case. On Postgres it is
// an index of the table itself. On SQLite triggers keep a full-text table of tokens; rows have numbers of their own in it, because row ids of
// a table with another primary key may change.

export const usableFrom = '0.1.0';

/** @type {Record<string, { scope: string, texts: string[] }>} */
const searched = {
  users: { scope: 'project_id', texts: ['id', 'name', 'email', 'phone'] },
  teams: { scope: 'project_id', texts: ['id', 'name'] },
  files: { scope: 'bucket_key', texts: ['id', 'name'] },
};

const grams = `create function search_grams(scope text, variadic texts text[]) returns text[] language sql immutable strict parallel safe as $$
  select coalesce(array_agg(distinct scope || ' ' || substr(given, at, 3)), '{}')
  from (select lower(value collate "C") as given from unnest(texts) as value) as lowered, generate_series(1, length(given) - 2) as at
$$`;

const onPostgres = (table, { scope, texts }) => [
  `create index ${table}_search on ${table} using gin (search_grams(${[scope, ...texts.map((text) => `coalesce(${text}, '')`)].join(', ')})) with (fastupdate = off)`,
];

const onSqlite = (table, { scope, texts }) => {
  const text = (row) => `lower(${texts.map((name) => `coalesce(${row}${name}, '')`).join(' || char(10) || ')})`;
  const number = (row) => `(select seq from ${table}_numbers where scope = ${row}.${scope} and row_id = ${row}.id)`;
  const add = [
    `insert into ${table}_numbers (scope, row_id) values (new.${scope}, new.id)`,
    `insert into ${table}_search (rowid, text) values (${number('new')}, ${text('new.')})`,
  ];
  const remove = [
    `delete from ${table}_search where rowid = ${number('old')}`,
    `delete from ${table}_numbers where scope = old.${scope} and row_id = old.id`,
  ];
  const trigger = (name, when, statements) =>
    `create trigger ${table}_search_${name} after ${when} on ${table} begin ${statements.join('; ')}; end`;
  return [
    `create table ${table}_numbers (seq integer primary key, scope text not null, row_id text not null, unique (scope, row_id))`,
    `create virtual table ${table}_search using fts5(text, content='', contentless_delete=1, detail=none, tokenize="trigram case_sensitive 1")`,
    `insert into ${table}_numbers (scope, row_id) select ${scope}, id from ${table} order by created_at`,
    `insert into ${table}_search (rowid, text) select seq, ${text('')} from ${table}_numbers join ${table} on ${scope} = scope and id = row_id`,
    trigger('add', 'insert', add),
    trigger('change', `update of ${[scope, ...texts].join(', ')}`, [...remove, ...add]),
    trigger('remove', 'delete', remove),
  ];
};

/** @type {(knex: import('knex').Knex, dialect: 'sqlite' | 'postgres') => unknown[]} */
export const up = (knex, dialect) => {
  const tables = Object.entries(searched);
  const statements =
    dialect === 'sqlite'
      ? tables.flatMap(([table, one]) => onSqlite(table, one))
      : [grams, ...tables.flatMap(([table, one]) => onPostgres(table, one))];
  return statements.map((sql) => knex.raw(sql));
};

/** @type {typeof up} */
export const down = (knex, dialect) => {
  const statements = Object.keys(searched).flatMap((table) =>
    dialect === 'sqlite'
      ? [
          ...['add', 'change', 'remove'].map((name) => `drop trigger ${table}_search_${name}`),
          `drop table ${table}_search`,
          `drop table ${table}_numbers`,
        ]
      : [`drop index ${table}_search`],
  );
  if (dialect === 'postgres') statements.push('drop function search_grams(text, text[])');
  return statements.map((sql) => knex.raw(sql));
};
