import type { Sql } from '#src/platform/db/query.js';
import { forShare, raw } from '#src/platform/db/template.js';

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
  return {
    facts: () => sql`select name, value from installation where name in ('key_check', 'key_roots', 'key_former')`,
    insert: (name: Fact, value: string) =>
      sql`insert into installation (name, value) values (${name}, ${value}) on conflict (name) do nothing`,
    set: (name: Fact, value: string) => sql`
      insert into installation (name, value) values (${name}, ${value})
      on conflict (name) do update set value = excluded.value`,
    /** Locks the fact until the end of the unit, against a rotation only. */
    hold: (name: Fact) => sql`select value from installation where name = ${name}${forShare}`,
    remove: (name: Fact) => sql`delete from installation where name = ${name}`,
    /** Changes no row if another rotation came first. */
    replace: (name: Fact, before: string, after: string) =>
      sql`update installation set value = ${after} where name = ${name} and value = ${before}`,
    wrapped: (table: string, after: string, limit: number) =>
      sql`select id, data_key from ${raw(table)} where id > ${after} order by id limit ${limit}`,
    count: (table: string) => sql`select count(*) as count from ${raw(table)}`,
    rewrap: (table: string, id: string, wrapped: string) =>
      sql`update ${raw(table)} set data_key = ${wrapped} where id = ${id}`,
  };
}

/** SQL over the facts about the master key. */
export type MasterKeyStore = ReturnType<typeof createMasterKeyStore>;
