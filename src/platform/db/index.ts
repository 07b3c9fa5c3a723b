import { type Clock, instantOf } from '../clock.js';
import type { Config } from '../config/schema.js';
import type { Metrics } from '../metrics.js';
import { packageFile } from '../package-root.js';
import type { Driver } from './driver.js';
import { createMigrator, loadMigrations, type Migrator } from './migrations.js';
import { createOutbox, type Outbox } from './outbox.js';
import { createSql, type DialectName, type Sql } from './query.js';
import { createDatabase, type Database } from './unit.js';
import { createWritability, type Writability } from './writability.js';

/** An open database with everything the platform does with it. */
export interface OpenDatabase {
  readonly db: Database;
  readonly sql: Sql;
  readonly migrator: Migrator;
  readonly driver: Driver;
  readonly writability: Writability;
  readonly outbox: Outbox;
}

/** What opening a database needs. */
interface DatabaseDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly onChange: (up: boolean, code?: string) => void;
  /** Told when the database refuses writes or takes them again, and with which code it refused. */
  readonly onWritable: (isWritable: boolean, code: string) => void;
}

export { logWithoutFile } from './sqlite-moved.js';

const migrationsDirectory = packageFile('migrations');

/** Which database a URL names, and for SQLite the file. */
export function parseDatabaseUrl(url: string): { readonly dialect: DialectName; readonly file: string | null } {
  if (url.startsWith('sqlite:'))
    return { dialect: 'sqlite', file: url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '') };
  return { dialect: 'postgres', file: null };
}

/** Opens the configured database. Throws DatabaseError where it cannot be reached. */
export async function openDatabase(config: Config, deps: DatabaseDeps): Promise<OpenDatabase> {
  const { dialect, file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const sql = createSql(dialect);
  const writability = createWritability(deps.onWritable);
  const driver = file === null ? await connect(config, deps, writability) : await open(file, config);
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

/** Opens the database for single reads only, without what the writes and the measurements of a server need. Throws DatabaseError. */
export async function openReader(config: Config): Promise<Pick<Driver, 'read' | 'close'> & { readonly sql: Sql }> {
  const { dialect, file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const driver =
    file === null
      ? await connect(
          config,
          { onChange() {} },
          createWritability(() => {}),
        )
      : await open(file, config);
  return { sql: createSql(dialect), read: driver.read.bind(driver), close: driver.close.bind(driver) };
}

// Each database brings a package of its own, and one of them is in use.
async function open(file: string, { querySeconds, answerMaxBytes }: Config): Promise<Driver> {
  const { openSqlite } = await import('./sqlite.js');
  return openSqlite(file, { statementMs: querySeconds * 1000, listBytes: answerMaxBytes });
}

async function connect(
  config: Config,
  { onChange }: Pick<DatabaseDeps, 'onChange'>,
  writability: Writability,
): Promise<Driver> {
  const { openPostgres, readOnly } = await import('./postgres.js');
  return openPostgres({
    url: config.databaseUrl.reveal(),
    prepared: config.pgPrepared === 'on',
    statementMs: config.querySeconds * 1000,
    onChange,
    onWritable: (isWritable) => (isWritable ? writability.lifted(readOnly) : writability.refused(readOnly)),
  });
}
