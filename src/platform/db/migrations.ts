import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import { bind } from '../runtime/bind.js';
import { retry } from '../runtime/retry.js';
import { isNewer, version } from '../runtime/version.js';
import { DatabaseError } from './database-error.js';
import type { Connection, Driver } from './driver.js';
import { type StepPlan, stepPlansOf } from './migration-plan.js';
import { type Query, type Sql, statement, type Value } from './query.js';

/** SQLSTATE of a Postgres deadlock, and how often a move is attempted after one. */
const deadlock = '40P01';
const attempts = 3;

type Builder = Pick<Knex.SchemaBuilder | Knex.QueryBuilder | Knex.Raw, 'toSQL'>;

/** A file of `migrations/`. It returns the statements to run, in order, as knex builders; it never runs any itself. */
interface MigrationFile {
  /** The oldest release that can still work on the schema after this step; absent if only releases that have the step can. */
  readonly usableFrom?: string;
  /** `tables` lists the existing tables, because some are created at run time. */
  up(knex: Knex, dialect: Sql['dialect'], tables: readonly string[]): readonly Builder[];
  down(knex: Knex, dialect: Sql['dialect'], tables: readonly string[]): readonly Builder[];
}

/** A migration with its SQL for the database in use. */
export interface Migration {
  readonly name: string;
  readonly usableFrom?: string | null;
  readonly up: (tables: readonly string[]) => readonly Query[];
  readonly down: (tables: readonly string[]) => readonly Query[];
}

/** Migrations of this version compared with those applied to a database. */
export interface SchemaStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Applied by a newer version; unknown to this one. */
  readonly unknown: readonly string[];
  /** Unknown steps after which this version can no longer use the schema. */
  readonly unusable: readonly string[];
}

/**
 * Migrates the schema. Every move is one transaction that excludes other processes, so a killed process leaves either the old schema or the
 * new one.
 */
export interface Migrator {
  readonly migrations: readonly Migration[];
  status(): Promise<SchemaStatus>;
  /** Applies the pending migrations up to and including `to`; returns their names. */
  up(to?: string): Promise<string[]>;
  /** Applies pending migrations in a transaction of the caller: those that are named, or all. Returns their names. */
  migrate(connection: Connection, names?: readonly string[]): Promise<string[]>;
  /** Names of the tables that migrations create. */
  tables(): ReadonlySet<string>;
  /** The pending migrations up to and including `to`, with their statements and what they cost. */
  planUp(to?: string): Promise<StepPlan[]>;
  /** The statements `down` would run. */
  planDown(): Promise<readonly Query[]>;
  /** Reverts the last migration; returns its name, or undefined if there is none. */
  down(): Promise<string | undefined>;
}

const table = 'schema_migrations';

/**
 * A step that marks a database into which a copy has not finished. No version knows it, so that every version refuses the database, also a
 * running server.
 */
export const unfinishedCopy = 'unfinished_copy';
const createTable = `create table if not exists ${table} (name text not null primary key, applied_at text not null, usable_from text)`;

/**
 * Reads the migrations of a directory in the order of their names. Throws if there is none, so that a wrong directory does not pass for an
 * empty one.
 */
export async function loadMigrations(directory: string, { dialect }: Pick<Sql, 'dialect'>): Promise<Migration[]> {
  const names = readdirSync(directory)
    .filter((file) => file.endsWith('.js'))
    .sort();
  if (names.length === 0) throw new Error(`no migrations in ${directory}`);
  const compile = (builders: readonly Builder[]): Query[] =>
    builders.flatMap((builder) => {
      const compiled = builder.toSQL();
      const parts = Array.isArray(compiled) ? compiled : [compiled.toNative()];
      return parts.map((part) => statement(part.sql, (part.bindings ?? []) as Value[]));
    });
  const knex = createKnexLoader(dialect);
  const load = async (file: string): Promise<Migration> => {
    const module: MigrationFile = await import(pathToFileURL(join(directory, file)).href);
    return {
      name: file.replace(/\.js$/, ''),
      usableFrom: module.usableFrom ?? null,
      up: (tables) => compile(module.up(knex(), dialect, tables)),
      down: (tables) => compile(module.down(knex(), dialect, tables)),
    };
  };
  return Promise.all(names.map(load));
}

