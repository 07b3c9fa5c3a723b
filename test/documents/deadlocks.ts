import { databaseUnderTest, type TestAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';

/** How many deadlocks Postgres has ended in the database of a test; a session tells them when it is idle. */
export async function deadlocksOf(target: TestAppliance): Promise<number> {
  if (databaseUnderTest === 'sqlite') return 0;
  await runSql(target, 'select pg_stat_force_next_flush()');
  const [row] = await runSql(
    target,
    'select cast(deadlocks as text) as count from pg_stat_database where datname = current_database()',
  );
  return Number(row?.count);
}
