// The machines alone, over an empty database, for tests of the database itself.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Query } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import { createRuntime, type Runtime } from '#src/platform/index.js';
import { cheapHashes, databaseUnderTest, freshDatabase, testConfig } from './appliance.js';
import { after } from './runner.js';

/** Opens an empty database; `another` opens the same one as a second process would. */
export async function startRuntime(): Promise<{ runtime: Runtime; another(): Promise<Runtime> }> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const config = testConfig(directory, await freshDatabase(directory));
  const opened: Runtime[] = [];
  const open = async () => {
    const platform = await createRuntime(config, { hashParameters: cheapHashes, writeLog: () => {} });
    opened.push(platform);
    return platform;
  };
  after(async () => {
    for (const platform of opened) await platform.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { runtime: await open(), another: open };
}

/** A statement with `?` for values. */
export function statement({ sql }: Pick<Runtime, 'sql'>, text: string, values: (string | number | null)[] = []): Query {
  return values.length === 0 ? { sql: text, values } : sql.text(text, values);
}

/** A column of the migrated database. */
interface Column {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
}

/** Every table of a database with its columns, in the words both databases share. */
export async function tablesOf(runtime: Runtime): Promise<Map<string, Column[]>> {
  const sqlite = `select t.name as "table", c.name as name, lower(c.type) as type, c."notnull" = 0 as nullable
    from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\'`;
  const postgres = `select table_name as "table", column_name as name, data_type as type, (is_nullable = 'YES')::int as nullable
    from information_schema.columns where table_schema = 'public'`;
  const rows = await runtime.db.all({ sql: databaseUnderTest === 'sqlite' ? sqlite : postgres, values: [] });
  const tables = new Map<string, Column[]>();
  for (const { table, name, type, nullable } of rows) {
    const columns = tables.get(String(table)) ?? [];
    columns.push({ name: String(name), type: String(type), nullable: Number(nullable) === 1 });
    tables.set(String(table), columns);
  }
  return tables;
}

/** Everything a schema consists of, as rows that can be compared. */
export async function schemaOf(runtime: Runtime): Promise<Row[]> {
  const sqlite = `select type, name, sql as text from sqlite_master where name not like 'sqlite\\_%' escape '\\' order by type, name`;
  const postgres = `select 'column' as type, table_name || '.' || column_name as name, data_type || is_nullable as text
      from information_schema.columns where table_schema = 'public'
    union all select 'index', indexname, indexdef from pg_indexes where schemaname = 'public'
    union all select 'trigger', tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
    union all select 'constraint', conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
    union all select 'function', proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace
    order by 1, 2`;
  return runtime.db.all({ sql: databaseUnderTest === 'sqlite' ? sqlite : postgres, values: [] });
}
