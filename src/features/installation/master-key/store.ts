import type { Query, Sql } from '#src/platform/db/query.js';

/** Names of the facts in the table `installation`. `key_former` is the check value of the key before, until its copy is removed. */
type Fact = 'key_check' | 'key_roots' | 'key_former';

/** A column whose keys the master key wraps. */
interface WrappedColumn {
  readonly table: string;
  /** The word that a wrapped key is bound to; null: the id of its row. */
  readonly owner: string | null;
}

/** Every column with keys that the master key wraps. What these keys encrypt is not affected by another master key. */
export const wrappedColumns: readonly WrappedColumn[] = [
  { table: 'projects', owner: null },
  { table: 'audit_keys', owner: '*' },
];

/** SQL over the facts about the master key, and over the keys that it wraps. */
export function createMasterKeyStore(sql: Sql) {
  const { knex } = sql;
  return {
    // Every start runs these two. As plain SQL, they do not need knex to be loaded.
    facts: (): Query =>
      sql.text("select name, value from installation where name in ('key_check', 'key_roots', 'key_former')", []),
    insert: (name: Fact, value: string): Query =>
      sql.text('insert into installation (name, value) values (?, ?) on conflict (name) do nothing', [name, value]),
    set: (name: Fact, value: string): Query =>
      sql.text(
        'insert into installation (name, value) values (?, ?) on conflict (name) do update set value = excluded.value',
        [name, value],
      ),
    /** Locks the fact until the end of the unit, against a rotation only. */
    hold: (name: Fact): Query => sql.compile(knex('installation').where({ name }).forShare().select('value')),
    remove: (name: Fact): Query => sql.compile(knex('installation').where({ name }).delete()),
    /** Changes no row if another rotation came first. */
    replace: (name: Fact, before: string, after: string): Query =>
      sql.compile(knex('installation').where({ name, value: before }).update({ value: after })),
    wrapped: (table: string, after: string, limit: number): Query =>
      sql.compile(knex(table).where('id', '>', after).orderBy('id').limit(limit).select('id', 'data_key')),
    count: (table: string): Query => sql.compile(knex(table).count({ count: '*' })),
    rewrap: (table: string, id: string, wrapped: string): Query =>
      sql.compile(knex(table).where({ id }).update({ data_key: wrapped })),
  };
}

/** SQL over the facts about the master key. */
export type MasterKeyStore = ReturnType<typeof createMasterKeyStore>;
