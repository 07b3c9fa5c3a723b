import { type Clock, instantOf } from '../clock.js';
import type { Config } from '../config/schema.js';
import type { Metrics } from '../metrics.js';
import { packageFile } from '../package-root.js';
import type { Random } from '../random.js';
import type { Sealing } from '../sealing.js';
import type { Driver } from './driver.js';
import { createLedger } from './ledger.js';
import { createMigrator, loadMigrations, type Migrator } from './migrations.js';
import { createSql, type DialectName, type Sql } from './query.js';
import { createDatabase, type Database } from './unit.js';

/** An open database with everything the platform does with it. */
export interface OpenDatabase {
  readonly db: Database;
  readonly sql: Sql;
  readonly migrator: Migrator;
  readonly driver: Driver;
}

/** What opening a database needs. */
interface DatabaseParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  /** Signs audit rows; absent for commands that only look at the schema. */
  readonly sealing: Sealing;
  readonly onChange: (up: boolean) => void;
}

const migrationsDirectory = packageFile('migrations');

/** Which database a URL names, and for SQLite the file. */
export function parseDatabaseUrl(url: string): { readonly dialect: DialectName; readonly file: string | null } {
  if (url.startsWith('sqlite:'))
    return { dialect: 'sqlite', file: url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '') };
  return { dialect: 'postgres', file: null };
}

/** Opens the configured database. Throws DatabaseError where it cannot be reached. */
export async function openDatabase(config: Config, parts: DatabaseParts): Promise<OpenDatabase> {
  const { dialect, file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const sql = createSql(dialect);
  const driver = file === null ? await connect(config, parts) : await open(file);
  const migrations = await loadMigrations(migrationsDirectory, sql);
  return {
    sql,
    driver,
    migrator: createMigrator(driver, migrations, () => instantOf(parts.clock.now())),
    db: createDatabase(driver, createLedger(parts.random, parts.sealing), parts.clock, parts.metrics),
  };
}

// Each database brings a package of its own, and one of them is in use.
async function open(file: string): Promise<Driver> {
  const { openSqlite } = await import('./sqlite.js');
  return openSqlite(file);
}

async function connect(config: Config, { onChange }: DatabaseParts): Promise<Driver> {
  const { openPostgres } = await import('./postgres.js');
  return openPostgres({ url: config.databaseUrl.reveal(), prepared: config.pgPrepared === 'on', onChange });
}
