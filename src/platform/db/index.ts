import type { Config } from '../config/schema.js';
import { type Clock, instantOf } from '../runtime/clock.js';
import type { Metrics } from '../runtime/metrics.js';
import { packageFile } from '../runtime/package-root.js';
import type { Driver } from './driver.js';
import { createMigrator, loadMigrations, type Migrator } from './migrations.js';
import { createOutbox, type Outbox } from './outbox.js';
import { createSql, type DialectName, type Sql } from './query.js';
import { createDatabase, type Database } from './unit.js';
import { createWritability, type Writability } from './writability.js';

/** An open database with its migrator, outbox and writability state. */
export interface OpenDatabase {
  readonly db: Database;
  readonly sql: Sql;
  readonly migrator: Migrator;
  readonly driver: Driver;
  readonly writability: Writability;
  readonly outbox: Outbox;
}

/** Dependencies of `openDatabase`. */
export interface DatabaseDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly wrapDriver?: ((driver: Driver) => Driver) | undefined;
  readonly onChange: (up: boolean, code?: string) => void;
  /** Called when the database starts to refuse writes, or accepts them again, with the code of the refusal. */
  readonly onWritable: (isWritable: boolean, code: string) => void;
  /** Called when prepared statements are given up, because a pooler mixes them up. */
  readonly onUnprepared: () => void;
}

export { logWithoutFile } from './sqlite-moved.js';

const migrationsDirectory = packageFile('migrations');

/** The dialect of a database URL and, for SQLite, the file. */
export function parseDatabaseUrl(url: string): { readonly dialect: DialectName; readonly file: string | null } {
  if (url.startsWith('sqlite:'))
    return { dialect: 'sqlite', file: url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '') };
  return { dialect: 'postgres', file: null };
}

/** Opens the configured database. Throws DatabaseError if it is unreachable. */
export async function openDatabase(config: Config, deps: DatabaseDeps): Promise<OpenDatabase> {
  const { dialect, file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const sql = createSql(dialect);
  const writability = createWritability(deps.onWritable);
  const opened = file === null ? await connect(config, deps, writability) : await open(file, config);
  const driver = deps.wrapDriver?.(opened) ?? opened;
  const migrations = await loadMigrations(migrationsDirectory, sql);
  const outbox = createOutbox();
  return {
    sql,
    driver,
    writability,
    outbox,
    migrator: createMigrator(driver, migrations, () => instantOf(deps.clock.now())),
    db: createDatabase(driver, outbox, deps.clock, deps.metrics, writability),
  };
}

/** Opens the database for single reads only, without the write support and metrics of a server. Throws DatabaseError. */
export async function openReader(config: Config): Promise<Pick<Driver, 'read' | 'close'> & { readonly sql: Sql }> {
  const { dialect, file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const driver =
    file === null
      ? await connect(
          config,
          { onChange() {}, onUnprepared() {} },
          createWritability(() => {}),
        )
      : await open(file, config);
  return { sql: createSql(dialect), read: driver.read.bind(driver), close: driver.close.bind(driver) };
}

// Imported on demand: each database has its own package, and only one of them is used.
async function open(file: string, { querySeconds, answerMaxBytes }: Config): Promise<Driver> {
  const { openSqlite } = await import('./sqlite.js');
  return openSqlite(file, { statementMs: querySeconds * 1000, listBytes: answerMaxBytes });
}

async function connect(
  config: Config,
  { onChange, onUnprepared }: Pick<DatabaseDeps, 'onChange' | 'onUnprepared'>,
  writability: Writability,
): Promise<Driver> {
  const { openPostgres, readOnly } = await import('./postgres.js');
  return openPostgres({
    url: config.databaseUrl.reveal(),
    listenUrl: config.databaseListenUrl?.reveal(),
    prepared: config.pgPrepared,
    poolSize: config.poolSize,
    statementMs: config.querySeconds * 1000,
    onChange,
    onUnprepared,
    onWritable: (isWritable) => (isWritable ? writability.lifted(readOnly) : writability.refused(readOnly)),
  });
}
