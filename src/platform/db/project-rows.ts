import type { DialectName } from './dialect-words.js';
import { references } from './neutral-rows.js';
import { type Query, type Sql, statement } from './query.js';
import type { Reader } from './unit.js';

/** The tables whose rows belong to a project by a foreign key, each after the tables that refer to it. */
export async function tablesOfProjects(reader: Reader, dialect: DialectName): Promise<string[]> {
  const found = await reader.all(references(dialect));
  const parents = new Map<string, Set<string>>();
  for (const { tab, target } of found) {
    const of = parents.get(String(tab)) ?? new Set();
    parents.set(String(tab), of.add(String(target)));
  }
  const columns = await reader.all(withProjectColumn(dialect));
  const candidates = new Set(columns.map(({ tab }) => String(tab)));
  const isOfProject = (name: string): boolean =>
    name === 'projects' || [...(parents.get(name) ?? [])].some((parent) => parent !== name && isOfProject(parent));
  const ordered = new Set<string>();
  const add = (name: string): void => {
    if (ordered.has(name) || !candidates.has(name) || !isOfProject(name)) return;
    for (const parent of parents.get(name) ?? []) if (parent !== name) add(parent);
    ordered.add(name);
  };
  for (const name of [...candidates].sort()) add(name);
  return [...ordered].reverse();
}

function withProjectColumn(dialect: DialectName): Query {
  return statement(
    dialect === 'sqlite'
      ? "select s.name as tab from sqlite_schema s join pragma_table_info(s.name) i where s.type = 'table' and i.name = 'project_id'"
      : "select table_name as tab from information_schema.columns where table_schema = current_schema() and column_name = 'project_id'",
  );
}

/** Deletes some rows of a project from a table, with the rows that refer to them. */
export function deleteSomeOfProject(sql: Sql, table: string, projectId: string, limit: number): Query {
  const some = (row: string) => `select ${row} from ${table} where project_id = ? limit ${limit}`;
  return sql.text(
    sql.dialect === 'sqlite'
      ? `delete from ${table} where rowid in (${some('rowid')})`
      : `delete from ${table} where ctid = any(array(${some('ctid')} for update skip locked))`,
    [projectId],
  );
}
