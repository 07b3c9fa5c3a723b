import type { ForeignRow } from '#src/platform/foreign-databases/index.js';
import { openScratch, type Scratch } from '#src/platform/foreign-databases/index.js';
import { usageError } from '../../terminal/exit.js';
import { objectsOf } from '../../user-records/index.js';
import { batchesOf, rowsOfBatch } from '../batches.js';
import { idPattern } from '../keys.js';
import { ownSchemas, type SourceTable, type SupabaseData, tableCommands, tableName } from './data.js';
import { copiedValues, dumpLines, requirePlainDump } from './dump-lines.js';
import { createSchemaReader, type SchemaReader } from './dump-schema.js';

const idForm = new RegExp(idPattern);

/** The rows of a table in a dump. */
interface Copied {
  readonly columns: readonly string[];
  /** Position of the first row. */
  readonly offset: number;
}

/** Opens a dump of `pg_dump` in plain format. Throws CommandError. */
export async function dumpedData(file: string, schema: string): Promise<SupabaseData> {
  await requirePlainDump(file);
  const reader = createSchemaReader(new Set([schema, ...ownSchemas]));
  const end = createEndCheck();
  const copies = new Map<string, Copied>();
  let current: { table: SourceTable | undefined; columns: readonly string[] } | undefined;
  for await (const { bytes, offset } of dumpLines(file)) {
    if (current !== undefined) {
      if (isEnd(bytes)) current = undefined;
      else if (current.table !== undefined) measure(current.table, current.columns, bytes);
      continue;
    }
    const line = bytes.toString('utf8').replace(/\r$/, '');
    end.add(line, reader.isQuoted());
    const copy = reader.add(line);
    if (copy === undefined) continue;
    const table = reader.tableOf(copy.table);
    current = { table, columns: copy.columns };
    if (table !== undefined) copies.set(copy.table, { columns: copy.columns, offset: offset + bytes.length + 1 });
  }
  const tables = reader.tables();
  requireWhole(file, reader, current === undefined ? end.problem() : 'It ends within the rows of a table.');
  const remarks: string[] = [];
  if (!reader.hasPrivileges()) {
    remarks.push('The dump has no privileges (--no-privileges). Policies were read as if clients had the usual ones.');
    for (const { privileges } of tables)
      for (const role of ['anon', 'authenticated'] as const) for (const one of tableCommands) privileges[role].add(one);
  }
  /** The rows of a table and of its partitions. */
  const rowsNamed = async function* (name: string): ReturnType<typeof copiedRows> {
    yield* copiedRows(file, copies.get(name));
    for (const partition of reader.tableOf(name)?.partitions ?? []) yield* rowsNamed(partition);
  };
  const rows = (table: SourceTable) => rowsNamed(tableName(table));
  for (const table of tables) measurePartitions(table, reader.tableOf);
  const scratches: Scratch[] = [];
  return {
    tables,
    enums: reader.enums(),
    remarks,
    rows,
    users: () => usersIn(file, copies, scratches),
    close: async () => {
      for (const scratch of scratches) await scratch.close();
    },
  };
}

/**
 * Throws CommandError for a file without tables or with rows in another form, and for a problem of its end: policies, privileges and rows come
 * late in a dump, and some of them only take rights away.
 */
function requireWhole(file: string, reader: SchemaReader, problem: string | undefined): void {
  if (reader.tables().length === 0)
    throw usageError(
      `${file} has no tables of the schemas ${reader.schemas.join(', ')}.`,
      'make it with pg_dump -f dump.sql, without --data-only and --schema-only',
    );
  const [tableless] = reader.tableless();
  if (tableless !== undefined)
    throw usageError(
      `${file} has rows of ${tableless} without its CREATE TABLE before them.`,
      'write the schema into the file before the rows: supabase db dump, then supabase db dump --data-only --use-copy',
    );
  if (reader.hasInserts())
    throw usageError(
      `${file} has rows as INSERT statements.`,
      'make it with COPY: pg_dump -f dump.sql without --inserts',
    );
  if (problem !== undefined)
    throw usageError(
      `${file} is not whole. ${problem}`,
      'make it again: pg_dump -f dump.sql; check the space on the disk',
    );
}

