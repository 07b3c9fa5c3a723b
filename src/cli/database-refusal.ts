import type { Config } from '#src/platform/config/schema.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Driver } from '#src/platform/db/driver.js';
import { createRuntime } from '#src/platform/index.js';

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
