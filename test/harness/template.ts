// A migrated database, made once for a run of the suite: servers under test start over a copy of it instead of migrating one each.
import { createRuntime } from '#src/platform/index.js';
import { cheapHashes, freshDatabase, testConfig } from './appliance.js';

/** Migrates a fresh database, an SQLite file in the directory, and returns its URL: `SVC_TEST_TEMPLATE` of the test files. */
export async function makeTemplate(directory: string): Promise<string> {
  const databaseUrl = await freshDatabase(directory);
  const runtime = await createRuntime(testConfig(directory, databaseUrl), { hashParameters: cheapHashes });
  await runtime.migrator.up();
  await runtime.close();
  return databaseUrl;
}
