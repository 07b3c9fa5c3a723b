import { type ForeignPostgres, type ForeignRow, openForeignPostgres } from '#src/platform/foreign-databases/index.js';
import { unreachableError } from '../../terminal/exit.js';
import { rowsWithin } from '../batches.js';
import { idPattern, quotedName } from '../keys.js';
import { ownSchemas, type Policy, type SourceTable, type SupabaseData, tableCommands, tableName } from './data.js';

/** Connects to a database of Supabase. Throws CommandError. */
export async function connectedData(url: string, schema: string): Promise<SupabaseData> {
  const database = await openForeignPostgres(url).catch((error: Error) => {
    throw unreachableError(
      'database_unreachable',
      `The database cannot be reached: ${error.message}.`,
      'check the address, the password and sslmode',
    );
  });
  try {
    return await dataOf(database, schema);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function dataOf(database: ForeignPostgres, schema: string): Promise<SupabaseData> {
  const tables = await readTables(database, [schema, ...ownSchemas]);
  for (const table of tables) await measure(database, table);
  const enums = new Map<string, string[]>();
  for (const { type, label } of await database.all(`
    SELECT quote_ident(n.nspname) || '.' || quote_ident(t.typname) AS type, e.enumlabel AS label
    FROM pg_catalog.pg_enum e JOIN pg_catalog.pg_type t ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    ORDER BY e.enumsortorder`))
    enums.set(String(type), [...(enums.get(String(type)) ?? []), String(label)]);
  const rows: SupabaseData['rows'] = (table) => {
    const names = table.columns.map(({ name }) => quotedName(name));
    return database.batches(`SELECT ${names.join(', ')} FROM ${quotedTable(table)}`, batchOf(table));
  };
  return {
    tables,
    enums,
    remarks: [],
    rows,
    users: async function* () {
      const users = tables.find((table) => tableName(table) === 'auth.users');
      if (users === undefined) return;
      const related = (name: string) =>
        tables.some((table) => tableName(table) === `auth.${name}`)
          ? `, (SELECT json_agg(to_json(r)) FROM auth.${name} r WHERE r.user_id = u.id) AS ${name}`
          : '';
      const names = users.columns.map(({ name }) => `u.${quotedName(name)}`);
      yield* database.batches(
        `SELECT ${names.join(', ')}${related('identities')}${related('mfa_factors')} FROM auth.users u`,
        batchOf(users),
      );
    },
    close: database.close,
  };
}

function quotedTable({ schema, name }: SourceTable): string {
  return `${quotedName(schema)}.${quotedName(name)}`;
}

function batchOf({ columns }: SourceTable): number {
  return rowsWithin(columns.reduce((sum, { longest }) => sum + 3 * longest, 200));
}

async function measure(database: ForeignPostgres, table: SourceTable): Promise<void> {
  if (table.columns.length === 0) return;
  const sums = table.columns.flatMap(({ name }, at) => [
    `max(length(${quotedName(name)}::text)) AS c${at}`,
    `bool_or(${quotedName(name)}::text !~ '${idPattern}') AS i${at}`,
  ]);
  const [row] = await database.all(`SELECT ${sums.join(', ')} FROM ${quotedTable(table)}`);
  for (const [at, column] of table.columns.entries()) {
    column.longest = Number(row?.[`c${at}`] ?? 0);
    column.hasOtherThanIds = row?.[`i${at}`] === 't';
  }
}

async function readTables(database: ForeignPostgres, schemas: readonly string[]): Promise<SourceTable[]> {
  const tables = await database.all(
    `SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relrowsecurity AS security
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname = ANY($1) AND has_table_privilege(c.oid, 'SELECT') ORDER BY n.nspname, c.relname`,
    [schemas],
  );
  const clients = await database.all(
    "SELECT rolname AS name FROM pg_catalog.pg_roles WHERE rolname IN ('anon', 'authenticated')",
  );
  const read: SourceTable[] = [];
  for (const { oid, schema, name, security } of tables) {
    const columns = await database.all(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS required, atthasdef AS value,
        pg_get_expr(d.adbin, d.adrelid) AS expression,
        attidentity AS identity, attgenerated AS generated
      FROM pg_catalog.pg_attribute LEFT JOIN pg_catalog.pg_attrdef d ON adrelid = attrelid AND adnum = attnum WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
      [oid],
    );
    const constraints = await database.all(
      "SELECT pg_get_constraintdef(oid) AS text FROM pg_catalog.pg_constraint WHERE conrelid = $1 AND contype IN ('p', 'u', 'f') ORDER BY conname",
      [oid],
    );
    const indexes = await database.all(
      `SELECT pg_get_indexdef(indexrelid) AS text FROM pg_catalog.pg_index i WHERE indrelid = $1
      AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u')) ORDER BY 1`,
      [oid],
    );
    const policies = await database.all(
      `SELECT policyname AS name, lower(cmd) AS command, permissive, array_to_json(roles) AS roles, qual AS using, with_check AS check
      FROM pg_catalog.pg_policies WHERE schemaname = $1 AND tablename = $2 ORDER BY policyname`,
      [schema, name],
    );
    const table: SourceTable = {
      schema: String(schema),
      name: String(name),
      columns: columns
        .filter(({ generated }) => generated === '')
        .map((column) => ({
          name: String(column.name),
          type: String(column.type).replace(/^pg_catalog\./, ''),
          notNull: column.required === 't',
          hasDefault: column.value === 't' || column.identity !== '',
          defaultText: typeof column.expression === 'string' ? column.expression : undefined,
          longest: 0,
          hasOtherThanIds: false,
        })),
      generated: columns.filter(({ generated }) => generated !== '').map((column) => String(column.name)),
      constraints: constraints.map(({ text }) => String(text)),
      indexes: indexes.map(({ text }) => String(text)),
      policies: policies.map(policyOf),
      rowSecurity: security === 't',
      partitions: [],
      privileges: { anon: new Set(), authenticated: new Set() },
    };
    for (const role of ['anon', 'authenticated'] as const) {
      if (!clients.some((client) => client.name === role)) continue;
      for (const command of tableCommands) {
        const [found] = await database.all('SELECT has_table_privilege($1, $2::oid, $3) AS yes', [role, oid, command]);
        if (found?.yes === 't') table.privileges[role].add(command);
      }
    }
    read.push(table);
  }
  return read;
}

function policyOf(row: ForeignRow): Policy {
  return {
    name: String(row.name),
    command: row.command as Policy['command'],
    isRestrictive: row.permissive !== 'PERMISSIVE',
    roles: JSON.parse(String(row.roles)) as string[],
    using: row.using === null ? undefined : String(row.using),
    check: row.check === null ? undefined : String(row.check),
  };
}