/** Loads knex with the first step to run: it has hundreds of files, and a start without steps needs none of them. */
function createKnexLoader(dialect: Sql['dialect']): () => Knex {
  const require = createRequire(import.meta.url);
  let loaded: Knex | undefined;
  return () => {
    if (loaded === undefined) {
      const { knex }: typeof import('knex') = require('knex');
      loaded = knex({ client: dialect === 'sqlite' ? 'sqlite3' : 'pg', useNullAsDefault: true });
    }
    return loaded;
  };
}

interface Deps {
  readonly driver: Driver;
  readonly migrations: readonly Migration[];
  readonly now: () => string;
}

/** A step as the database knows it. */
interface AppliedStep {
  readonly name: string;
  readonly usableFrom: string | null;
}

type Source = Pick<Connection, 'all'>;

/** Creates the migrator of a database. */
export function createMigrator(driver: Driver, migrations: readonly Migration[], now: () => string): Migrator {
  const deps: Deps = { driver, migrations, now };
  return { migrations, ...bind(deps, { status, up, migrate, tables, planUp, planDown, down }) };
}

async function status({ driver, migrations }: Deps): Promise<SchemaStatus> {
  const steps = await readApplied(driver);
  const applied = steps.map(({ name }) => name);
  const names = migrations.map(({ name }) => name);
  const unknown = steps.filter(({ name }) => !names.includes(name));
  return {
    applied,
    pending: names.filter((name) => !applied.includes(name)),
    unknown: unknown.map(({ name }) => name),
    unusable: unknown
      .filter(({ usableFrom }) => usableFrom === null || isNewer(usableFrom, version()))
      .map(({ name }) => name),
  };
}

/** The applied migrations; none if their table does not exist yet. */
async function readApplied(driver: Driver): Promise<AppliedStep[]> {
  const exists =
    driver.dialect === 'sqlite'
      ? await driver.read(statement("select 1 as one from sqlite_master where type = 'table' and name = ?", [table]))
      : await driver.read(statement('select 1 as one where to_regclass($1) is not null', [table]));
  return exists.length > 0 ? stepsIn({ all: driver.read }) : [];
}

/** Selects all columns, because earlier versions made the table without `usable_from`. */
async function stepsIn(source: Source): Promise<AppliedStep[]> {
  const rows = await source.all(statement(`select * from ${table} order by name`));
  return rows.map(({ name, usable_from: from }) => ({
    name: String(name),
    usableFrom: typeof from === 'string' ? from : null,
  }));
}

async function namesIn(source: Source): Promise<string[]> {
  return (await stepsIn(source)).map(({ name }) => name);
}

async function addMark({ dialect }: Driver, connection: Connection): Promise<void> {
  if (dialect === 'postgres')
    await connection.run(statement(`alter table ${table} add column if not exists usable_from text`));
  else if ((await connection.all(statement(`pragma table_info(${table})`))).every(({ name }) => name !== 'usable_from'))
    await connection.run(statement(`alter table ${table} add column usable_from text`));
}

function up(deps: Deps, to?: string): Promise<string[]> {
  const names = deps.migrations.map(({ name }) => name).filter((name) => to === undefined || name <= to);
  return exclusive(deps.driver, (connection) => migrate(deps, connection, names));
}

async function migrate(
  { driver, migrations, now }: Deps,
  connection: Connection,
  names?: readonly string[],
): Promise<string[]> {
  const values = driver.dialect === 'sqlite' ? '?, ?, ?' : '$1, $2, $3';
  await connection.run(statement(createTable));
  const wanted = migrations.filter(({ name }) => names === undefined || names.includes(name));
  const pending = pendingAfter(wanted, await namesIn(connection), undefined);
  if (pending.length > 0) await addMark(driver, connection);
  for (const { name, usableFrom, up: statements } of pending) {
    await apply(connection, statements(await tablesOf(driver, connection)));
    await connection.run(
      statement(`insert into ${table} (name, applied_at, usable_from) values (${values})`, [
        name,
        now(),
        usableFrom ?? null,
      ]),
    );
  }
  return pending.map(({ name }) => name);
}

