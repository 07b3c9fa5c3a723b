import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Knex } from 'knex';
import { DatabaseError } from './database-error.js';
import type { Connection, Driver } from './driver.js';
import type { Query, Sql, Value } from './query.js';

/** What Postgres calls two transactions that wait for each other, and how often steps are begun then. */
const deadlock = '40P01';
const attempts = 3;

type Builder = Pick<Knex.SchemaBuilder | Knex.QueryBuilder | Knex.Raw, 'toSQL'>;

/** A file of `migrations/`: returns what is to be run, in order, as knex builders; it never runs anything itself. */
interface MigrationFile {
  /** Is told which tables exist, as some are made at run time. */
  up(knex: Knex, dialect: Sql['dialect'], tables: readonly string[]): readonly Builder[];
  down(knex: Knex, dialect: Sql['dialect'], tables: readonly string[]): readonly Builder[];
}

/** A step of the schema with the SQL it stands for on the database in use. */
export interface Migration {
  readonly name: string;
  readonly up: (tables: readonly string[]) => readonly Query[];
  readonly down: (tables: readonly string[]) => readonly Query[];
}

/** Where a database stands against the migrations of this version. */
export interface SchemaStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Applied by a newer version: this one does not know them. */
  readonly unknown: readonly string[];
}

/** Moves the schema; every move is one transaction that keeps other processes out, so a kill leaves the old schema or the new one. */
export interface Migrator {
  readonly migrations: readonly Migration[];
  status(): Promise<SchemaStatus>;
  /** Applies what is pending, up to and including `to`; returns the names. */
  up(to?: string): Promise<string[]>;
  /** What applying what is pending, up to and including `to`, would run. */
  planUp(to?: string): Promise<readonly Query[]>;
  /** What taking the last step back would run. */
  planDown(): Promise<readonly Query[]>;
  /** Takes the last step back; returns its name, or undefined where there is none. */
  down(): Promise<string | undefined>;
}

const table = 'schema_migrations';
const createTable = `create table if not exists ${table} (name text not null primary key, applied_at text not null)`;
const query = (sql: string, values: Query['values'] = []): Query => ({ sql, values });

/** Reads the migrations of a directory in the order of their names. Throws when there is none: a wrong directory must not pass for an empty one. */
export async function loadMigrations(directory: string, sql: Sql): Promise<Migration[]> {
  const names = readdirSync(directory)
    .filter((file) => file.endsWith('.js'))
    .sort();
  if (names.length === 0) throw new Error(`no migrations in ${directory}`);
  const compile = (builders: readonly Builder[]): Query[] =>
    builders.flatMap((builder) => {
      const compiled = builder.toSQL();
      const parts = Array.isArray(compiled) ? compiled : [compiled.toNative()];
      return parts.map((part) => query(part.sql, (part.bindings ?? []) as Value[]));
    });
  const load = async (file: string): Promise<Migration> => {
    const module: MigrationFile = await import(pathToFileURL(join(directory, file)).href);
    return {
      name: file.replace(/\.js$/, ''),
      up: (tables) => compile(module.up(sql.loadKnex(), sql.dialect, tables)),
      down: (tables) => compile(module.down(sql.loadKnex(), sql.dialect, tables)),
    };
  };
  return Promise.all(names.map(load));
}

/** Creates the migrator of a database. */
export function createMigrator(driver: Driver, migrations: readonly Migration[], now: () => string): Migrator {
  const applied = async (connection: Pick<Connection, 'all'>): Promise<string[]> => {
    const rows = await connection.all(query(`select name from ${table} order by name`));
    return rows.map((row) => String(row.name));
  };
  const tableExists = async (): Promise<boolean> => {
    const rows =
      driver.dialect === 'sqlite'
        ? await driver.read(query("select 1 as one from sqlite_master where type = 'table' and name = ?", [table]))
        : await driver.read(query('select 1 as one where to_regclass($1) is not null', [table]));
    return rows.length > 0;
  };
  const tables = async (connection: Pick<Connection, 'all'>): Promise<string[]> => {
    const list =
      driver.dialect === 'sqlite'
        ? "select name from sqlite_master where type = 'table'"
        : 'select tablename as name from pg_tables where schemaname = current_schema()';
    return (await connection.all(query(list))).map((row) => String(row.name));
  };
  const placeholder = (position: number) => (driver.dialect === 'sqlite' ? '?' : `$${position}`);
  const apply = async (connection: Connection, statements: readonly Query[]) => {
    for (const statement of statements) await connection.run(statement);
  };
  /** All or nothing; once more where a statement of a running server was in the way, and Postgres has ended one of the two. */
  const exclusive = async <T>(body: (connection: Connection) => Promise<T>): Promise<T> => {
    for (let count = 1; ; count++) {
      try {
        return await driver.exclusive(body);
      } catch (error) {
        if (!(error instanceof DatabaseError && error.code === deadlock) || count === attempts) throw error;
      }
    }
  };
  const pendingAfter = (done: readonly string[], to: string | undefined) =>
    migrations.filter(({ name }) => !done.includes(name) && (to === undefined || name <= to));
  return {
    migrations,
    status: async () => {
      const done = (await tableExists()) ? await applied({ all: driver.read }) : [];
      const names = migrations.map(({ name }) => name);
      return {
        applied: done,
        pending: names.filter((name) => !done.includes(name)),
        unknown: done.filter((name) => !names.includes(name)),
      };
    },
    up: (to) =>
      exclusive(async (connection) => {
        await connection.run(query(createTable));
        const done = await applied(connection);
        const pending = pendingAfter(done, to);
        for (const migration of pending) {
          await apply(connection, migration.up(await tables(connection)));
          await connection.run(
            query(`insert into ${table} (name, applied_at) values (${placeholder(1)}, ${placeholder(2)})`, [
              migration.name,
              now(),
            ]),
          );
        }
        return pending.map(({ name }) => name);
      }),
    planUp: async (to) => {
      const reader = { all: driver.read };
      const done = (await tableExists()) ? await applied(reader) : [];
      const existing = await tables(reader);
      return pendingAfter(done, to).flatMap((migration) => migration.up(existing));
    },
    planDown: async () => {
      const reader = { all: driver.read };
      const last = (await tableExists()) ? (await applied(reader)).at(-1) : undefined;
      return migrations.find(({ name }) => name === last)?.down(await tables(reader)) ?? [];
    },
    down: () =>
      exclusive(async (connection) => {
        const last = (await applied(connection)).at(-1);
        const migration = migrations.find(({ name }) => name === last);
        if (migration === undefined) return undefined;
        await apply(connection, migration.down(await tables(connection)));
        await connection.run(query(`delete from ${table} where name = ${placeholder(1)}`, [migration.name]));
        return migration.name;
      }),
  };
}
