// An installation with a sealed audit log, and somebody who changes it by SQL with the rights of the owner of the database.
import { existsSync, readFileSync } from 'node:fs';
import { aLoggedInUser } from '../harness/actors.js';
import { databaseUnderTest, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { rowsOf, runSql } from '../harness/database.js';
import { tablesOf } from '../harness/platform.js';

/** Starts a server that seals nothing by itself, where it would look once when it starts. */
export async function startUnsealed(settings: Readonly<Record<string, string>> = {}): Promise<TestAppliance> {
  const target = await startAppliance({ settings });
  await Promise.all(target.appliance.features.workers.map((worker) => worker.stop()));
  return target;
}

/** The same with entries of a few users in its log, all sealed. */
export async function startSealed(settings: Readonly<Record<string, string>> = {}): Promise<TestAppliance> {
  const target = await startUnsealed(settings);
  for (let users = 0; users < 4; users++) await aLoggedInUser(target);
  await target.appliance.features.audit.seal();
  return target;
}

/** Runs SQL without the triggers that keep the log as it is, as the owner of the tables may. */
export async function tamper(target: TestAppliance, ...statements: readonly string[]): Promise<void> {
  const onTable = (name: string, table: string) => (databaseUnderTest === 'postgres' ? `${name} on ${table}` : name);
  const names = [
    ['audit_keep_rows', 'audit_entries'],
    ['audit_keep_content', 'audit_entries'],
    ['audit_keep_seal', 'audit_entries'],
    ['audit_keep_subjects', 'audit_subjects'],
    ['audit_keep_head', 'audit_heads'],
    ...['audit_segments', 'audit_keys'].flatMap((table) =>
      (databaseUnderTest === 'postgres' ? ['stay'] : ['stay', 'stay_as_they_are']).map((what) => [
        `${table}_${what}`,
        table,
      ]),
    ),
  ] as const;
  for (const [name, table] of names) await runSql(target, `drop trigger if exists ${onTable(name ?? '', table ?? '')}`);
  for (const statement of statements) await runSql(target, statement);
}

/** Everything that is stored, as text: the bytes of the file and its log, or every row of every table. */
export async function stored(target: TestAppliance): Promise<string> {
  if (databaseUnderTest === 'sqlite') {
    const file = target.databaseUrl.slice('sqlite:'.length);
    return [file, `${file}-wal`]
      .filter((path) => existsSync(path))
      .map((path) => readFileSync(path, 'latin1'))
      .join('\n')
      .toLowerCase();
  }
  const tables = [...(await tablesOf(target.appliance.runtime)).keys()];
  const rows = await Promise.all(tables.map(async (table) => JSON.stringify(await rowsOf(target, table))));
  return rows.join('\n').toLowerCase();
}