function tables({ migrations }: Deps): ReadonlySet<string> {
  const statements = migrations.flatMap((migration) => migration.up([]));
  const created = statements.flatMap(({ sql }) => /^create table (?:if not exists )?["`]?(\w+)/i.exec(sql)?.[1] ?? []);
  return new Set(created);
}

/** All or nothing. Retries if the move and a statement of a running server deadlocked and Postgres cancelled the move. */
function exclusive<T>(driver: Driver, body: (connection: Connection) => Promise<T>): Promise<T> {
  return retry(
    () => driver.exclusive(body),
    (error, attempt) => error instanceof DatabaseError && error.code === deadlock && attempt < attempts,
  );
}

function pendingAfter(migrations: readonly Migration[], applied: readonly string[], to: string | undefined) {
  return migrations.filter(({ name }) => !applied.includes(name) && (to === undefined || name <= to));
}

async function apply(connection: Connection, statements: readonly Query[]): Promise<void> {
  for (const one of statements) await connection.run(one);
}

async function tablesOf({ dialect }: Driver, source: Source): Promise<string[]> {
  const list =
    dialect === 'sqlite'
      ? "select name from sqlite_master where type = 'table'"
      : 'select tablename as name from pg_tables where schemaname = current_schema()';
  return (await source.all(statement(list))).map((row) => String(row.name));
}

async function planUp({ driver, migrations }: Deps, to?: string): Promise<StepPlan[]> {
  const applied = (await readApplied(driver)).map(({ name }) => name);
  const tables = await tablesOf(driver, { all: driver.read });
  const steps = pendingAfter(migrations, applied, to).map((migration) => ({
    name: migration.name,
    statements: migration.up(tables),
  }));
  return stepPlansOf(steps, driver.dialect, await estimatedRows(driver, tables));
}

/** Estimated numbers of rows: on SQLite the highest row id, on Postgres that of the last ANALYZE or of the statistics. */
export async function estimatedRows(
  { dialect, read }: Pick<Driver, 'dialect' | 'read'>,
  tables: readonly string[],
): Promise<Map<string, number>> {
  if (dialect === 'postgres') {
    const rows = await read(
      statement(`select c.relname as name, greatest(c.reltuples, coalesce(s.n_live_tup, 0), 0)::bigint as rows
        from pg_class c left join pg_stat_user_tables s on s.relid = c.oid
        where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`),
    );
    return new Map(rows.map((row) => [String(row.name), Number(row.rows)]));
  }
  const found = new Map<string, number>();
  for (const name of tables.filter((one) => /^\w+$/.test(one) && !one.startsWith('sqlite_'))) {
    // Tables of full-text indexes have no row ids; no step handles their rows.
    const [row] = await read(statement(`select max(rowid) as rows from ${name}`)).catch(() => []);
    found.set(name, Number(row?.rows ?? 0));
  }
  return found;
}

async function planDown({ driver, migrations }: Deps): Promise<readonly Query[]> {
  const last = (await readApplied(driver)).at(-1)?.name;
  const migration = migrations.find(({ name }) => name === last);
  return migration?.down(await tablesOf(driver, { all: driver.read })) ?? [];
}

function down({ driver, migrations }: Deps): Promise<string | undefined> {
  const place = driver.dialect === 'sqlite' ? '?' : '$1';
  return exclusive(driver, async (connection) => {
    const last = (await namesIn(connection)).at(-1);
    const migration = migrations.find(({ name }) => name === last);
    if (migration === undefined) return undefined;
    await apply(connection, migration.down(await tablesOf(driver, connection)));
    await connection.run(statement(`delete from ${table} where name = ${place}`, [migration.name]));
    return migration.name;
  });
}