/** Reads the users with their identities and second factors, which are elsewhere in the dump. */
async function* usersIn(file: string, copies: ReadonlyMap<string, Copied>, scratches: Scratch[]) {
  const related = new Map<string, Scratch>();
  for (const name of ['identities', 'mfa_factors']) {
    const scratch = await openScratch();
    scratches.push(scratch);
    related.set(name, scratch);
    for await (const found of copiedRows(file, copies.get(`auth.${name}`)))
      await scratch.add(found.map((row) => [String(row.user_id), JSON.stringify(row)]));
  }
  for await (const found of copiedRows(file, copies.get('auth.users'))) {
    const ids = found.map((row) => String(row.id));
    const lists = new Map<string, ReadonlyMap<string, readonly string[]>>();
    for (const [name, scratch] of related) lists.set(name, await scratch.valuesOf(ids));
    yield found.map((row) => ({
      ...row,
      ...Object.fromEntries([...lists].map(([name, list]) => [name, objectsOf([...(list.get(String(row.id)) ?? [])])])),
    }));
  }
}

function isEnd(bytes: Buffer): boolean {
  return bytes[0] === 92 && bytes[1] === 46 && (bytes.length === 2 || (bytes.length === 3 && bytes[2] === 13));
}

/** Adds the measurements of the partitions to a table. */
function measurePartitions(table: SourceTable, tableOf: (name: string) => SourceTable | undefined): void {
  for (const name of table.partitions) {
    const partition = tableOf(name);
    if (partition === undefined) continue;
    measurePartitions(partition, tableOf);
    for (const column of table.columns) {
      const found = partition.columns.find((one) => one.name === column.name);
      column.longest = Math.max(column.longest, found?.longest ?? 0);
      column.hasOtherThanIds ||= found?.hasOtherThanIds ?? false;
    }
  }
}

/** Notes the longest values of a row, and values that cannot be ids. */
function measure(table: SourceTable, columns: readonly string[], bytes: Buffer): void {
  const values = copiedValues(bytes.toString('utf8'));
  for (const [at, name] of columns.entries()) {
    const column = table.columns.find((one) => one.name === name);
    const value = values[at];
    if (column === undefined || value === null || value === undefined) continue;
    if (value.length > column.longest) column.longest = [...value].length;
    column.hasOtherThanIds ||= !idForm.test(value);
  }
}

async function* copiedRows(file: string, copied: Copied | undefined): AsyncGenerator<readonly ForeignRow[]> {
  if (copied !== undefined) yield* batchesOf(rowsAt(file, copied), rowsOfBatch);
}

async function* rowsAt(file: string, { columns, offset }: Copied): AsyncGenerator<ForeignRow> {
  for await (const { bytes } of dumpLines(file, offset)) {
    if (isEnd(bytes)) return;
    const values = copiedValues(bytes.toString('utf8').replace(/\r$/, ''));
    yield Object.fromEntries(columns.map((name, at) => [name, values[at] ?? null]));
  }
}

/** Finds out whether a file has its dumps from beginning to end. */
interface EndCheck {
  /** Adds a line outside of rows. Statements within a text or the body of a function do not count. */
  add(line: string, isQuoted: boolean): void;
  /** Why the file is not whole, with the part that is cut; undefined for a whole file. */
  problem(): string | undefined;
}

const begin = '-- PostgreSQL database dump';
/** The first statement of every dump, also of `supabase db dump`, which removes comments. */
const firstStatement = 'SET statement_timeout = 0;';
/** The last line of `pg_dump`, and of `supabase db dump`. */
const ends = new Set(['-- PostgreSQL database dump complete', 'RESET ALL;']);

/** Creates the check of a file with one dump or several, one after the other. */
function createEndCheck(): EndCheck {
  let dumps = 0;
  let open: 'none' | 'header' | 'statements' = 'none';
  let cut: number | undefined;
  return {
    add: (line, isQuoted) => {
      if (isQuoted && !line.startsWith('-- ')) return;
      if (ends.has(line)) open = 'none';
      else if (line === begin || (line === firstStatement && open !== 'header')) {
        if (open !== 'none') cut ??= dumps;
        dumps += 1;
        open = line === begin ? 'header' : 'statements';
      } else if (line === firstStatement) open = 'statements';
    },
    problem: () => {
      const first = cut ?? (open === 'none' ? undefined : dumps);
      if (first === undefined)
        return dumps === 0 ? 'It has no line "-- PostgreSQL database dump complete".' : undefined;
      const which = dumps === 1 ? 'The dump' : `Dump ${first} of ${dumps} in it`;
      return `${which} ends without the line "-- PostgreSQL database dump complete".`;
    },
  };
}
