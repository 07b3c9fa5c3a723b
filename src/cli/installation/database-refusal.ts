import { resolve } from 'node:path';
import { Failure } from '#src/contract/errors.js';
import type { Config } from '#src/platform/config/schema.js';
import { conditionOf } from '#src/platform/db/conditions.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Driver } from '#src/platform/db/driver.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { testWrite } from '#src/platform/db/write-test.js';
import { createRuntime } from '#src/platform/index.js';
import { shellWord, unreachableError } from '../terminal/exit.js';
import { fileOwnerOf, groupOfProcess, isOfAnother, userOfProcess } from './owners.js';

/** Opens the database and tests a write, within the connection timeout. Returns the error, or undefined on success. Logs nothing. */
export async function refusalOf(config: Config): Promise<DatabaseError | undefined> {
  try {
    const runtime = await createRuntime(config, { writeLog: () => {} });
    return await refusalOfDriver(runtime.driver).finally(() => runtime.close());
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}

/** Tests an open database in the same way. Rolls back the write. */
export async function refusalOfDriver(driver: Driver): Promise<DatabaseError | undefined> {
  try {
    await driver.ping();
    await testWrite(driver);
    return undefined;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    // A database that is busy counts as writable.
    return error.kind === 'busy' ? undefined : error;
  }
}

/**
 * Returns the error unchanged, unless SQLite could not open or write a file of another user. Then returns an error with the file and both
 * users.
 */
export function namingOwner(config: Config, error: unknown): unknown {
  const cause = error instanceof Failure ? error.cause : error;
  if (!(cause instanceof DatabaseError) || !['SQLITE_CANTOPEN', 'SQLITE_READONLY'].includes(cause.code)) return error;
  const condition = conditionOf(cause.code);
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  if (condition === undefined || file === null) return error;
  const others = ['', '-wal', '-shm'].map((suffix) => `${resolve(file)}${suffix}`).filter(isOfAnother);
  const [first] = others;
  if (first === undefined) return error;
  const [owner, user, words] = [fileOwnerOf(first), userOfProcess(), others.map(shellWord).join(' ')];
  return unreachableError(
    condition.type,
    `${condition.message} (${cause.code}): ${first} belongs to ${owner}, and this user is ${user}.`,
    `if the database is that of ${user}, as root: chown ${user}:${groupOfProcess()} ${words}; if not, run the command as the owner of the file`,
  );
}
