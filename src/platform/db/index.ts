import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/schema.js';
import { type Clock, instantOf } from '../runtime/clock.js';
import type { Metrics } from '../runtime/metrics.js';
import { packageFile } from '../runtime/package-root.js';
import type { DialectName } from './dialect-words.js';
import type { Driver } from './driver.js';
import { createMigrator, loadMigrations, type Migrator } from './migrations.js';
import { createOutbox, type Outbox } from './outbox.js';
import { createSql, type Sql } from './query.js';
import type { Standby, StandbyProblem, StandbyReports } from './standby.js';
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
  /** Called when the standby for lists is used, and when it is not any more. */
  readonly onStandby: StandbyReports['onStandby'];
}

/** What `svc doctor` finds about the standby for lists. */
export interface StandbyFinding {
  readonly problem: StandbyProblem | 'behind';
  readonly code?: string | undefined;
  /** Bytes of the write-ahead log that it has not replayed. */
  readonly bytes?: number;
}

export { logWithoutFile } from './sqlite-moved.js';
export type { StandbyProblem } from './standby.js';

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
  const opened =
    file === null ? await beside(config, deps, await connect(config, deps, writability)) : await open(file, config);
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
    ...optionsOf(config, config.databaseUrl.reveal()),
    listenUrl: config.databaseListenUrl?.reveal(),
    onChange,
    onUnprepared,
    onWritable: (isWritable) => (isWritable ? writability.lifted(readOnly) : writability.refused(readOnly)),
  });
}

function optionsOf(config: Config, url: string) {
  return { url, prepared: config.pgPrepared, poolSize: config.poolSize, statementMs: config.querySeconds * 1000 };
}

/** Opens the standby of the settings. Reports no changes of its state. */
async function openStandbyOf(config: Config, url: string): Promise<Standby> {
  const { openStandby } = await import('./postgres.js');
  const silent = { onChange() {}, onWritable() {}, onUnprepared() {} };
  return openStandby({ ...optionsOf(config, url), listenUrl: undefined, ...silent });
}

/** Adds the standby of the settings, if there is one. */
async function beside(config: Config, { metrics, onStandby }: DatabaseDeps, primary: Driver): Promise<Driver> {
  if (config.databaseReadUrl === undefined) return primary;
  const { withStandby } = await import('./standby.js');
  const standby = await openStandbyOf(config, config.databaseReadUrl.reveal());
  const lag = metrics.gauge({
    name: 'svc_db_standby_lag_seconds',
    help: 'Seconds by which the standby for lists is behind',
  });
  const used = metrics.gauge({ name: 'svc_db_standby_up', help: '1 while the standby for lists can be used' });
  const lists = metrics.counter({
    name: 'svc_db_lists_total',
    help: 'Lists by the server that answered them',
    labelNames: ['server'],
  });
  used.set(0);
  for (const server of ['primary', 'standby'] as const) lists.inc({ server }, 0);
  return withStandby(primary, standby, {
    onStandby: (problem, code) => {
      used.set(problem === undefined ? 1 : 0);
      onStandby(problem, code);
    },
    lag: (seconds) => lag.set(seconds ?? 0),
    list: (server) => lists.inc({ server }),
  });
}

/** Finds a fault of the standby of the settings; undefined if it catches up within the time. */
export async function examineStandby(
  config: Config,
  primary: Pick<Driver, 'read'>,
  waitMs: number,
): Promise<StandbyFinding | undefined> {
  if (config.databaseReadUrl === undefined) return undefined;
  const { lookAtStandby, positionAtPrimary } = await import('./standby.js');
  const standby = await openStandbyOf(config, config.databaseReadUrl.reveal());
  try {
    const end = await positionAtPrimary(primary);
    for (const started = performance.now(); ; await sleep(100)) {
      const { problem, code, position, timeline } = await lookAtStandby(primary, standby);
      if (problem !== undefined) return { problem, code };
      if (timeline !== end.timeline) return { problem: 'another-timeline' };
      if (position >= end.position) return undefined;
      if (performance.now() - started > waitMs) return { problem: 'behind', bytes: end.position - position };
    }
  } finally {
    await standby.close();
  }
}
