import { resolve } from 'node:path';
import { Failure } from '#src/contract/errors.js';
import type { Config } from '#src/platform/config/schema.js';
import { conditionOf } from '#src/platform/db/conditions.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Driver } from '#src/platform/db/driver.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { createRuntime } from '#src/platform/index.js';
import { CommandError, shellWord } from './exit.js';
import { groupOfProcess, isOfAnother, ownerOf, userOfProcess } from './owners.js';

/** How long a write waits for others; a database that takes one in a longer time does take it. */
const writeWaitMs = 2000;

/** What the database says to a connection and to a write, within the time limit of connections; undefined where it does as it is told. Nothing is logged. */
export async function refusalOf(config: Config): Promise<DatabaseError | undefined> {
  try {
    const runtime = await createRuntime(config, { writeLog: () => {} });
    return await refusalOfDriver(runtime.driver).finally(() => runtime.close());
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}

/** Takes back the write of a check. */
class TakenBack extends Error {}

/** The same of an open database. What is written is taken back. */
export async function refusalOfDriver(driver: Driver): Promise<DatabaseError | undefined> {
  try {
    await driver.ping();
    await driver.transact(async (connection) => {
      // SQLite begins a transaction also on a file that it may only read.
      if (driver.dialect === 'sqlite') await connection.run({ sql: 'create table write_check (id)', values: [] });
      throw new TakenBack();
    }, performance.now() + writeWaitMs);
    return undefined;
  } catch (error) {
    if (error instanceof TakenBack) return undefined;
    if (!(error instanceof DatabaseError)) throw error;
    return error.kind === 'busy' ? undefined : error;
  }
}

/** An error as it is; where SQLite could not open or write a file because it belongs to another user, one that names the file and both users. */
export function namingOwner(config: Config, error: unknown): unknown {
  const cause = error instanceof Failure ? error.cause : error;
  if (!(cause instanceof DatabaseError) || !['SQLITE_CANTOPEN', 'SQLITE_READONLY'].includes(cause.code)) return error;
  const condition = conditionOf(cause.code);
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  if (condition === undefined || file === null) return error;
  const others = ['', '-wal', '-shm'].map((suffix) => `${resolve(file)}${suffix}`).filter(isOfAnother);
  const [first] = others;
  if (first === undefined) return error;
  const [owner, user, words] = [ownerOf(first), userOfProcess(), others.map(shellWord).join(' ')];
  return new CommandError(
    'unreachable',
    condition.type,
    `${condition.message} (${cause.code}): ${first} belongs to ${owner}, and this user is ${user}.`,
    `if the database is that of ${user}, as root: chown ${user}:${groupOfProcess()} ${words}; if not, run the command as the owner of the file`,
  );
}
