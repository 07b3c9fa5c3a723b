import type { Config } from '#src/platform/config/schema.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { createRuntime } from '#src/platform/index.js';

/** What the database says to a connection, within the time limit of connections; undefined where it answers. Nothing is logged. */
export async function refusalOf(config: Config): Promise<DatabaseError | undefined> {
  try {
    const runtime = await createRuntime(config, { writeLog: () => {} });
    await runtime.driver.ping().finally(() => runtime.close());
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}
